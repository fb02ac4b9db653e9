#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A disk whose every sync takes a quarter of a second: the sampling thread does not wait for it, not when it rotates,
# saves, resets and removes old sessions either. strace delays the syncs, and shows the thread of each.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
command -v strace >/dev/null || skip "no strace"
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:4000Hz
session-dir = $sessions
separate = all
rollup = off
flush-interval = 100ms
END
"$build/tests/integration/fork-storm" 1000000 200 /bin/true >/dev/null &
storm=$!
trap 'kill $storm 2>/dev/null || :; clean_up' EXIT
refuse 0 "sampling" control --start
pid=$(daemon_pid)
strace -f -o "$work/syncs" -e trace=fdatasync,fsync,unlink,unlinkat -e inject=fdatasync,fsync:delay_exit=250000 -p "$pid" \
	2>"$work/strace" &
tracer=$!
trap 'kill $tracer $storm 2>/dev/null || :; clean_up' EXIT
until grep -q attached "$work/strace" || ! kill -0 $tracer 2>/dev/null; do sleep 0.05; done
kill -0 $tracer 2>/dev/null || skip "strace: $(cat "$work/strace")"
# A checkpoint: the WAL, the file, and the header of the next WAL.
until [ "$(grep -c sync "$work/syncs")" -ge 6 ]; do sleep 0.2; done
# patiently ACTION: strace stops vmopd at each of its system calls, so that a checkpoint can take longer than
# vmopcontrol waits.
patiently() {
	until control "$1" >"$work/out" 2>&1; do
		grep -q "try again" "$work/out" || fail "$1: $(cat "$work/out")"
		cat "$work/out"
	done
}
samples=$(member samples)
patiently --save=one
is "samples saved" "$(fact "$sessions/one.vmop" samples)" -ge "$samples"
is "files beside the saved one" "$(find "$sessions" -name 'one.vmop-*')" = ""
patiently --rotate
patiently --reset
# vmopcontrol waits ten seconds for the other thread, this test longer.
until [ "$(find "$sessions" -name '*.vmop*' ! -name 'current.vmop-*' | wc -l)" -eq 3 ]; do sleep 0.2; done
# strace stops vmopd at each of its system calls, so that this pause is longer than the disk's.
echo "longest pause: $(member longest_pause_s) s; lost: $(member lost)"
kill $tracer
wait $tracer || :
is "syncs of the sampling thread" "$(grep -c "^$pid .*sync" "$work/syncs")" -eq 0
is "syncs of other threads" "$(grep -v "^$pid " "$work/syncs" | grep -c sync)" -ge 20
# It removes second names of the files beside a session, which frees no block.
is "other files that it removes" "$(grep "^$pid .*unlink" "$work/syncs" | grep -vc -e '-\(shm\|wal\|journal\)"')" -eq 0
is "failures" "$(member failures)" -eq 0
wal=$(stat -c %s "$sessions/current.vmop-wal")
is "bytes of the WAL" "$wal" -lt 10000000
samples=$(member samples)
expect 0 "" control --dump
is "samples stored" "$(fact "$sessions/current.vmop" samples)" -ge "$samples"
expect 0 "" control --shutdown
is "samples of the finished session" "$(fact "$sessions/current.vmop" samples)" -ge "$samples"
finish
