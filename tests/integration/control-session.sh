#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The life of a session as a user sees it: start, status, dump, save, reset, stop, shutdown, run,
# duration.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf

# -- start, status, dump
refuse 0 "sampling cpu-clock at 100 Hz on " control --start --event=cpu-clock:100Hz \
	--session-dir="$sessions" --separate=thread
expect 0 "sampling, pid $(daemon_pid)" control --status
expect 0 "$sessions/current.vmop" control --status
expect 0 "not stored  lost 0" control --status
expect 0 '"state": "sampling"' control --status --json
is "columns of --status" "$(control --status | awk '{ if (length > n) n = length } END { print n }')" \
	-le 80
refuse 3 "already profiling since" control --start
# The capabilities that the daemon keeps, if it was built to drop the others.
status=/proc/$(daemon_pid)/status
if grep -q '^#define HAVE_CAPNG 1' "$build/config.h"; then
	# CHECKPOINT_RESTORE, BPF, PERFMON or, without it, SYS_ADMIN; SYSLOG, SYS_PTRACE, IPC_LOCK, NET_BIND_SERVICE,
	# DAC_READ_SEARCH.
	kept=$((0x$(sed -n 's/^CapPrm:[[:space:]]*//p' "$status")))
	allowed=$((1 << 40 | 1 << 39 | 1 << 38 | 1 << 34 | 1 << 21 | 1 << 19 | 1 << 14 | 1 << 10 | 1 << 2))
	is "capabilities beyond those that are needed" "$((kept & ~allowed))" -eq 0
	is "PERFMON and SYS_ADMIN at once" "$((kept >> 38 & kept >> 21 & 1))" -eq 0
fi
is "no new privileges" "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "$status")" -eq 1
if grep -q '^#define HAVE_SECCOMP 1' "$build/config.h"; then
	is "the system call filter's mode" "$(sed -n 's/^Seccomp:[[:space:]]*//p' "$status")" -eq 2
fi
# A dump has stored all earlier samples.
before=$(member samples)
while [ "$before" -lt 20 ]; do
	sleep 0.1
	before=$(member samples)
done
expect 0 "" control --dump
stored=$(fact "$sessions/current.vmop" samples)
is "samples in the file after --dump" "$stored" -ge "$before"
expect 0 "" control -d

# -- save and reset during the session
expect 0 "sampling goes on in a fresh session" control --save=one
is "samples in the saved file" "$(fact "$sessions/one.vmop" samples)" -ge "$stored"
is "files beside the saved one" "$(find "$sessions" -name 'one.vmop-*')" = ""
refuse 3 "already a session of that name" control --save=one
expect 0 '"state": "sampling"' control --status --json
expect 0 "sampling goes on in a fresh session" control --reset
expect 0 '"state": "sampling"' control --status --json

# -- stop: the file is finished, the daemon continues
refuse 0 "$sessions/current.vmop" control --stop
is "files of the finished session" "$(find "$sessions" -name 'current.vmop*')" = \
	"$sessions/current.vmop"
is "the session's end" "$(fact "$sessions/current.vmop" end_ns)" != ""
expect 0 "idle" control --status
refuse 3 "vmopd is not profiling" control --stop
refuse 3 "vmopd is not profiling" control -t
refuse 3 "vmopd is not profiling" control --dump
refuse 0 "kept as $sessions/two.vmop" control --save=two
refuse 1 "there is no current session" control --save=three
refuse 1 "there is no current session" control --reset

# -- the set-up is saved; the last session is saved under its start time
is "the event in the set-up file" "$(grep -c '^event = cpu-clock:100Hz$' "$VMOP_CONFIG")" -eq 1
refuse 0 "sampling cpu-clock at 100 Hz" control -s
expect 0 "" control -t
start=$(fact "$sessions/current.vmop" start_ns)
name=$(date -u -d "@${start%?????????}" +%Y%m%dT%H%M%S)
refuse 0 "sampling cpu-clock" control --start --event=cpu-clock:200Hz
is "the last session, under its start" "$(find "$sessions" -name "$name.vmop")" = \
	"$sessions/$name.vmop"
pid=$(daemon_pid)
refuse 0 "$sessions/current.vmop" control --shutdown
wait_gone "$pid"
is "what it leaves in its run directory" "$(cd "$VMOP_RUNDIR" && echo *)" = vmopd.log
expect 0 "" control --reset # without a daemon
refuse 1 "there is no current session" control --reset

# -- start-daemon, then start, then a file with the host kernel's symbols
expect 0 "" control --start-daemon
refuse 3 "vmopd runs already" control --start-daemon
refuse 3 "vmopd runs already, pid $(daemon_pid)" "$build/vmopd"
expect 0 "idle" control --status
grep -w -e _text -e _etext -e schedule -e vfs_read /proc/kallsyms | grep -v '\[' >"$work/System.map"
if grep -q '^0*[1-9a-f][0-9a-f]* . _text$' "$work/System.map"; then
	refuse 0 "sampling" control --start --vmlinux="$work/System.map"
	expect 0 "kernel symbols: $work/System.map" control --status
	expect 0 "" control -h
	# Only the symbols that were sampled are stored.
	is "symbols of the kernel" "$(fact "$sessions/current.vmop" symbols | sed -n 's/ \[kernel\]$//p')" -le \
		"$(grep -i ' [tw] ' "$work/System.map" | grep -vc _etext)"
	sed 's/^\(.*\)... \(. schedule\)$/\1fff \2/' "$work/System.map" >"$work/other.map"
	refuse 2 "not of the kernel that runs" control --start --vmlinux="$work/other.map"
	echo junk >"$work/junk"
	refuse 2 "$work/junk" control --start --vmlinux="$work/junk"
	is "the daemon after a refused start" "$(daemon_pid)" = ""
else
	expect 0 "" control --shutdown
fi

# -- invalid domains and images
refuse 2 "no-such-guest" control --start --passive-domains=no-such-guest
refuse 2 "$work/junk" control --start --passive-domains=a --passive-images="$work/junk"
refuse 3 "vmopd is not running" control --inspect=a
expect 0 "" control --setup --passive-domains=none --vmlinux= --guest-cpu=0.5%
is "the part of a CPU in the set-up file" "$(grep -c '^guest-cpu = 0.5%$' "$VMOP_CONFIG")" -eq 1
refuse 0 "sampling" control --start
refuse 1 "no domain 'no-such-guest'" control --inspect=no-such-guest --json
expect 0 "" control --shutdown
expect 0 "" control --setup --passive-domains=all

# -- the event of guests' blocked threads, without any guest
refuse 0 "blocked at 10 Hz" control --start --off-cpu
is "the rate in the set-up file" "$(grep -c '^off-cpu = 10Hz$' "$VMOP_CONFIG")" -eq 1
expect 0 "event       blocked at 10 Hz, threads of passive guests" control --status
expect 0 "" control --stop
expect 0 "blocked every 100000000 ns: 0 samples" "$build/vmopreport" --session-dir="$sessions"
refuse 0 "blocked at 20 Hz" control --start --off-cpu=20 --off-cpu-states=D,S,K
is "the states in the set-up file" "$(grep -c '^off-cpu-states = D,S,K$' "$VMOP_CONFIG")" -eq 1
expect 0 "" control --shutdown
expect 0 "" control --setup --off-cpu=off --off-cpu-states=D,S
is "no line of the default" "$(grep -c '^off-cpu' "$VMOP_CONFIG" || :)" -eq 0

# -- run: the command's status, output and signals
expect 7 "" control --run -- sh -c 'exit 7'
is "the daemon after --run" "$(daemon_pid)" = ""
is "the command's output" "$(control --run -- echo hello 2>/dev/null)" = hello
expect 127 "no-such-command: No such file" control --run -- no-such-command
expect 126 "Permission denied" control --run -- "$VMOP_CONFIG"
expect 137 "" control --run -- sh -c 'kill -9 $$'
# shellcheck disable=SC2016 # $0 is the command's
"$build/vmopcontrol" --run -- sh -c 'trap "exit 9" TERM; echo ready >"$0"; while :; do sleep 0.1; done' \
	"$work/ready" >"$work/run.out" 2>&1 &
runner=$!
while [ ! -s "$work/ready" ]; do sleep 0.1; done
kill -TERM $runner
got=0
wait $runner || got=$?
is "the status of a command that took the signal" "$got" -eq 9
expect 0 "" control --start-daemon
expect 0 "" control --run -- true # a daemon that ran before stays
expect 0 "idle" control --status
expect 0 "" control --shutdown

# -- duration: the daemon ends the session, and stores it
refuse 0 "sampling" control --start --duration=2s
pid=$(daemon_pid)
wait_gone "$pid"
span=$(fact "$sessions/current.vmop" span_ns)
is "what it sampled, in ns" "$span" -ge 1800000000
refuse 0 "sampling" control --start --duration=2h
expect 0 "ends in 1:59:" control --status
expect 0 "" control --shutdown
expect 3 "" control --run --duration=300ms -- sh -c 'sleep 3; exit 3'
is "what --run --duration sampled, in ns" "$(fact "$sessions/current.vmop" span_ns)" -lt 2900000000

# -- vmopd in the foreground, until a signal arrives
for signal in TERM INT HUP; do
	rm -f "$work/vmopd.out"
	"$build/vmopd" --foreground --start --session-dir="$sessions" -V -V >"$work/vmopd.out" 2>&1 &
	pid=$!
	while ! grep -q sampling "$work/vmopd.out" 2>/dev/null; do
		kill -0 $pid || break
		sleep 0.05
	done
	# A shell's background jobs ignore SIGINT; the daemon does not.
	kill -$signal $pid
	got=0
	wait $pid || got=$?
	is "vmopd's status after SIG$signal" "$got" -eq 0
	is "the session's end" "$(fact "$sessions/current.vmop" end_ns)" != ""
done
expect 0 "sampling" "$build/vmopd" -f --start --duration=200ms
expect 0 "" control --deinit
is "what --deinit leaves" "$(find "$VMOP_RUNDIR" -type f)" = ""
finish
