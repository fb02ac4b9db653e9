# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by systemd.sh: upgrades while vmopd records, while it is idle, and from the schema before; removal.
# shellcheck disable=SC2154 # of lib.sh and check

# install_deb FILE: install or upgrade.
install_deb() {
	inside apt-get -q -y install "/debs/$(basename "$1")"
}

# Upgrade from a real older version, whose daemon records by the older schema. The recording goes on.
check_upgrade() {
	local old pid samples status=0
	old=$(VMOP_BUILDDIR=$build "$src/tests/packages/old-package") || status=$?
	[ $status -eq 0 ] || [ $status -eq 77 ] || fail "the package of the older version could not be built"
	if [ $status -ne 0 ]; then
		echo "no upgrade: $old"
		expect 0 "Setting up vmop" install_deb "$deb"
		inside systemctl -q enable --now vmopd.service
		return
	fi
	step "install an older version"
	put "$old"/vmop_*.deb
	old=$(echo "$old"/vmop_*.deb)
	expect 0 "Setting up vmop (0.0.3-1)" install_deb "$old"
	expect 1 "disabled" inside systemctl is-enabled vmopd.service
	expect 3 "inactive" inside systemctl is-active vmopd.service
	expect 0 "" inside systemctl enable --now vmopd.service
	expect 0 "sampling" inside vmopcontrol --start
	record 3

	step "upgrade while it records"
	pid=$(main_pid)
	expect 0 "the vmopd of version 0.0.3-1 goes on with its recording" install_deb "$deb"
	is "lines about older sessions" "$(grep -c 'every user can read sessions of version 0.0.3-1' "$work/out")" -eq 1
	is "the mode of the older session" "$(stat -c %a "$root/var/lib/vmop/current.vmop")" -eq 644
	is "its pid" "$(main_pid)" -eq "$pid"
	is "vmopd" "$(daemon_version)" = 0.0.3
	is "its state" "$(state state)" = sampling
	is "the schema of the session" "$(schema current.vmop)" -eq 3
	samples=$(state samples)
	record 2
	is "samples" "$(state samples)" -gt "$samples"
	expect 0 "" inside vmopcontrol --save=old
	expect 0 "" inside systemctl restart vmopd.service
	is "vmopd" "$(daemon_version)" = "${version%-*}"
	expect 0 "sampling" inside vmopcontrol --start
	record 2
	is "the schema of the session" "$(schema current.vmop)" -gt 3
	is "the schema of the old session" "$(schema old.vmop)" -eq 3
	is "the mode of the old session" "$(stat -c %a "$root/var/lib/vmop/old.vmop")" -eq 644
	is "the mode and group of the new one" "$(inside stat -c '%a %G' /var/lib/vmop/current.vmop)" = "640 vmop"
	expect 0 "sha256sum" inside vmopreport --by=task session:old
	expect 0 "sha256sum" inside vmopreport --by=task session:all

	step "upgrade while it is idle"
	expect 0 "" inside vmopcontrol --stop
	pid=$(main_pid)
	expect 0 "Setting up vmop" inside apt-get -q -y install --reinstall "/debs/$(basename "$deb")"
	is "lines about older sessions" "$(grep -c 'every user can read' "$work/out")" -eq 0
	is "that the process is a new one" "$(has_new_pid "$pid" && echo yes)" = yes
	is "its state" "$(state state)" = idle
}

check_removal() {
	step "remove while it records, and purge"
	expect 0 "sampling" inside vmopcontrol --start
	expect 0 "Removing vmop" inside apt-get -q -y remove vmop
	is "processes of vmopd" "$(inside sh -c 'cat /proc/[0-9]*/comm' | grep -c '^vmopd$')" -eq 0
	expect 3 "inactive" inside systemctl is-active vmopd.service
	# The session ended cleanly: no journal is beside it.
	is "sessions with a journal" "$(find "$root/var/lib/vmop" -name '*-journal' -o -name '*-wal' | wc -l)" -eq 0
	is "sessions" "$(find "$root/var/lib/vmop" -name '*.vmop' | wc -l)" -ge 3
	rm -r "$root/etc/systemd/system/vmopd.service.d" "$root/etc/systemd/system/vmop-nightly.timer.d"
	rm "$root/usr/sbin/sendmail"
	expect 0 "Purging" inside apt-get -q -y purge vmop
	is "the directories of vmop" "$(ls -d "$root"/var/lib/vmop "$root"/var/cache/vmop "$root"/etc/vmop 2>/dev/null)" = ""
	is "units" "$(inside systemctl list-unit-files --no-legend 'vmop*' | wc -l)" -eq 0
	sed -i '/^vmop:/d' "$root/etc/group" "$root/etc/gshadow"
}
