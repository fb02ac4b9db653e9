#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Failures: no permission, a killed daemon and its files, damaged sessions, a full disk, and a
# report that reads while a session ends.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
start() {
	control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
}
wait_samples() {
	until [ "$(member samples)" -ge "$1" ]; do sleep 0.05; done
}

# -- not root
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
if nobody test -x "$build/vmopd"; then
	refuse 3 "run it as root" nobody "$build/vmopcontrol" --start
	# With a directory of its own it gets as far as perf, if perf refuses this user.
	mkdir "$work/nobody"
	chown 65534 "$work/nobody"
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 0 ]; then
		VMOP_RUNDIR=$work/nobody/run refuse 3 "kernel.perf_event_paranoid" nobody \
			"$build/vmopcontrol" --start --session-dir="$work/nobody"
		is "its session files" "$(find "$work/nobody" -name '*.vmop')" = ""
	fi
	expect 0 "" control --start-daemon
	refuse 3 "uid 65534 may not control vmopd" nobody "$build/vmopcontrol" --stop
	refuse 3 "uid 65534 may not control vmopd" nobody "$build/vmopcontrol" --status
	expect 0 "" control --shutdown
	# A group may read the status, but do no more.
	group=$(getent group 65534 | cut -d: -f1)
	if [ -n "$group" ]; then
		echo "status-group = $group" >"$VMOP_CONFIG"
		expect 0 "" control --start-daemon
		expect 0 "idle" nobody "$build/vmopcontrol" --status
		refuse 3 "may ask for --status only" nobody "$build/vmopcontrol" --shutdown
		expect 0 "" control --shutdown
		rm "$VMOP_CONFIG"
	fi
else
	echo "not tested: what others may do, for they can't run $build/vmopd"
fi

# -- killed while a command runs: the exit status is the command's, unless it succeeded
# run_and_kill STATUS: run a command that kills vmopd, waits for its end, and ends with STATUS.
run_and_kill() {
	# shellcheck disable=SC2016,SC2317 # for the inner shell; called by expect
	control --run --event=cpu-clock:1000Hz --session-dir="$sessions" -- sh -c '
		read -r pid <"$VMOP_RUNDIR/vmopd.pid" && kill -9 "$pid" || exit 99
		while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
		exit '"$1"
}
for status in 0:3 5:5; do
	expect "${status#*:}" "vmopd was killed while the command ran" run_and_kill "${status%:*}"
	is "lines about it" "$(grep -c "killed" "$work/out")" -eq 1
	is "the kept session" "$(ls "$sessions/current.vmop")" = "$sessions/current.vmop"
	rm "$sessions"/current.vmop*
done

# -- killed in the middle
refuse 0 "sampling" start
wait_samples 1500
expect 0 "" control --dump
stored=$(fact "$sessions/current.vmop" samples)
pid=$(daemon_pid)
kill -9 "$pid"
wait_gone "$pid"
is "samples in the file of a killed daemon" "$(fact "$sessions/current.vmop" samples)" -ge "$stored"
is "its stale files" "$(cd "$VMOP_RUNDIR" && echo vmopd.p* vmopd.s*)" = "vmopd.pid vmopd.sock"
refuse 3 "it was killed" control --stop
refuse 3 "it was killed" control --status
refuse 0 "sampling" start
kept=$(find "$sessions" -name '2*.vmop')
is "samples of the killed one after a restart" "$(fact "$kept" samples)" -ge "$stored"
is "files beside it" "$(find "$sessions" -name '2*.vmop-*')" = ""
is "its end, which nobody told" "$(fact "$kept" end_ns)" = ""
expect 0 "" control --shutdown
# The same without another start: the session can be saved.
refuse 0 "sampling" start
pid=$(daemon_pid)
kill -9 "$pid"
wait_gone "$pid"
refuse 0 "kept as" control --save=killed
expect 0 "vmop" "$build/tests/integration/session-facts" "$sessions/killed.vmop"
is "files beside it" "$(find "$sessions" -name 'killed.vmop-*')" = ""
expect 0 "" control --deinit
is "stale files after --deinit" "$(find "$VMOP_RUNDIR" -type f -o -type s)" = ""
# A pid file with the pid of a live process that is not a daemon.
mkdir -p "$VMOP_RUNDIR"
echo $$ >"$VMOP_RUNDIR/vmopd.pid"
: >"$VMOP_RUNDIR/vmopd.sock"
refuse 3 "not running" control --stop
refuse 0 "sampling" start
expect 0 "" control --shutdown

# -- a current session that is not a session file: moved aside unchanged
rm -f "$sessions"/*
echo garbage >"$sessions/current.vmop"
refuse 0 "sampling" start
is "the garbage" "$(cat "$sessions"/2*.vmop)" = garbage
expect 0 "" control --shutdown
# A session directory that is not a directory.
refuse 2 "not a directory" control --start --session-dir="$VMOP_CONFIG"
refuse 3 "$work/no/where: No such file" control --start --session-dir="$work/no/where"
if [ ! -e /proc/xen/capabilities ]; then
	refuse 2 'active domain "db1" does not run' control --start --active-domains=db1
	expect 0 "" control --setup --active-domains=none
fi
is "the daemon after a refused start" "$(daemon_pid)" = ""

# -- two at the same time: exactly one of them begins
start >"$work/a" 2>&1 &
a=$!
start >"$work/b" 2>&1 &
b=$!
status_a=0 status_b=0
wait $a || status_a=$?
wait $b || status_b=$?
is "exit statuses of two starts at once" "$((status_a + status_b))" -eq 3
expect 0 "sampling" control --status
expect 0 "" control --shutdown

# -- a report that reads while the session ends, and after
refuse 0 "sampling" start
wait_samples 10
expect 0 "" control --dump
expect 0 "" control --stop
expect 0 "samples" "$build/tests/integration/session-facts" "$sessions/current.vmop"
expect 0 "" control --shutdown

# -- a full disk
mkdir "$work/small"
if mount -t tmpfs -o size=32m,mode=755 tmpfs "$work/small" 2>/dev/null; then
	# Room for the code of a compiler that happens to run, which can be 4 MB in a second, twice: in the
	# WAL and in the file. The symbols of guests could take all of it.
	refuse 0 "sampling" control --start --event=cpu-clock:4000Hz --separate=all \
		--passive-domains=none --session-dir="$work/small"
	wait_samples 2000
	expect 0 "" control --dump
	stored=$(fact "$work/small/current.vmop" samples)
	head -c 40000000 /dev/zero >"$work/small/filler" 2>/dev/null || :
	until [ "$(member failures)" -gt 0 ]; do sleep 0.1; done
	expect 0 "No space left" control --status
	is "warnings in the log" "$(grep -c 'No space left' "$VMOP_RUNDIR/vmopd.log")" -eq 1
	is "samples in the file" "$(fact "$work/small/current.vmop" samples)" -ge "$stored"
	# With room again, the samples kept in memory are stored.
	rm "$work/small/filler"
	before=$(member samples)
	expect 0 "" control --dump
	is "samples stored and counted as lost" "$(($(fact "$work/small/current.vmop" samples) + \
		$(member store_full)))" -ge "$before"
	is "word of it in the log" "$(grep -c 'can be written again' "$VMOP_RUNDIR/vmopd.log")" -eq 1
	expect 0 "" control --shutdown
	# So full that no session can begin.
	head -c 40000000 /dev/zero >"$work/small/filler" 2>/dev/null || :
	refuse 3 "No space left" control --start
	umount "$work/small"
else
	echo "not tested: a full disk, for tmpfs can't be mounted here"
fi
finish
