#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat counts what a program is known to do, over threads, forks and executed programs, and what
# cannot be counted has a reason.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
stat=$build/vmopstat
known=$build/tests/fixtures/known-counts
"$stat" -e task-clock -o "$work/try" true || skip "this kernel counts no events here: $(cat "$work/try")"

# count EVENT COMMAND...: print the value of one event, or the reason why it has no value.
count() {
	event=$1
	shift
	"$stat" --json -o "$work/count" -e "$event" -- "$@" >/dev/null || fail "exit $? of vmopstat $*"
	sed -n 's/.*"counter-value":\([0-9][0-9]*\)[,}].*/\1/p; s/.*"reason":"\([^"]*\)".*/\1/p' "$work/count"
}
# json EXPRESSION FILE: evaluate with rows, the list of the file's objects.
json() {
	python3 -c 'import json, sys; rows = [json.loads(line) for line in open(sys.argv[2])]; print(eval(sys.argv[1]))' "$1" "$2"
}

# Runs with 0 and with PAGES pages a task: the difference is exact but for the kernel's own few
# faults, such as pages of stacks and of files that another program has just read.
exact() { # NAME TASKS PAGES COMMAND...
	name=$1 tasks=$2 pages=$3
	shift 3
	none=$(count page-faults "$known" "$@" 0)
	some=$(count page-faults "$known" "$@" "$pages")
	is "$name: $none faults, and $some with $pages more for each of $tasks tasks: within 1 %" \
		"$(awk -v a="$none" -v b="$some" -v n="$((pages * tasks))" 'BEGIN { p = 100 * (b - a) / n; print (p > 99 && p < 101) }')" = 1
}
exact threads 2000 40 threads 2000
exact forks 50 400 forks 50
exact execs 50 400 execs 50
# execve(2) copies the environment in the kernel, by faults that no counter has.
is "faults with a large environment" \
	"$(large=$(head -c 100000 /dev/zero | tr '\0' x) && export large && count page-faults "$known" forks 50 0)" -ge 500
# A fork bomb of a known size, and ten thousand threads.
exact storm 255 800 storm 7
is "10,000 threads: page faults" "$(count page-faults "$known" threads 10000 1)" -ge 10000

# The same as perf stat has, where there is perf.
if command -v perf >/dev/null; then
	perf stat -x, -o "$work/perf" -e page-faults "$known" forks 50 400
	theirs=$(sed -n 's/^\([0-9]*\),.*page-faults.*/\1/p' "$work/perf")
	ours=$(count page-faults "$known" forks 50 400)
	is "$ours faults, and $theirs by perf stat: percent" $((100 * ours / theirs)) -ge 98
	is "$ours faults, and $theirs by perf stat: percent, at most" $((100 * ours / theirs)) -le 102
fi

# Exit status: the command's.
status=0
"$stat" -o "$work/out" sh -c 'exit 7' || status=$?
is "the command's exit status" $status -eq 7
status=0
# shellcheck disable=SC2016 # for the shell that it is given to
"$stat" -o "$work/out" sh -c 'kill -9 $$' || status=$?
is "the exit status of a killed command" $status -eq 137
status=0
"$stat" -o "$work/out" ./no-such-command 2>"$work/err" || status=$?
is "the exit status without a command" $status -eq 3
is "its message" "$(grep -c 'cannot execute ./no-such-command: No such file' "$work/err")" -eq 1
for wrong in '' '-a -p 1' '-I 1 true' '-r 0 true' '-r 3 -a' '-e page-faults:100 true' '-e {cs true' '-x, --json true' \
	'-p nobody' '-r 2 -I 100 true' '-e no-such-event true' '--domain=x -a' '--domain=x -p 1'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$stat" $wrong >"$work/out" 2>"$work/err" || status=$?
	is "exit status of vmopstat $wrong" $status -eq 2
	is "lines of its message: $(cat "$work/err")" "$(wc -l <"$work/err")" -eq 1
done

# An event that nothing counts has a reason and no number.
"$stat" --json -o "$work/out" -e page-faults,no-such-event,cycles:::0:1 "$known" pages 10
is "the reason of an unknown event" "$(json 'rows[1]["counter-value"] is None and "no event" in rows[1]["reason"]' "$work/out")" = True
is "the value beside it" "$(json 'rows[0]["counter-value"] >= 10' "$work/out")" = True

# Repeated runs: the mean, and an interval.
"$stat" --json -r 5 -o "$work/out" -e page-faults,task-clock "$known" pages 300
is "runs" "$(json 'rows[0]["runs"]' "$work/out")" -eq 5
is "their mean" "$(json '300 <= rows[0]["counter-value"] < 500' "$work/out")" = True
is "their spread" "$(json '0 <= rows[0]["interval-99-percent"] < 20' "$work/out")" = True
is "the spread of a ratio" "$(json '"metric-interval-99-percent" in rows[1]' "$work/out")" = True

# The CPU time of several runs is a mean, too: of two, here, only the first uses much.
# shellcheck disable=SC2016 # the command's
"$stat" -r 2 -o "$work/out" -e task-clock sh -c '[ -e "$0" ] || { : >"$0"; i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; }' "$work/used"
is "the mean of user time: $(grep 'seconds user' "$work/out")" \
	"$(awk '/seconds user/ { print ($1 > 0.02 && / \( \+- /) }' "$work/out")" -eq 1

# Intervals add up to the total, and each is of its own time.
"$stat" --json -I 50 -o "$work/out" -e page-faults sh -c "'$known' forks 20 100; sleep 0.2; '$known' forks 20 100"
is "faults of all intervals" "$(json 'sum(r["counter-value"] or 0 for r in rows) >= 4000' "$work/out")" = True
is "intervals" "$(json 'len(rows) >= 4' "$work/out")" = True
is "times that ascend" "$(json 'all(a["interval"] < b["interval"] for a, b in zip(rows, rows[1:]))' "$work/out")" = True
is "an interval without faults" "$(json 'any(r["counter-value"] is None or r["counter-value"] < 100 for r in rows)' "$work/out")" = True

# In a guest: a shell with the same program stands for it. Its counts are the known ones, words arrive as they are, and
# what the command prints does not get among the counts. arm64:accuracy has real guests.
guest() {
	PATH=$build:$PATH "$stat" --guest=g1 --guest-run='sh -c' "$@"
}
status=0
# shellcheck disable=SC2016 # for the shell that it is given to
guest --json -r 3 -o "$work/out" -e page-faults sh -c 'echo "{it'\''s  $1}"; exit 6' sh 'a  b' 2>"$work/err" || status=$?
is "the exit status of a command in a guest" $status -eq 6
is "its output, three times" "$(grep -cF "{it's  a  b}" "$work/err")" -eq 3
is "its counts" "$(json 'len(rows) == 1 and rows[0]["runs"] == 3 and rows[0]["counter-value"] > 10' "$work/out")" = True
guest --compare --json -r 3 -o "$work/out" -e page-faults,no-such-event "$known" pages 3000
is "host and guest: $(cat "$work/out")" "$(json 'abs(rows[0]["deviation-percent"]) < 5 and rows[0]["host"]["counter-value"] >= 3000 and rows[0]["guest"]["counter-value"] >= 3000' "$work/out")" = True
is "no deviation without counts" "$(json 'rows[1]["deviation-percent"] is None and "no event" in rows[1]["guest"]["reason"]' "$work/out")" = True
guest --compare -x, -o "$work/out" -e page-faults "$known" pages 300
is "fields: $(cat "$work/out")" "$(awk -F, '{ print NF, $8 }' "$work/out")" = "8 page-faults"
guest --compare -r 2 -o "$work/out" -e page-faults "$known" pages 300
is "the table's title" "$(grep -c "on the host and in guest g1 (2 runs" "$work/out")" -eq 1
status=0
"$stat" --guest=g1 --guest-run='exit 255 #' true 2>"$work/err" || status=$?
is "exit status without a way into the guest" $status -eq 3
is "its reason" "$(grep -c "guest g1: the guest sent no counts; 'exit 255 #' ended with status 255" "$work/err")" -eq 1
for wrong in '--guest=g1 true' '--guest-run=ssh true' '--compare true' '--guest=g1 --guest-run=ssh -a' '--guest=g1 --guest-run=ssh -I 100 true' \
	'--log-fd=x true' '--log-fd=1 -o out true'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$stat" $wrong >"$work/out" 2>"$work/err" || status=$?
	is "exit status of vmopstat $wrong" $status -eq 2
done
# The descriptor of the counts is not the command's.
"$stat" --log-fd=5 -e page-faults -x, sh -c 'echo leaked >&5' 5>"$work/out" 2>"$work/err" || true
is "counts in the descriptor, without the command's output" "$(grep -c leaked "$work/out"),$(grep -c page-faults "$work/out")" = 0,1
status=0
"$stat" --log-fd=77 true 2>"$work/err" || status=$?
is "exit status for a descriptor that is not open: $(cat "$work/err")" $status -ge 1

# A process that ends while it is counted.
"$known" burn 900 &
pid=$!
"$stat" --json -o "$work/out" -e task-clock -p $pid || fail "exit $? of vmopstat -p"
wait $pid
is "ms of a process that ended: $(cat "$work/out")" "$(json '0 < rows[0]["counter-value"] <= 950' "$work/out")" = True
status=0
"$stat" -p $pid 2>"$work/err" || status=$?
is "exit status for a process that is gone" $status -eq 3
is "the message for it" "$(grep -c "there is no process $pid" "$work/err")" -eq 1

# A process of ten thousand threads: its counters need as many descriptors, or there is a reason.
"$known" hold 10000 >"$work/ready" &
pid=$!
for _ in $(seq 300); do
	if [ -s "$work/ready" ] || ! kill -0 $pid 2>/dev/null; then
		break
	fi
	sleep 0.1
done
if [ -s "$work/ready" ]; then
	# shellcheck disable=SC3045 # dash has it
	descriptors=$(ulimit -Hn) status=0
	"$stat" --json -o "$work/out" -e page-faults -p $pid sleep 0.2 2>"$work/err" || status=$?
	is "10,000 threads that wait, with $descriptors descriptors: $status $(cat "$work/err")" \
		"$status$(grep -c 'too many open files' "$work/err")$(grep -c 'no task of it ran\|"counter-value":0' "$work/out")" = 001
	status=0
	# shellcheck disable=SC3045 # dash has it
	(ulimit -n 500 && exec "$stat" --json -o "$work/out" -e page-faults -p $pid sleep 0.2) 2>"$work/err" || status=$?
	is "10,000 threads, with 500 descriptors: $status $(cat "$work/err")" "$status$(grep -c 'too many open files' "$work/err")" = 31
else
	echo "no 10,000 threads here"
fi
kill -9 $pid 2>/dev/null || :
wait $pid 2>/dev/null || :

[ "$(id -u)" -eq 0 ] || finish
# All CPUs.
"$stat" --json -a -I 100 -o "$work/out" -e cpu-clock,page-faults "$known" burn 250
is "CPUs by their clock and the time: $(nproc) within a half" "$(json "0.5 * $(nproc) < sum(r['counter-value'] or 0 for r in rows if r['event'] == 'cpu-clock') / (1000 * rows[-1]['interval']) < 1.5 * $(nproc)" "$work/out")" = True

# The vCPUs of a guest, where this machine can run the smallest one.
"$build/tests/fixtures/kvm-guest" --id=stat-guest --vcpus=2 --seconds=60 >"$work/guest" 2>&1 &
guest_pid=$!
for _ in $(seq 50); do
	kill -0 $guest_pid 2>/dev/null || break
	[ "$(grep -hc '^fc_vcpu' /proc/$guest_pid/task/*/comm 2>/dev/null | paste -sd+ | sed 's/^$/0/' | awk -F+ '{ for (i = 1; i <= NF; i++) n += $i; print n + 0 }')" = 2 ] && break
	sleep 0.1
done
if kill -0 $guest_pid 2>/dev/null; then
	"$stat" --json --domain=stat-guest -o "$work/out" -e task-clock,cycles,page-faults:::1:1:0:1 sleep 1 ||
		fail "exit $? of --domain"
	is "ms of the guest's vCPUs in a second: $(cat "$work/out")" \
		"$(json '20 < rows[0]["counter-value"] < 2200' "$work/out")" = True
	is "no count of the guest only, but by a PMU" \
		"$(json 'rows[2]["event"] == "page-faults:G" and "only a PMU" in rows[2]["reason"]' "$work/out")" = True
	is "the name of a PMU's event" "$(json 'rows[1]["event"]' "$work/out")" = cycles:G
	status=0
	"$stat" --domain=no-such-guest true 2>"$work/err" || status=$?
	is "exit status without such a guest: $(cat "$work/err")" $status -eq 3
	is "the guests that there are" "$(grep -c "others are .*stat-guest (pid $guest_pid)" "$work/err")" -eq 1
	# A suspended guest has no counts; one that ends, those until then.
	kill -STOP $guest_pid
	"$stat" --json --domain=pid-$guest_pid -o "$work/out" -e task-clock sleep 0.3 || fail "exit $? of --domain"
	is "a suspended guest" "$(json 'rows[0]["reason"]' "$work/out")" = "no task of it ran"
	kill -CONT $guest_pid
	(sleep 0.7 && kill -9 $guest_pid) &
	"$stat" --json --domain=stat-guest -o "$work/out" -e task-clock || fail "exit $? of --domain"
	is "a guest that ends" "$(json '10 < rows[0]["counter-value"] < 10000' "$work/out")" = True
else
	echo "no guest here: $(cat "$work/guest")"
fi
wait $guest_pid 2>/dev/null || :

# Nobody, who may count less.
command -v setpriv >/dev/null || finish
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
chmod 711 "$work"
cp "$known" "$work/suid"
cp "$build/vmopstat" "$work/vmopstat"
mkdir -m 777 "$work/nobody"
chmod 4755 "$work/suid"
nobody "$work/vmopstat" true 2>"$work/err" || skip "nobody cannot execute what is in $work"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	nobody "$work/vmopstat" --json -e context-switches,page-faults,task-clock -o "$work/nobody/out" "$known" pages 50
	is "the reason of what nobody may not count" "$(json '"not permitted" in rows[0]["reason"]' "$work/nobody/out")" = True
	is "the name of what is counted without the kernel" "$(json 'rows[1]["event"]' "$work/nobody/out")" = page-faults:u
	is "its value" "$(json '50 <= rows[1]["counter-value"] < 200' "$work/nobody/out")" = True
	for what in '-a' '-p 1'; do
		status=0
		# shellcheck disable=SC2086 # words
		nobody "$work/vmopstat" $what -e page-faults true 2>"$work/err" || status=$?
		is "exit status of $what as nobody: $(cat "$work/err")" $status -eq 3
		is "the reason" "$(grep -c 'not permitted' "$work/err")" -eq 1
	done
fi
# A program with other rights is not counted: in place of a wrong number there is the reason.
for command in "'$work/suid' burn 300" "exec '$work/suid' burn 300"; do
	nobody "$work/vmopstat" --json -e task-clock,page-faults -o "$work/nobody/out" sh -c "$command"
	is "no counts with a set-user-id program ($command): $(cat "$work/nobody/out")" \
		"$(json 'all(r["counter-value"] is None and "other rights" in r["reason"] for r in rows)' "$work/nobody/out")" = True
done
nobody "$work/vmopstat" --json -e task-clock -o "$work/nobody/out" "$work/suid" pages 1
is "nor with a short one" "$(json '"other rights" in rows[0]["reason"]' "$work/nobody/out")" = True
finish
