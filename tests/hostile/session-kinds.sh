#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A FIFO, a link, a directory or a device in place of a session's file, or of a file that SQLite
# keeps beside it: the error is one line, and no program waits.
# shellcheck source=tests/hostile/common.sh
. "$(dirname "$0")/common.sh"

mkdir "$work/good"
spare_leak_checks
"$build/tests/fixtures/make-session" --seconds=3 "$work/good/current.vmop" >/dev/null

# put KIND PATH
put() {
	rm -rf "$2"
	case $1 in
	fifo) mkfifo "$2" ;;
	link) ln -s "$work/fifo" "$2" ;;
	dir) mkdir "$2" ;;
	device) mknod "$2" c 1 5 2>/dev/null || return 1 ;;
	esac
}
mkfifo "$work/fifo"
echo "event = cpu-clock:100Hz" >"$VMOP_CONFIG"

# quick STATUSES TEXT COMMAND...: check that COMMAND ends in time with one of the statuses, and that
# a failure prints one line.
quick() {
	statuses=$1 text=$2
	shift 2
	echo "expect exit $statuses of: $*"
	got=0
	bounded "$@" >"$work/out" 2>&1 </dev/null || got=$?
	case " $statuses " in
	*" $got "*) ;;
	*) fail "exit $got: $(cat "$work/out")" ;;
	esac
	[ "$got" -eq 0 ] || grep -qF -e "$text" "$work/out" || fail "no \"$text\": $(cat "$work/out")"
	[ "$got" -eq 0 ] || is "lines of it" "$(grep -vc 'sampling cpu-clock' "$work/out")" -eq 1
}

# shellcheck disable=SC2154 # of common.sh
for owner in 0 "$evil_uid"; do
	for suffix in '' -journal -wal -shm; do
		for kind in fifo link dir device; do
			rm -rf "$work/s"
			cp -r "$work/good" "$work/s"
			put $kind "$work/s/current.vmop$suffix" || continue
			chown -h "$owner" "$work/s/current.vmop$suffix"
			chown "$owner" "$work/s"
			# The file is moved unchanged, or refused in one line.
			quick "0 3" "$work/s" "$build/vmopcontrol" --save=x --session-dir="$work/s"
			rm -rf "$work/s"
			cp -r "$work/good" "$work/s"
			put $kind "$work/s/current.vmop$suffix"
			chown -h "$owner" "$work/s/current.vmop$suffix"
			chown "$owner" "$work/s"
			quick "0 3" "" "$build/vmopreport" --session-dir="$work/s"
			# shellcheck disable=SC2086,SC2154 # words of common.sh
			quick "0 3" "" $as_evil "$build/vmopreport" --session-dir="$work/s"
			quick "0 1 3" "" "$build/vmopreport" --session-dir="$work/s" --list-sessions
			is "the daemon's files" "$(find "$work/s" ! -name 'current.vmop*' ! -name s)" = ""
			quick "0 3" "$work/s" "$build/vmopd" -f --start --duration=100ms \
				--session-dir="$work/s"
		done
	done
done
finish
