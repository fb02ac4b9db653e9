#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --time: the times of processes and threads against the kernel's own accounts, and the reasons
# where the stolen time is not known.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
# At the end of a program, LeakSanitizer makes a thread, which would be counted.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
stat=$build/vmopstat
known=$build/tests/fixtures/known-counts
json() {
	python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[2])]
times = {row["event"]: row for row in rows if "event" in row}
tasks = [row for row in rows if "pid" in row]
threads = [row for row in tasks if row["tid"]]
processes = [row for row in tasks if not row["tid"]]
def value(name): return times[name]["counter-value"]
print(eval(sys.argv[1]))' "$1" "$2"
}
# Each value is a number or has a reason.
sound() {
	is "each row of $1 has a value or a reason" \
		"$(json 'all((row["counter-value"] is None) == ("reason" in row) for row in times.values())' "$2")" = True
	is "rows of $1" "$(json 'len(times)' "$2")" -eq 6
}

"$stat" --time --json -o "$work/out" -- "$known" burn 300 || fail "exit $? of vmopstat --time"
sound "a command" "$work/out"
# The program counts its CPU time from before its execution on.
is "real and CPU time of 300 ms: $(head -n 2 "$work/out")" \
	"$(json '290 <= value("virtual-time") <= 340 and value("real-time") >= value("virtual-time") - 1' "$work/out")" = True
is "its parts" "$(json 'abs(value("user-time") + value("system-time") - value("virtual-time")) < 1' "$work/out")" = True
is "without steal it is not more" \
	"$(json '(value("virtual-without-steal") or 0) <= value("virtual-time")' "$work/out")" = True
"$stat" --time -o "$work/table" -- "$known" burn 20
is "the table has all six: $(cat "$work/table")" "$(grep -cE '(real|virtual|user|system|stolen)-time|virtual-without-steal' "$work/table")" -eq 6
is "no events without -e" "$(grep -c 'page-faults' "$work/table")" -eq 0
"$stat" --time -e page-faults -x, -o "$work/fields" -- "$known" pages 50
is "events with -e" "$(grep -c '^[0-9]*,,page-faults,' "$work/fields")" -eq 1
is "fields of a time: $(cat "$work/fields")" "$(grep -cE '^[0-9.]+,msec,real-time,[0-9]+,100.00,,$' "$work/fields")" -eq 1
"$stat" --time --json -r 4 -o "$work/runs" -- "$known" burn 20
is "repeated runs" "$(json 'times["virtual-time"]["runs"]' "$work/runs")" -eq 4
"$stat" --time --json -I 50 -o "$work/intervals" -- "$known" burn 200
is "intervals add up: $(grep -c virtual-time "$work/intervals")" \
	"$(json '190 <= sum(row["counter-value"] for row in rows if row["event"] == "virtual-time") <= 240' "$work/intervals")" = True

# A process that ends while it is counted, and one that is none.
"$known" burn 500 &
pid=$!
"$stat" --time --json -o "$work/pid" -p $pid || fail "exit $? of vmopstat --time -p"
wait $pid
is "ms of a process that ended: $(json 'value("virtual-time")' "$work/pid")" "$(json '0 < value("virtual-time") <= 520' "$work/pid")" = True
status=0
"$stat" --time -p $pid 2>"$work/err" || status=$?
is "exit status for a process that is gone" $status -ge 1
is "the message for it: $(cat "$work/err")" "$(grep -ci "no such process\|no process $pid" "$work/err")" -eq 1

if [ "$(json 'len(tasks)' "$work/out")" -gt 0 ]; then
	# Threads by the thousand, and forks: the parts are the whole, which is what wait4(2) has.
	"$stat" --time --json -o "$work/threads" -- "$known" threads 3000 20
	is "threads" "$(json 'len(threads)' "$work/threads")" -eq 3001
	is "their sum" "$(json 'abs(sum(row["virtual-time-msec"] for row in threads) - value("virtual-time")) < 1' "$work/threads")" = True
	is "a process is the sum of its threads" \
		"$(json 'processes[0]["threads"] == 3001 and abs(processes[0]["virtual-time-msec"] - value("virtual-time")) < 1' "$work/threads")" = True
	"$stat" --time --json -o "$work/storm" -- "$known" storm 7 10
	is "processes of a fork bomb" "$(json 'len(processes)' "$work/storm")" -eq 255
	is "all ended" "$(json 'all(row["ended"] for row in tasks)' "$work/storm")" = True
	"$stat" --time --json -a -o "$work/all" -- "$known" burn 100
	is "a task among all" "$(json 'any(row["name"] == "known-counts" and row["virtual-time-msec"] >= 90 for row in processes)' "$work/all")" = True
	"$stat" --time -x, -o "$work/fields" -- "$known" threads 2 1
	is "fields of threads: $(cat "$work/fields")" "$(grep -cE '^[0-9.]+,msec,virtual-time:[0-9]+:[0-9]+,,,,$' "$work/fields")" -eq 3
fi

[ "$(id -u)" -eq 0 ] || finish
# In a container with process ids of its own, the program cannot know the command's tasks.
if unshare -p -f --mount-proc true 2>/dev/null; then
	unshare -p -f --mount-proc "$stat" --time --json -o "$work/container" -- "$known" burn 200
	sound "a container" "$work/container"
	is "its CPU time" "$(json '190 <= value("virtual-time") <= 260' "$work/container")" = True
	is "its times without steal are an estimate, or not known: $(cat "$work/container")" \
		"$(json '"reason" in times["virtual-without-steal"] or times["virtual-without-steal"]["is-estimate"]' "$work/container")" = True
	is "its tasks are not listed" "$(json 'len(tasks)' "$work/container")" -eq 0
fi
# Without type information no program loads, and vmopstat cannot decide whether the kernel takes stolen time out.
without_types() {
	unshare -m sh -c 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"' sh "$@"
}
if [ -e /sys/kernel/btf/vmlinux ] && without_types true 2>/dev/null && ! ls /boot/vmlinux-"$(uname -r)" >/dev/null 2>&1; then
	without_types "$stat" --time --json -o "$work/typeless" -- "$known" burn 200
	sound "a kernel without types" "$work/typeless"
	is "its CPU time" "$(json '190 <= value("virtual-time") <= 260' "$work/typeless")" = True
	is "its time without steal has a reason: $(cat "$work/typeless")" "$(json '"reason" in times["virtual-without-steal"]' "$work/typeless")" = True
	status=0
	without_types "$stat" --time -a true 2>"$work/err" || status=$?
	is "exit status without types for all tasks: $(cat "$work/err")" $status -eq 3
	is "its lines, of vmopstat only" "$(wc -l <"$work/err")" -eq 1
	is "its reason" "$(grep -c 'no type information\|built without BPF' "$work/err")" -eq 1
fi
command -v setpriv >/dev/null || finish
# Nobody may load no BPF program: an estimate with the reason, or none.
chmod 711 "$work"
cp "$known" "$work/suid"
chmod 4755 "$work/suid"
cp "$build/vmopstat" "$work/vmopstat"
mkdir -m 777 "$work/nobody"
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
nobody "$work/vmopstat" --time -o "$work/nobody/out" true || skip "nobody cannot execute what is in $work"
for command in "$work/suid pages 1" "sh -c 'exec $work/suid burn 200'" "$work/vmopstat -o /dev/null $work/suid burn 200"; do
	eval "nobody \"$work/vmopstat\" --time --json -o \"$work/nobody/out\" $command"
	sound "nobody's $command" "$work/nobody/out"
done
is "the time of a program with other rights: $(cat "$work/nobody/out")" "$(json 'value("virtual-time") >= 190' "$work/nobody/out")" = True
is "nobody's times without steal are an estimate, or not known" \
	"$(json '"reason" in times["virtual-without-steal"] or times["virtual-without-steal"]["is-estimate"]' "$work/nobody/out")" = True
status=0
nobody "$work/vmopstat" --time -a true 2>"$work/err" || status=$?
is "exit status of nobody's -a: $(cat "$work/err")" $status -eq 3
is "its reason" "$(grep -c 'bpf() is not permitted\|built without BPF' "$work/err")" -eq 1
finish
