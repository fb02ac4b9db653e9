#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --list-events, and sessions with those events of vmop-events(7) that every machine has.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"

# -- the list
for words in "NAME                          LOWEST  A COUNT IS" "cpu-clock                   10000 ns" \
	"page-faults                        1  page faults" "default: c" "Raw events: rNNN"; do
	expect 0 "$words" control --list-events
	expect 0 "$words" control -l
done
columns() {
	awk '{ if (length > n) n = length } END { print n }'
}
is "columns of --list-events" "$(control --list-events | columns)" -le 80
# A CPU model that libpfm4 supports, whatever this machine is.
LIBPFM_FORCE_PMU=skl expect 0 "skl::LONGEST_LAT_CACHE" control --list-events --verbose
LIBPFM_FORCE_PMU=skl expect 0 "INST_RETIRED" control -lV
LIBPFM_FORCE_PMU=skl expect 0 '"code": ' control --list-events --json
LIBPFM_FORCE_PMU=skl expect 0 '"default": "c' "$build/vmopd" --list-events --json
is "members of an event" "$(control --list-events --json | sed -n '/"name": "cpu-clock"/,/}/p' | tr -d ' \n')" = \
	'"name":"cpu-clock","description":"time,byatimeroneachCPU:needsnoPMU","unit":"ns","lowest_count":10000,"available":true},'
# --setup accepts each listed name, and its lowest count is the lowest accepted one.
control --list-events --json | sed -n 's/^ *"name": "\([a-z-]*\)",$/\1/p' >"$work/names"
is "events in the list" "$(wc -l <"$work/names")" -ge 12

# -- the examples of the manual page are valid
sed -n 's/^# vmopcontrol --start --event=//p' "$src/man/vmop-events.7" | tr -d "'" >"$work/examples"
is "examples in vmop-events(7)" "$(wc -l <"$work/examples")" -ge 5
while read -r example; do
	expect 0 "" control --setup --event="$example"
done <"$work/examples"
rm -f "$VMOP_CONFIG"

need_perf
# The first two need no PMU.
head -n 2 "$work/examples" >"$work/first"
while read -r example; do
	expect 0 "sampling c" control --run --session-dir="$sessions" --event="$example" -- true
done <"$work/first"
rm -rf "$sessions"
refuse 2 "the lowest is 6000" control --start --event=cycles:5999 --session-dir="$sessions"
refuse 2 "the lowest is 500" control --start --event=r1c2:499 --session-dir="$sessions"
refuse 2 "no PMU 'none'" control --start --event=none/config=1,config1=2/ --session-dir="$sessions"
refuse 2 "is for events of a PMU" control --start --event=cpu-clock:p --session-dir="$sessions"

# -- three at once, each with its own period; one of them in opcontrol's syntax
# shellcheck disable=SC2016 # for the shell that it is given to
faulting='i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done'
expect 0 "" control --run --session-dir="$sessions" \
	--event=cpu-clock:500Hz,page-faults:10::0:1 --event=context-switches:1::1:0 -- \
	sh -c "$faulting"
is "the events of the session" \
	"$("$build/vmopreport" --session-dir="$sessions" -l --format=json | sed -n 's/.*"name": *"\(cpu-clock\|page-faults[:a-z]*\|context-switches[:a-z]*\)".*/\1/p' | sort -u | tr '\n' ' ')" = \
	"context-switches:k cpu-clock page-faults:u "
if [ "$(fact "$sessions/current.vmop" samples)" -lt 100 ]; then
	fail "few samples"
fi

# -- one event twice, in two modes and at two counts, and a ratio of the samples
expect 0 "" control --run --session-dir="$sessions" --event='{page-faults:10::0:1,page-faults:7::0:1}' \
	--event=page-faults:10,minor-faults:10 -- sh -c "$faulting"
is "columns of events of one name" \
	"$("$build/vmopreport" --session-dir="$sessions" --ratio=minor=minor-faults/page-faults --format=csv |
		head -n 1 | tr ',' '\n' | grep -e '^samples:' -e '^ratio:' | tr '\n' ' ')" = \
	"samples:page-faults:u samples:page-faults:u#2 samples:page-faults samples:minor-faults ratio:minor "
refuse 2 "its group has no '}'" control --start --event='{page-faults' --session-dir="$sessions"
expect 0 "" control --start --event=page-faults --session-dir="$sessions"
is "the scale in --status --json" "$(control --status --json | grep -c '"scale": 1.0')" -eq 1
expect 0 "" control --shutdown

# -- a tracepoint, if tracefs is available; only this command sees the mount
rm -rf "$sessions"
if unshare -m mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; then
	unshare -m sh -c "mount -t tracefs tracefs /sys/kernel/tracing &&
		exec '$build/vmopcontrol' --list-events --verbose" >"$work/list"
	is "sched:sched_switch in the list" "$(grep -c '^  sched:sched_switch ' "$work/list")" -eq 1
	expect 0 "" unshare -m sh -c "mount -t tracefs tracefs /sys/kernel/tracing &&
		exec '$build/vmopcontrol' --run --session-dir='$sessions' \
			--event=sched:sched_switch:1 -- sleep 0.3"
	is "samples of the tracepoint" "$(fact "$sessions/current.vmop" samples)" -gt 0
	expect 2 "no such tracepoint" unshare -m sh -c "mount -t tracefs tracefs /sys/kernel/tracing &&
		exec '$build/vmopcontrol' --start --session-dir='$sessions' --event=sched:no_such"
else
	echo "no tracefs here: tracepoints are left out"
fi
finish
