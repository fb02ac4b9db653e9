#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Several vmopcontrol at one time, and one beside a daemon that starts or ends. First each order is
# forced, by a vmopd that becomes ready late or is stopped. Then pairs run in a random order.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
expect 0 "" control --setup --session-dir="$sessions" --event=cpu-clock:100Hz

state() {
	member state 2>&1
}
# wait_stopped PID: wait until the process is stopped.
wait_stopped() {
	until grep -q '^State:.T' "/proc/$1/status"; do sleep 0.02; done
}
# begin NAME OPTION...: run vmopcontrol in the background; its output is in $work/NAME.
begin() {
	name=$1
	shift
	(
		got=0
		control "$@" >"$work/$name" 2>&1 </dev/null || got=$?
		echo $got >"$work/$name.status"
	) &
	sleep 0.3 # until the socket contains its request
}
# ended NAME STATUS TEXT: check how the background process ended.
ended() {
	echo "expect exit $2 and \"$3\" of $1"
	{ [ "$(cat "$work/$1.status")" -eq "$2" ] && { [ -z "$3" ] || grep -qF -e "$3" "$work/$1"; }; } ||
		fail "exit $(cat "$work/$1.status"): $(cat "$work/$1")"
}

# -- a second start while the first one's daemon runs but has no request yet
cat >"$work/slow" <<END
#!/bin/sh
"$build/vmopd" "\$@" || exit
(
	got=0
	VMOP_VMOPD= "$build/vmopcontrol" --start >"$work/second" 2>&1 || got=\$?
	echo \$got >"$work/second.status"
) &
sleep 1
END
chmod 755 "$work/slow"
got=0
VMOP_VMOPD=$work/slow control --start >"$work/first" 2>&1 || got=$?
echo $got >"$work/first.status"
until [ -s "$work/second.status" ]; do sleep 0.05; done
is "exit statuses of two starts" "$(cat "$work/first.status" "$work/second.status" | sort | tr '\n' ' ')" = "0 3 "
is "the loser's word" "$(cat "$work/first" "$work/second" | grep -c 'already profiling')" -eq 1
is "the state after it" "$(state)" = sampling
expect 0 "" control --shutdown

# -- another vmopd, as systemd starts it, between the search for one and the start of one
cat >"$work/late" <<END
#!/bin/sh
"$build/vmopd" || exit
exec "$build/vmopd" "\$@"
END
chmod 755 "$work/late"
VMOP_VMOPD=$work/late refuse 0 "sampling" control --start
is "the state after it" "$(state)" = sampling
expect 0 "" control --shutdown

# -- a start that fails ends the daemon that was started for it, but not the session of another
echo junk >"$work/junk"
refuse 2 "$work/junk" control --start --vmlinux="$work/junk"
is "the daemon after it" "$(daemon_pid)" = ""

# -- a daemon that is about to shut down: a start waits for its end and starts a new one
expect 0 "" control --start
pid=$(daemon_pid)
kill -STOP "$pid"
wait_stopped "$pid"
begin shutdown --shutdown
begin start --start
begin stop --stop
kill -CONT "$pid"
wait
ended shutdown 0 "the session is in"
ended start 0 "sampling"
is "the state after it" "$(state)" = sampling
is "another daemon" "$(daemon_pid)" != "$pid"
expect 0 "" control --shutdown

# -- the same by a signal; --stop and --shutdown report its end, and --save works without it
expect 0 "" control --start
pid=$(daemon_pid)
kill -STOP "$pid"
wait_stopped "$pid"
kill -TERM "$pid"
begin stop --stop
begin shutdown --shutdown
begin save --save=at-the-end
kill -CONT "$pid"
wait
is "how --stop ended" "$(grep -c 'hung up' "$work/stop")" -eq 0
ended shutdown 0 ""
ended save 0 "kept as $sessions/at-the-end.vmop"
is "the saved file's end" "$(fact "$sessions/at-the-end.vmop" end_ns)" != ""
is "the daemon after it" "$(daemon_pid)" = ""

# -- a daemon killed while a start waits for its reply: the start starts a new one
expect 0 "" control --start-daemon
pid=$(daemon_pid)
kill -STOP "$pid"
wait_stopped "$pid"
begin start --start
begin status --status
kill -KILL "$pid"
wait
ended start 0 "sampling"
is "another daemon" "$(daemon_pid)" != "$pid"
expect 0 "" control --shutdown

# -- a terminal shows how long a reply is awaited, and only a terminal does
expect 0 "" control --start-daemon
pid=$(daemon_pid)
for how in terminal pipe; do
	kill -STOP "$pid"
	wait_stopped "$pid"
	case $how in
	terminal) script -qec "'$build/vmopcontrol' --status" /dev/null >"$work/$how" 2>&1 </dev/null & ;;
	pipe) "$build/vmopcontrol" --status >"$work/$how" 2>&1 & ;;
	esac
	waiter=$!
	sleep 2.5
	kill -CONT "$pid"
	wait $waiter
done
is "the terminal's line" "$(grep -c 'vmopcontrol: waiting for vmopd, seconds: [1-9]' "$work/terminal")" -ge 1
is "the line elsewhere" "$(grep -c 'waiting for vmopd' "$work/pipe")" -eq 0
expect 0 "" control --shutdown

# -- --run ends only the session that it began
expect 0 "" control --run -- sh -c "'$build/vmopcontrol' --stop && '$build/vmopcontrol' --start"
is "the state after a --run whose session was replaced" "$(state)" = sampling
expect 0 "" control --shutdown
expect 0 "" control --run -- sh -c "'$build/vmopcontrol' --shutdown && '$build/vmopcontrol' --start"
is "the state after a --run whose daemon was replaced" "$(state)" = sampling
refuse 3 "already profiling" control --run -- true
is "the state after a --run that was refused" "$(state)" = sampling
expect 0 "" control --shutdown

# -- two without a daemon run one after the other
expect 0 "" control --run -- true
begin save --save=twice
begin reset --reset
wait
is "one of both found the session" "$(cat "$work/save.status" "$work/reset.status" | sort | tr '\n' ' ')" = "0 1 "

# -- pairs in a random order. Each ends with one running session, or with none if one was ended.
pairs=${VMOP_RACE_PAIRS:-24}
# pair N FIRST SECOND: start the second one 0 to 60 ms later.
pair() {
	control "$2" >"$work/first" 2>&1 </dev/null &
	first=$!
	sleep "0.0$(printf %02d $(($1 * 5 % 60)))"
	got_second=0 got_first=0
	control "$3" >"$work/second" 2>&1 </dev/null || got_second=$?
	wait $first || got_first=$?
}
broken() {
	fail "$1, $i: exit $got_first and $got_second, then $(state): $(cat "$work/first" "$work/second")"
}
i=0
while [ $i -lt "$pairs" ]; do
	pair $i --start --start
	[ "$got_first$got_second" = 03 ] || [ "$got_first$got_second" = 30 ] || broken "two starts"
	[ "$(state)" = sampling ] || broken "two starts"
	pair $i --shutdown --start
	[ "$got_first$got_second" = 00 ] || [ "$got_first$got_second" = 03 ] ||
		broken "a start at a shutdown"
	[ "$got_second" -ne 0 ] || [ "$(state)" = sampling ] || broken "a start at a shutdown"
	pair $i --stop --shutdown
	[ "$(daemon_pid)" = "" ] || broken "a stop and a shutdown"
	! grep -q 'hung up' "$work/first" "$work/second" || broken "a stop and a shutdown"
	i=$((i + 1))
done
is "what is left in the run directory" "$(cd "$VMOP_RUNDIR" && echo *)" = vmopd.log
is "empty session files" "$(find "$sessions" -size 0)" = ""
finish
