#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ten minutes of 137 new processes a second, sampled at 4 kHz on 2 CPUs: the session stays small and
# fast to read, whatever the number of processes, and reports still account for every sample. Needs
# no privileges.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
session=$sessions/current.vmop
# The block is a minute long, like the intervals that old ones are merged into, so its repetition
# makes the session no smaller.
"$build/tests/fixtures/make-storm" --seconds=60 --repeat=10 "$work/stream"
expect 0 "replaying" "$build/vmopd" --replay="$work/stream" --session-dir="$sessions"
is "samples" "$(fact "$session" samples)" -eq 4800000
is "bytes of the session, less than 2 a sample" "$(wc -c <"$session")" -lt 9600000

# A twentieth of the report's time is its start. The bound leaves room for a busy machine and a
# sanitizer.
"$build/tests/bench/cpu-time" "$work/cpu" "$build/vmopreport" --session-dir="$sessions" -l \
	>"$work/by-symbol" 2>/dev/null
milliseconds=$(awk '{ printf "%d", 1000 * $1 }' "$work/cpu")
echo "vmopreport -l took $milliseconds ms of CPU time"
case $(nm "$build/vmopreport" 2>/dev/null || :) in
*__asan_*) ;;
*) is "milliseconds" "$milliseconds" -lt 300 ;;
esac
report() {
	"$build/vmopreport" --session-dir="$sessions" --format=csv --no-header "$@" 2>/dev/null
}
# Add up the column "samples".
sum() {
	awk -F, -v column="$1" '{ n += $column } END { print n + 0 }'
}
is "samples by symbol" "$(report -l | sum 2)" -eq 4800000
is "rows by process" "$(report --by=task | wc -l)" -lt 3000
is "samples by process" "$(report --by=task | sum 1)" -eq 4800000
is "commands" "$(report --by=task --merge=tgid | grep -c ',host,')" -eq 11
is "commands with threads merged" "$(report --by=task --merge=tid | grep -c ',cc1$')" -ge 1
is "idle samples" "$(report --by=task --merge=tid | grep -c 'idle')" -eq 0
expect 0 "processes  task" "$build/vmopreport" --session-dir="$sessions" --by=task --top=20

# A session with a row for every process.
"$build/tests/fixtures/make-storm" --seconds=10 "$work/short"
echo "rollup = off" >"$VMOP_CONFIG"
expect 0 "replaying" "$build/vmopd" --replay="$work/short" --session-dir="$sessions"
is "samples" "$(fact "$session" samples)" -eq 80000
is "rows by process" "$(report --by=task | wc -l)" -gt 1300
finish
