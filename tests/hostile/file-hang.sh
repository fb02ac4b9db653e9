#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs on a file system that never replies to the daemon: sampling, other programs' build-ids,
# --status and --stop continue, and the report shows why a program has no symbols.
# shellcheck source=tests/integration/common.sh disable=SC2016,SC2034,SC2086,SC2317 # inner shells; lists; traps
. "$(dirname "$0")/../integration/common.sh"
need_perf
# shellcheck source=tests/hostile/hang-common.sh
. "$(dirname "$0")/hang-common.sh"
mount_hanging /bin/dash || skip "$(cat "$work/server")"

loop='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
pid=$(daemon_pid)
for i in 1 2 3; do
	as_user "$mount_point/program-$i" -c "$loop"
done
# The daemon reads this file after the hanging ones.
cp "$build/tests/integration/fork-storm" "$work/after"
as_user "$work/after" 2000 10000
sleep 4
before=$(member samples)
is "samples so far" "${before:-0}" -gt 0
sleep 2
is "samples after that" "$(member samples)" -gt "$before"
is "records lost" "$(member lost)" -eq 0
expect 0 "" timeout $limit "$build/vmopcontrol" --dump
expect 0 "sampling, pid $pid" timeout $limit "$build/vmopcontrol" --status
expect 0 "" timeout $limit "$build/vmopcontrol" --stop
"$build/tests/integration/session-facts" "$sessions/current.vmop" >"$work/facts"
is "build-id of the program behind them" "$(grep -c "^build-id 20 $work/after" "$work/facts")" -eq 1
is "build-id of one that hangs" "$(grep -c "^build-id 0 $mount_point/program-1" "$work/facts")" -eq 1
# End a session while files hang, and begin another.
refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
as_user "$mount_point/program-4" -c "$loop"
expect 0 "" timeout $limit "$build/vmopcontrol" --stop
expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
# The rest of that daemon is a thread in the kernel, which does not prevent another from starting.
refuse 0 "sampling" timeout $limit "$build/vmopcontrol" --start --event=cpu-clock:1000Hz --session-dir="$sessions"
expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
end_server
wait_gone "$pid"
kept=$(find "$sessions" -name '2*.vmop' | sort | head -1)
"$build/vmopreport" --session-dir="$sessions" -l -V "session:$(basename "$kept" .vmop)" >"$work/rows" 2>"$work/err"
grep -q "program-1: its file did not answer when it was read" "$work/err" || {
	fail "no reason is given"
	cat "$work/err"
}
finish
