# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by check: the package of guests. A container has no virtio device, so that the unit samples by itself here
# (--start in place of --active): its user, its capabilities and its sandbox are those of an agent's session.
# shellcheck disable=SC2154 # of lib.sh and check
guest_deb=$(echo "$debs"/vmop-guest_*_"$(dpkg --print-architecture)".deb)
guest_vmopd=/usr/libexec/vmop-guest/vmopd

guest_pid() {
	inside systemctl show -p MainPID --value vmop-guest.service
}
# guest_has FIELD: print a field of the process's status.
guest_has() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$leader/root/proc/$(guest_pid)/status"
}

step "the package of guests"
base_tree "$root"
put "$guest_deb"
boot
files >"$work/before"
expect 0 "Setting up vmop-guest ($version)" inside apt-get -q -y install --no-install-recommends "/debs/$(basename "$guest_deb")"
expect 0 "vmop-guest:" inside getent passwd vmop-guest
expect 0 "vmopd (vmop) ${version%-*}" inside "$guest_vmopd" --version
is "shared libraries of its program" "$(readelf -d "$root$guest_vmopd" | grep -c NEEDED)" -eq 0
expect 3 "inactive" inside systemctl is-active vmop-guest.service
expect 0 - inside systemd-analyze verify --man=no vmop-guest.service

step "a session of its user, in its sandbox"
mkdir -p "$root/etc/systemd/system/vmop-guest.service.d"
cat >"$root/etc/systemd/system/vmop-guest.service.d/start.conf" <<-END
	[Service]
	ExecStart=
	ExecStart=$guest_vmopd --foreground --start --session-dir=/var/lib/vmop-guest
	WatchdogSec=2
END
expect 0 - inside systemctl daemon-reload
expect 0 - inside systemctl start vmop-guest.service
inside timeout 5 sha256sum /dev/zero || true
expect 0 "active" inside systemctl is-active vmop-guest.service # and it has answered the watchdog
is "its user" "$(guest_has Uid | cut -f1)" -eq "$(inside id -u vmop-guest)"
is "its filters of system calls" "$(guest_has Seccomp)" -eq 2
is "new privileges" "$(guest_has NoNewPrivs)" -eq 1
# As in tests/integration/active-static.sh.
is "capabilities that it should not have" $((0x$(guest_has CapEff) & ~0x14400284404)) -eq 0
pid=$(guest_pid)
expect 0 - inside systemctl stop vmop-guest.service
session=$root/var/lib/vmop-guest/current.vmop
is "the process after the stop" "$(find "/proc/$leader/root/proc/$pid" -maxdepth 0 2>/dev/null | wc -l)" -eq 0
expect 0 "sha256sum" "$build/vmopreport" --by=task session:"$session"
expect 0 "[kernel]" "$build/vmopreport" -l session:"$session"
is "the folder of its sessions" "$(stat -c %a "$root/var/lib/vmop-guest")" -eq 755

step "remove and purge it"
expect 0 - inside systemctl start vmop-guest.service
expect 0 "Removing vmop-guest" inside apt-get -q -y remove vmop-guest
within 10 sh -c "! test -e /proc/$leader/root/run/vmop-guest/vmopd.pid" || fail "the agent goes on after its removal"
is "sessions that stay" "$(find "$root/var/lib/vmop-guest" -name '*.vmop' | wc -l)" -ge 1
expect 0 "Purging configuration files for vmop-guest" inside apt-get -q -y purge vmop-guest
rm -r "$root/etc/systemd/system/vmop-guest.service.d"
same_files "the purge"
power_off
rm -rf --one-file-system "$root" "$work/before"
