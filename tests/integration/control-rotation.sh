#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at each step of a rotation: no stored sample is lost, and the next start goes on. strace kills vmopd
# in the n-th call of each kind that changes a name.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
command -v strace >/dev/null || skip "no strace"
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:1000Hz
session-dir = $sessions
END

# samples_of FILE...: the sum of the samples of sessions.
samples_of() {
	sum=0
	for file in "$@"; do
		sum=$((sum + $(fact "$file" samples)))
	done
	echo $sum
}

# is_dead PID: whether the process has ended, also before its parent has waited for it.
is_dead() {
	! grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# killed_at CALL N ACTION: rotate by ACTION, and kill vmopd in the N-th CALL. Return 1 if there are fewer.
killed_at() {
	rm -rf "$sessions"
	expect 0 "sampling" control --start
	pid=$(daemon_pid)
	sleep 0.3
	expect 0 "" control --dump
	stored=$(fact "$sessions/current.vmop" samples)
	strace -f -o "$work/calls" -e trace="$1" -e inject="$1:signal=KILL:when=$2" -p "$pid" 2>"$work/strace" &
	tracer=$!
	until grep -q attached "$work/strace" || ! kill -0 $tracer 2>/dev/null; do sleep 0.05; done
	kill -0 $tracer 2>/dev/null || skip "strace: $(cat "$work/strace")"
	got=0
	control "$3" >"$work/out" 2>&1 || got=$?
	# The last calls come after the answer.
	i=0
	while [ $got -eq 0 ] && ! is_dead "$pid" && [ $i -lt 20 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	if [ $i -eq 20 ]; then
		kill $tracer
		wait $tracer || :
		expect 0 "" control --shutdown
		return 1
	fi
	wait $tracer || :
	wait_gone "$pid"
	expect 0 "sampling" control --start
	# Another thread completes the saved session.
	i=0
	while [ -e "$sessions/saved.vmop-wal" ] && [ $i -lt 100 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	expect 0 "" control --shutdown
	is "samples after a kill in $1 $2 of $3" "$(samples_of "$sessions"/*.vmop)" -ge "$stored"
	is "files that are left over" "$(find "$sessions" -type f ! -name '*.vmop')" = ""
	# The next session is empty if vmopd was killed before it stored its events.
	for file in "$sessions"/*.vmop; do
		name=$(basename "$file" .vmop)
		"$build/vmopreport" --session-dir="$sessions" "session:$name" >"$work/out" 2>&1 ||
			is "the report of $name" "$(cat "$work/out")" = "vmopreport: the session has no events yet"
	done
}

for call in linkat renameat2 unlinkat; do
	n=1
	while killed_at $call $n --save=saved; do
		n=$((n + 1))
	done
	is "calls of $call" "$n" -gt 2
done
finish
