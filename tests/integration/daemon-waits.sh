#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The time of vCPUs, --waits: two guests and a process share a CPU. Each one's CPU time is what the others waited for
# it; a guest's quota is kept apart from waits for others, as in its cgroup's own statistics; the reports, the gate and
# --status show it.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
[ -x "$(command -v taskset)" ] || skip "no taskset"

# begin ID: start a guest whose vCPU has only the first CPU. Sets $begun.
begin() {
	taskset -c 0 "$build/tests/fixtures/kvm-guest" --id "$1" --seconds 100 >"$work/$1" &
	begun=$!
	pids="$pids $begun"
	until grep -q pid "$work/$1"; do
		kill -0 $begun 2>/dev/null || skip "$(cat "$work/$1")"
		sleep 0.1
	done
}
pids='' group=''
# shellcheck disable=SC2317 # called by trap
stop_all() {
	# shellcheck disable=SC2086 # several
	kill -KILL $pids 2>/dev/null || :
	# shellcheck disable=SC2086
	wait $pids 2>/dev/null || :
	[ -z "$group" ] || rmdir "$group" 2>/dev/null || :
}
trap 'stop_all; clean_up' EXIT

# report ARGUMENT...: the time of vCPUs, for programs.
report() {
	"$build/vmopreport" --session-dir="$sessions" --format=csv "$@"
}

# value COLUMN ROWS: the numbers of a column in the rows of stdin that match the regular expression, added up.
value() {
	awk -F, -v name="$1" -v rows="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		$0 ~ rows { sum += $at } END { printf "%.0f\n", sum }'
}

# near WHAT A B PERMILLE WHOLE: check that A and B differ by at most so much of WHOLE.
near() {
	echo "expect $1: $2 near $3, $4 permille of $5"
	awk -v a="$2" -v b="$3" -v p="$4" -v w="$5" 'BEGIN { d = a > b ? a - b : b - a; exit !(d <= w * p / 1000) }' ||
		fail "$1: $2 and $3"
}

cp "$(command -v dash || command -v sh)" "$work/burner" && chmod 755 "$work/burner"
begin web1
begin web2
taskset -c 0 "$work/burner" -c 'while :; do :; done' &
pids="$pids $!"
control --start --event=cpu-clock:20Hz --session-dir="$sessions" --waits >"$work/out"
control --status >"$work/status"
if ! grep -q '^vCPU time  *of ' "$work/status"; then
	grep '^vCPU time  *not divided, because ' "$work/status" || fail "no line in --status"
	why=$(tr -s '\n ' ' ' <"$work/status" | sed -n 's/.* vCPU time //; s/ samples .*//p')
	expect 0 "" control --shutdown
	[ "$failed" -eq 0 ] || finish
	skip "the time of vCPUs is $why"
fi
sleep 2
# rows: print --status without its line breaks.
rows() {
	control --status | tr -s '\n ' ' '
}
expect 0 "% of a CPU (" rows
is "columns of --status" "$(control --status | awk '{ if (length > n) n = length } END { print n }')" -le 80
# A session that has ended, so that all reports are of the same intervals.
expect 0 "kept as" control --save=first
report --waits session:first >"$work/guests"
report --waits=vcpus session:first vcpu:0 domain:web1 >"$work/vcpus"
report --waits=culprits session:first >"$work/culprits"
report --waits=tasks session:first >"$work/tasks"
sleep 1
control --dump >/dev/null # the next session has an interval

# Both run whenever they may, on one CPU: one waits while the other runs.
for pair in web1,web2 web2,web1; do
	victim=${pair%,*} culprit=${pair#*,}
	whole=$(($(value running_ns "^$victim," <"$work/guests") + $(value waiting_ns "^$victim," <"$work/guests")))
	near "time of $culprit that $victim waited for" "$(value time_ns "^$victim,.*,guest,$culprit\$" <"$work/culprits")" \
		"$(value running_ns "^$culprit," <"$work/guests")" 30 "$whole"
	is "$victim waited for the process" "$(value time_ns "^$victim,.*,process,burner\$" <"$work/culprits")" -gt 0
	near "culprits of $victim" "$(value time_ns "^$victim,.*,(guest|cgroup|process|idle|others)," <"$work/culprits")" \
		"$(value waiting_ns "^$victim," <"$work/guests")" 1 "$whole"
done
near "the burner, of both" "$(value time_ns "^web1,.*burner\$" <"$work/culprits")" \
	"$(value time_ns "^web2,.*burner\$" <"$work/culprits")" 30 "$whole"
# The guests have no kernel, and so no tasks: the rows have all of their running time.
for guest in web1 web2; do
	near "time of tasks of $guest" "$(value time_ns "^$guest," <"$work/tasks")" \
		"$(value running_ns "^$guest," <"$work/guests")" 1 "$whole"
	is "samples of its tasks" "$(value samples "^$guest,.*,task," <"$work/tasks")" -gt 0
done
is "rows of one vCPU" "$(wc -l <"$work/vcpus")" -eq 2
sum=$(awk -F, 'NR == 2 { print $3 + 0 }' "$work/vcpus")
near "running and waiting of web1, in ns" \
	"$(awk -v s="$sum" 'BEGIN { printf "%.0f", s * 1e9 }')" \
	"$(($(value running_ns . <"$work/vcpus") + $(value waiting_ns . <"$work/vcpus") + $(value unknown_ns . <"$work/vcpus")))" \
	10 "$whole"

# Other forms, and bad ones.
expect 0 '"culprit"' "$build/vmopreport" --session-dir="$sessions" --waits=culprits --format=json
expect 0 "waits for" "$build/vmopreport" --session-dir="$sessions" --waits domain:web1
refuse 4 "steal:web1 > 5%: it is" "$build/vmopreport" --session-dir="$sessions" -q --fail-if='steal:web1 > 5%'
expect 0 "" "$build/vmopreport" --session-dir="$sessions" -q --fail-if='steal:web* < 5%'
refuse 1 "no guest 'nobody'" "$build/vmopreport" --session-dir="$sessions" -q --fail-if='steal:nobody > 5%'
refuse 2 "put % behind" "$build/vmopreport" --session-dir="$sessions" -q --fail-if='steal:web1 > 5'
refuse 2 "guests, vcpus, culprits, exits, tasks" "$build/vmopreport" --session-dir="$sessions" --waits=all
expect 0 "95 % intervals" "$build/vmopreport" --session-dir="$sessions" --waits=tasks
refuse 2 "has no vcpu:" "$build/vmopreport" --session-dir="$sessions" --waits=tasks vcpu:0
refuse 2 "has no task:" "$build/vmopreport" --session-dir="$sessions" --waits task:sh
refuse 2 "--waits does not go with --by" "$build/vmopreport" --session-dir="$sessions" --waits --by=task
refuse 2 "not on or off" control --setup --waits=maybe

# A guest beyond its quota. It is stopped before both are read.
for dir in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
	[ -z "$group" ] && [ -w "$dir/cgroup.procs" ] && mkdir "$dir/vmop-waits-$$" 2>/dev/null && group=$dir/vmop-waits-$$
	[ -z "$group" ] || [ -e "$group/cpu.max" ] || [ -e "$group/cpu.cfs_quota_us" ] || { rmdir "$group" && group=''; }
done
if [ -n "$group" ]; then
	if [ -e "$group/cpu.max" ]; then
		echo "4000 50000" >"$group/cpu.max"
	else
		echo 50000 >"$group/cpu.cfs_period_us"
		echo 4000 >"$group/cpu.cfs_quota_us"
	fi
	begin quota
	control --dump >/dev/null
	sleep 1.5 # it is found, and watched
	echo $begun >"$group/cgroup.procs"
	sleep 3
	kill -STOP $begun
	sleep 0.3
	control --dump >/dev/null
	throttled_ns=$(sed -n 's/^throttled_time //p; s/^throttled_usec \(.*\)/\1000/p' "$group/cpu.stat")
	report --waits domain:quota >"$work/quota"
	echo "throttled for $throttled_ns ns"
	is "quota in ns" "$(value quota_ns ^quota <"$work/quota")" -gt 0
	near "quota and cpu.stat" "$(value quota_ns ^quota <"$work/quota")" "$throttled_ns" 20 "$throttled_ns"
	expect 0 "[own quota]" "$build/vmopreport" --session-dir="$sessions" --waits=culprits domain:quota
else
	echo "no cgroup with a quota can be made here: not compared"
fi
expect 0 "" control --shutdown

# A session without it.
rm -rf "$sessions"
expect 0 "" control --run --event=cpu-clock:20Hz --session-dir="$sessions" --waits=off -- true
refuse 1 "'vmopcontrol --waits' records it" "$build/vmopreport" --session-dir="$sessions" --waits
finish
