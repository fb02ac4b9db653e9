#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copies of a session's files, taken at any moment of a real recording, as a disk has them after the
# power is cut: each opens, is whole, and lacks at most the interval that was being written.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
"$build/tests/integration/fork-storm" 1000000 100 /bin/true >/dev/null &
storm=$!
trap 'kill $storm 2>/dev/null || :; clean_up' EXIT
printf 'flush-interval = 100ms\nladder = 100ms:1s,500ms:2s,1s\npassive-domains = none\n' >"$VMOP_CONFIG"
expect 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
pid=$(daemon_pid)
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	sleep "0.$((i * 37 % 20 + 10))"
	mkdir "$work/copy-$i"
	kill -STOP "$pid"
	# Not the -shm, which no power cut leaves.
	cp "$sessions/current.vmop" "$work/copy-$i/"
	[ ! -e "$sessions/current.vmop-wal" ] || cp "$sessions/current.vmop-wal" "$work/copy-$i/"
	kill -CONT "$pid"
done
expect 0 "" control --shutdown
kill $storm
most=0 intervals=0
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	# It checks the whole file: every blob, all sums and references.
	"$build/tests/integration/session-facts" "$work/copy-$i/current.vmop" >"$work/facts" || {
		fail "copy $i: $(tail -n 1 "$work/facts")"
		continue
	}
	samples=$(sed -n 's/^samples //p' "$work/facts")
	intervals=$(sed -n 's/^intervals //p' "$work/facts")
	[ "$samples" -ge "$most" ] || fail "copy $i has fewer samples than the one before"
	most=$samples
	"$build/vmopreport" "session:$work/copy-$i/current.vmop" >"$work/out" 2>&1 || fail "copy $i: $(cat "$work/out")"
done
is "samples of the last copy" "$most" -gt 0
is "its intervals" "$intervals" -gt 1
is "samples of the session" "$(fact "$sessions/current.vmop" samples)" -ge "$most"
# A daemon that starts completes such a file.
cp -r "$work/copy-12" "$work/again"
expect 0 "sampling" control --start --session-dir="$work/again"
expect 0 "" control --shutdown
is "files" "$(find "$work/again" -name '*.vmop' | wc -l)" -eq 2
for file in "$work/again"/2*.vmop; do
	is "samples of the completed copy" "$(fact "$file" samples)" -eq "$most"
done
finish
