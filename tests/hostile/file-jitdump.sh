#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Invalid jitdumps of an unprivileged user. The daemon neither waits for them nor opens what took
# their place, reads a bounded part of them, keeps a bounded part of that, and continues to sample.
# shellcheck source=tests/integration/common.sh disable=SC2016,SC2034,SC2086,SC2317 # inner shells; lists; traps
. "$(dirname "$0")/../integration/common.sh"
need_perf
limit=30
jitdump=$work/jit-evil
cp "$build/tests/integration/jitdump" "$jitdump"
status=0
"$jitdump" 0 "$work/jit-0.dump" none >/dev/null || status=$?
[ $status -ne 77 ] || skip "no code of this machine is known to the test"

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# put HOW PATH: replace or damage the jitdump of a running program.
put() {
	case $1 in
	fifo | zero | shadow | directory | other) as_user rm "$2" ;;
	esac
	case $1 in
	fifo) as_user mkfifo "$2" ;;
	zero) as_user ln -s /dev/zero "$2" ;;
	shadow) as_user ln -s /etc/shadow "$2" ;;
	directory) as_user mkdir "$2" ;;
	other) as_user sh -c 'echo secret >"$1"' - "$2" ;;
	sparse) as_user truncate -s 1T "$2" 2>/dev/null || as_user truncate -s 1G "$2" ;;
	giant) # a record of almost 4 GiB, which is there
		as_user sh -c 'printf "\2\0\0\0\360\377\377\377\0\0\0\0\0\0\0\0" >>"$1" &&
			truncate -s +4G "$1"' - "$2"
		;;
	promised) # the same, which is not
		as_user sh -c 'printf "\2\0\0\0\360\377\377\377\0\0\0\0\0\0\0\0" >>"$1"' - "$2"
		;;
	shrinking) as_user truncate -s 41 "$2" ;;
	esac
}

refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --callgraph=fp --session-dir="$sessions"
mkdir -m 777 "$work/dumps"
for how in fifo zero shadow directory other sparse giant promised shrinking flood flood2; do
	dump=$work/dumps/$how/jit-1.dump
	mkdir -m 777 "$work/dumps/$how"
	case $how in
	fifo | zero | shadow | directory | other) as_user "$jitdump" 8 "$dump" unmap ;;
	flood*) as_user "$jitdump" 8 "$dump" flood ;;
	*) as_user "$jitdump" 8 "$dump" now ;;
	esac >"$work/$how.pid" &
	echo $! >>"$work/jobs"
	case $how in
	flood*) continue ;;
	esac
	until [ -s "$work/$how.pid" ]; do sleep 0.05; done
	put $how "$dump"
	case $how in
	fifo | zero | shadow | directory | other)
		until grep -q '^State:[[:blank:]]*T' "/proc/$(cat "$work/$how.pid")/status"; do sleep 0.05; done
		kill -CONT "$(cat "$work/$how.pid")"
		;;
	esac
done
for i in 1 2 3 4 5 6 7 8; do
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
while read -r job; do
	wait "$job" || fail "a program ended with $?"
done <"$work/jobs"
"$build/vmopreport" --session-dir="$sessions" -l -V task:jit-evil >"$work/rows" 2>"$work/err"
cat "$work/err"
for reason in "not a regular file" "another file" "malformed record" "too large"; do
	grep -q "$reason" "$work/err" || fail "not said: $reason"
done
! grep -q "secret\|root:" "$work/rows" "$work/err" || fail "what took the place of a jitdump was read"
expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
finish
