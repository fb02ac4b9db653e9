#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who may read a session's files can hold read locks on their bytes, for which a descriptor for
# reading is enough. SQLite takes locks for writing on some of these bytes. The daemon goes on: it
# stores each interval, begins the next file, and ends its session.
# shellcheck source=tests/hostile/common.sh
. "$(dirname "$0")/common.sh"
need_perf
hold=$build/tests/hostile/hold-locks
as_evil test -x "$hold" || skip "user $evil_uid can't run $hold"
attackers=
busy=
end_attacks() {
	for pid in $attackers; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	attackers=
}
trap '[ -z "$busy" ] || kill $busy 2>/dev/null; end_attacks; clean_up' EXIT

# begin NAME FIRST LAST: hold read locks on bytes of the session's file of that name, as the attacker.
begin() {
	: >"$work/$1-$2"
	# shellcheck disable=SC2086 # words
	$as_evil "$hold" "$sessions/$1" "$2" "$3" >"$work/$1-$2" 2>&1 &
	attackers="$attackers $!"
}

# stores WHAT: wait until further samples are in the file of the session.
stores() {
	echo "intervals are stored $1"
	from=$(fact "$sessions/current.vmop" samples)
	from=${from:-0}
	until [ "$(fact "$sessions/current.vmop" samples)" -gt "$from" ]; do sleep 0.2; done
	is "failures $1" "$(member failures)" -eq 0
	is "lost $1" "$(member lost)" -eq 0
}

cat >"$VMOP_CONFIG" <<CONFIG
event = cpu-clock:1000Hz
session-dir = $sessions
session-mode = 0644
flush-interval = 200ms
CONFIG
timeout 120 sh -c 'while :; do :; done' &
busy=$!

# -- the file that is being made has no reader, whatever its mode is afterwards
begin current.vmop.new 1073741824 1073742335
begin current.vmop.new-shm 120 127
# -- the writer's locks: of a transaction, and of a checkpoint
begin current.vmop-shm 120 121
refuse 0 "sampling" control --start
stores "while a user tries to lock out the writer"
# -- the readers' locks, as a report has them; and those of the database
begin current.vmop-shm 122 128
begin current.vmop 1073741824 1073742335
until [ -s "$work/current.vmop-shm-122" ]; do sleep 0.1; done
stores "while a user holds the locks of readers"
is "attackers that have the writer's locks" "$(cat "$work/current.vmop-shm-120")" = ""
# The attackers turn to the next file, and some of them have the one before as well.
for i in 1 2 3; do
	expect 0 "goes on in a fresh session" control --rotate
	stores "in the next file, $i"
done

# -- the end: the session is complete, and its WAL is moved into it when no user holds it any more
expect 0 "the session is in" control --stop
refuse 0 "sampling" control --start
stores "in the session after that"
expect 0 "" control --shutdown
end_attacks
expect 0 "" control --start
expect 0 "" control --shutdown
until [ -z "$(find "$sessions" -name '*-wal')" ]; do
	refuse 0 "sampling" control --start
	sleep 1
	expect 0 "" control --shutdown
done
is "saved sessions" "$(find "$sessions" -name '2*.vmop' | wc -l)" -ge 5
expect 0 "" "$build/vmopreport" --session-dir="$sessions" --by=domain session:all
finish
