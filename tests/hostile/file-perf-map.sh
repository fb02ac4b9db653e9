#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Invalid perf maps of an unprivileged user. The daemon neither waits for them nor opens them, reads
# a bounded part of them, and continues to sample.
# shellcheck source=tests/integration/common.sh disable=SC2016,SC2034,SC2086,SC2317 # inner shells; lists; traps
. "$(dirname "$0")/../integration/common.sh"
need_perf
limit=30
jit=$work/jit-evil
cp "$build/tests/integration/jit" "$jit"
status=0
"$jit" 0 none >/dev/null || status=$?
[ $status -ne 77 ] || skip "no code of this machine is known to the test"

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# put HOW PATH: make the file that replaces the map.
put() {
	case $1 in
	fifo) as_user mkfifo "$2" ;;
	zero) as_user ln -s /dev/zero "$2" ;;
	shadow) as_user ln -s /etc/shadow "$2" ;;
	directory) as_user mkdir "$2" ;;
	sparse) as_user truncate -s 1T "$2" 2>/dev/null || as_user truncate -s 1G "$2" ;;
	large) # more functions than are read, at the address of the code and everywhere else
		# shellcheck disable=SC2016 # awk's
		as_user sh -c 'awk "BEGIN { for (i = 0; i < 3000000; i++) printf \"%x 7fffffffffff e\n\", i }" >"$1"' - "$2"
		;;
	esac
}

refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
maps=
for how in fifo zero shadow directory sparse large; do
	as_user "$jit" 6 none >"$work/$how.pid" &
	until [ -s "$work/$how.pid" ]; do sleep 0.05; done
	map=/tmp/perf-$(cat "$work/$how.pid").map
	maps="$maps $map"
	put $how "$map"
done
remove_maps() {
	ended_with=$?
	# shellcheck disable=SC2086 # one word each
	rm -rf $maps
	return $ended_with
}
trap 'remove_maps; clean_up' EXIT
for i in 1 2 3 4 5 6 7; do
	expect 0 "sampling" timeout $limit "$build/vmopcontrol" --status
	sleep 1
done
before=$(member samples)
sleep 1.5
is "samples after a while" "$(member samples)" -gt "$before"
is "records lost" "$(member lost)" -eq 0
rss=$(control --status --json | sed -n 's/.*"rss_bytes": \([0-9]*\).*/\1/p')
case $(nm "$build/vmopd" 2>/dev/null || :) in
*__asan_*) ;; # a sanitizer's memory use is not meaningful
*) is "the daemon's memory in bytes" "$rss" -lt 268435456 ;;
esac
expect 0 "" timeout $limit "$build/vmopcontrol" --stop
is "bytes of the session" "$(stat -c %s "$sessions/current.vmop")" -lt 100000000
"$build/vmopreport" --session-dir="$sessions" -l -V task:jit-evil >"$work/rows" 2>"$work/err"
cat "$work/err"
for reason in "not a regular file" "too large"; do
	grep -q "$reason" "$work/err" || fail "not said: $reason"
done
expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
finish
