#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# An unprivileged user replaces a program that was sampled by other files. The daemon neither waits
# for them nor opens them, and continues to sample.
# shellcheck source=tests/integration/common.sh disable=SC2016,SC2034,SC2086,SC2317 # inner shells; lists; traps
. "$(dirname "$0")/../integration/common.sh"
need_perf
user=65534
limit=30 # time limit in seconds for a reply on a busy machine; a hanging daemon never replies

as_user() {
	setpriv --reuid=$user --regid=$user --clear-groups "$@"
}

# Check that the daemon replies and samples.
goes_on() {
	before=$(timeout $limit "$build/vmopcontrol" --status --json | sed -n 's/^  "samples": \([0-9]*\),$/\1/p')
	[ -n "$before" ] || {
		fail "no status after: $1"
		finish
	}
	tries=0
	until [ "$(member samples)" -gt "$before" ]; do
		tries=$((tries + 1))
		[ $tries -lt $((limit * 10)) ] || {
			fail "no more samples after: $1"
			finish
		}
		sleep 0.1
	done
}

# burn PATH: take samples of a program that ends at once.
burn() {
	cp /bin/dash "$1" && chown $user "$1"
	as_user "$1" -c 'i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done'
}

home=$work/home
mkdir "$home"
chown $user "$home"
as_user test -x "$home" || skip "user $user can't reach $work"
as_user test -x "$build/vmopd" || echo "the programs can't be run by user $user, which is not needed"

refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"

# put TYPE PATH: make the file that replaces the program.
put() {
	rm -f "$2"
	case $1 in
	fifo) as_user mkfifo "$2" ;;
	zero) as_user ln -s /dev/zero "$2" ;;
	tty) as_user ln -s /dev/ptmx "$2" ;;
	full) as_user ln -s /dev/full "$2" ;;
	loop) as_user ln -s "$2" "$2" ;;
	link) as_user ln -s /proc/kmsg "$2" ;;
	directory) as_user mkdir "$2" ;;
	sparse) as_user truncate -s 1T "$2" 2>/dev/null || as_user truncate -s 1G "$2" ;;
	empty) as_user touch "$2" ;;
	esac
}

# Several of each: the daemon opens one of them after it was replaced.
for type in fifo zero tty full loop link directory sparse empty; do
	for i in 1 2 3 4; do
		burn "$home/$type-$i"
		put $type "$home/$type-$i"
	done
	sleep 1.2
	goes_on "$type"
done

# A program that is truncated and written again and again while the daemon reads it.
cp /bin/dash "$home/source"
as_user sh -c 'while [ -e "$1" ]; do cp "$1" "$2"; : >"$2"; done' - "$home/source" "$home/changing" 2>/dev/null &
changing=$!
for i in 1 2 3 4 5 6; do
	burn "$home/changing-$i"
	rm "$home/changing-$i"
	ln "$home/changing" "$home/changing-$i" 2>/dev/null || :
	sleep 0.3
done
goes_on "files that change"
rm "$home/source"
wait $changing || :

is "records lost" "$(member lost)" -eq 0
is "failures" "$(member failures)" -eq 0
expect 0 "" timeout $limit "$build/vmopcontrol" --stop
"$build/vmopreport" --session-dir="$sessions" --by=image -f -n >"$work/rows"
is "rows of the programs" "$(grep -c "$home/" "$work/rows")" -ge 1
expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
finish
