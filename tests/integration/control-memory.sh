#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The memory limit of vmopd's cgroup: sampling goes on with less, and counts its losses by name. A real
# cgroup, of version 2 or 1.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
[ -z "$sanitized" ] || skip "a sanitizer needs more memory, and ends the program without it"

# ---- a cgroup
for mount in $(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2 } $3 == "cgroup2" { print $2 }' /proc/mounts); do
	group=$mount/vmop-test-$$
	mkdir "$group" 2>/dev/null || continue
	for limit in "$group/memory.limit_in_bytes" "$group/memory.max" ''; do
		[ ! -e "$limit" ] || break
	done
	[ -z "$limit" ] || break
	rmdir "$group"
done
[ -n "${limit:-}" ] || skip "no cgroup with a memory limit can be made here"
storm=
clean_up_group() {
	[ -z "$storm" ] || kill "$storm" 2>/dev/null || :
	clean_up
	rmdir "$group" || :
}
trap clean_up_group EXIT
set_limit() { echo $(($1 * 1048576)) >"$limit"; }
kills() { cat "$group/memory.oom_control" "$group/memory.events" 2>/dev/null | sed -n 's/^oom_kill //p'; }
begin_daemon() {
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2/vmopd" --foreground' sh "$group" "$build" >"$work/vmopd.log" 2>&1 &
	until control --status >/dev/null 2>&1; do sleep 0.1; done
}
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:4000Hz
session-dir = $sessions
callgraph = cfi
END

# ---- too little for a session
set_limit 16
begin_daemon
refuse 3 "raise it (MemoryMax=)" control --start
is "session files" "$(find "$sessions" -name '*.vmop' 2>/dev/null)" = ""

# ---- little
set_limit 32
"$build/tests/integration/fork-storm" 1000000 300 /bin/true >/dev/null &
storm=$!
expect 0 "sampling" control --start
until [ "$(member memory_dropped)" -gt 0 ]; do sleep 0.2; done
sleep 3
expect 0 "stacks dropped at the memory limit" control --status
is "the limit" "$(member memory_limit_bytes)" -eq 33554432
is "times that memory was short" "$(member memory_shortages)" -ge 1
is "daemons that the kernel killed" "$(kills)" -eq 0
expect 0 "sampling goes on with less" cat "$work/vmopd.log"

# ---- enough again: stacks are kept again
set_limit 512
sleep 2
before=$(member memory_dropped)
sleep 2
is "stacks dropped since then" "$(member memory_dropped)" -eq "$before"
kill $storm
samples=$(member samples)
expect 0 "" control --dump
is "samples stored" "$(($(fact "$sessions/current.vmop" samples) + $(member table_full) + $(member store_full)))" \
	-ge "$samples"
expect 0 "" control --shutdown
is "daemons that the kernel killed" "$(kills)" -eq 0
# The report has the loss, too.
expect 0 "memory-limit" "$build/vmopreport" --session-dir="$sessions"
finish
