# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by systemd.sh: vmopd.service itself, and what its sandbox must not take away.
# shellcheck disable=SC2154 # of lib.sh and check

# drop_in UNIT NAME: write standard input to a drop-in of the unit.
drop_in() {
	mkdir -p "$root/etc/systemd/system/$1.d"
	cat >"$root/etc/systemd/system/$1.d/$2.conf"
	inside systemctl daemon-reload
}

has_messages() {
	[ "$(journal vmopd.service info | wc -l)" -ge 1 ]
}

check_service() {
	local pid
	step "the service"
	expect 0 "notify" inside systemctl show -p Type vmopd.service
	expect 0 "active" inside systemctl is-active vmopd.service
	is "the run directory" "$(stat -c '%U %a' "/proc/$leader/root/run/vmop")" = "root 755"
	is "the session directory" "$(inside stat -c '%U %G %a' /var/lib/vmop)" = "root vmop 2755"

	# record.conf of the examples: it samples from its start on, and goes on after each restart.
	drop_in vmopd.service record <"$root/usr/share/doc/vmop/examples/systemd/record.conf"
	expect 0 - inside systemctl restart vmopd.service
	is "its state" "$(state state)" = sampling
	record 2

	step "a daemon that is killed, and one that hangs"
	pid=$(main_pid)
	inside sh -c "kill -9 $pid"
	within 20 has_new_pid "$pid" || fail "systemd has not started a new vmopd"
	within 10 is_sampling || fail "it does not sample"
	drop_in vmopd.service watchdog <<-END
		[Service]
		WatchdogSec=2
		LimitCORE=0
	END
	expect 0 - inside systemctl restart vmopd.service
	pid=$(main_pid)
	sleep 5
	is "the pid of one that answers the watchdog" "$(main_pid)" -eq "$pid"
	inside sh -c "kill -STOP $pid"
	within 40 has_new_pid "$pid" || fail "systemd has not replaced the vmopd that hangs"
	within 10 is_sampling || fail "it does not sample"
	expect 0 "Watchdog timeout" inside journalctl -q -u vmopd.service -o cat
	rm "$root/etc/systemd/system/vmopd.service.d/watchdog.conf"
	inside systemctl daemon-reload
	# Both sessions were completed and kept.
	expect 0 "sha256sum" inside vmopreport --by=task session:all

	step "the journal"
	expect 0 - inside systemctl restart vmopd.service
	pid=$(main_pid)
	expect 0 "" inside journalctl --rotate --vacuum-time=1s
	expect 0 - inside systemctl restart systemd-journald.service
	expect 0 "" inside vmopcontrol --rotate
	record 1
	expect 0 "" inside vmopcontrol --stop
	is "the pid" "$(main_pid)" -eq "$pid"
	within 5 has_messages || fail "no message in the new journal"
	expect 0 - journal vmopd.service warning
	expect 2 "is not a time" inside /usr/sbin/vmopd --foreground --duration=never --start
}

# has_memory_limit: whether the service's cgroup really has a limit. Not every container has the controller.
has_memory_limit() {
	inside sh -c 'cat /sys/fs/cgroup/system.slice/vmopd.service/memory.max \
		/sys/fs/cgroup/memory/system.slice/vmopd.service/memory.limit_in_bytes 2>/dev/null' | grep -qx "$1"
}

# check_memory_limit: MemoryMax= of the unit. The emulated machine (trial) has the same with version 2 of cgroups.
check_memory_limit() {
	step "the unit's MemoryMax="
	drop_in vmopd.service memory <<-END
		[Service]
		MemoryMax=64M
	END
	expect 0 - inside systemctl restart vmopd.service
	if has_memory_limit 67108864; then
		expect 0 "sampling" inside vmopcontrol --start
		is "the limit" "$(state memory_limit_bytes)" -eq 67108864
		record 1
		expect 0 "" inside vmopcontrol --stop
	else
		echo "not tested: the container has no controller of memory"
	fi
	rm "$root/etc/systemd/system/vmopd.service.d/memory.conf"
	inside systemctl daemon-reload
	expect 0 - inside systemctl restart vmopd.service
}

# measure: sample a load and, where there is KVM, a guest, with call stacks. Print the status without
# its numbers, the domains, and the functions of the guest's program.
measure() {
	expect 0 "sampling" inside vmopcontrol --start --callgraph >&2
	record 4 >&2
	inside vmopcontrol --status | sed -nE '/^(event|call stacks|contexts)/,/^samples/p; /kernel symbols/p' |
		grep -vE '^samples|^ *[0-9]+ stacks:' | sed -E 's/ *[0-9]+(\.[0-9]+)?( (%|ms|ns|MiB))?//g; s/ ago.*//'
	inside vmopreport --by=domain --format=csv | awk -F, 'NR > 1 && $(NF - 1) { print "domain", $(NF - 1) }' | sort -u
	[ -z "$guest" ] || inside vmopreport -l --format=csv domain:g1 | awk -F, 'NR > 1 { print "function of the guest", $NF }' | sort -u
	expect 0 "" inside vmopcontrol --stop >&2
}

# The same recording by the service and by a vmopd without its sandbox: both must see the same.
check_hardening() {
	local guest=''
	step "the unit's sandbox takes nothing away"
	rm "$root/etc/systemd/system/vmopd.service.d/record.conf"
	inside systemctl daemon-reload
	expect 0 - inside systemctl restart vmopd.service
	if [ -c /dev/kvm ] && [ -x "$build/tests/fixtures/kvm-guest" ]; then
		put "$build/tests/fixtures/kvm-guest" "$build/tests/fixtures/guest-worker"
		inside /debs/kvm-guest --id g1 --seconds 120 --linux /debs/guest-worker >"$work/guest.log" 2>&1 &
		guest=$!
	fi
	measure >"$work/with" 2>"$work/messages"
	expect 0 - inside systemctl stop vmopd.service
	measure >"$work/without" 2>>"$work/messages"
	expect 0 "" inside vmopcontrol --shutdown
	[ -z "$guest" ] || kill "$guest" 2>/dev/null || true
	cat "$work/with"
	! grep -A40 FAILED "$work/messages" || fail "a measurement"
	is "facts" "$(wc -l <"$work/with")" -ge 4
	diff "$work/with" "$work/without" || fail "the service sees something else than a vmopd of vmopcontrol"
	inside systemctl show -p DevicePolicy -p DeviceAllow -p NoNewPrivileges vmopd.service
	expect 0 - inside systemctl start vmopd.service
}
