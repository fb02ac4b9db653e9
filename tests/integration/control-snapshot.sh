#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A reader that holds a snapshot of the session for long: the WAL has a bound, --status names the reader, no
# sample is lost, and the snapshot stays whole.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
command -v python3 >/dev/null || skip "no python3"
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:4000Hz
session-dir = $sessions
separate = all
rollup = off
max-size = 64M
flush-interval = 100ms
END
"$build/tests/integration/fork-storm" 1000000 200 /bin/true >/dev/null &
storm=$!
trap 'kill $storm 2>/dev/null || :; clean_up' EXIT
refuse 0 "sampling" control --start
pid=$(daemon_pid)
mkfifo "$work/go-on"
# A report that is stopped in the middle holds its snapshot in the same way; where it stops is chance.
cat >"$work/hold.py" <<'END'
import sqlite3
import sys
base = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
base.execute("BEGIN")
def samples():
    return base.execute("SELECT total(samples) FROM chunk").fetchone()[0]
begun = samples()
print("held", flush=True)
open(sys.argv[2]).read()
print("same" if samples() == begun else "other", flush=True)
END
sleep 1
python3 "$work/hold.py" "$sessions/current.vmop" "$work/go-on" >"$work/held" 2>&1 &
holder=$!
trap 'kill $holder $storm 2>/dev/null || :; clean_up' EXIT
until grep -q held "$work/held" || ! kill -0 $holder 2>/dev/null; do sleep 0.05; done
until [ -n "$(member wal_readers)" ]; do sleep 0.2; done
is "the reader" "$(member wal_readers)" = "python3 (pid $holder)"
expect 0 "held since 20" control --status
expect 0 "by python3 (pid $holder)" control --status
longest=0
until [ "$(find "$sessions" -name '2*.vmop' | wc -l)" -ge 1 ]; do
	wal=$(stat -c %s "$sessions/current.vmop-wal" 2>/dev/null || echo 0)
	[ "$wal" -lt "$longest" ] || longest=$wal
	sleep 0.1
done
echo "the longest WAL: $longest bytes"
is "bytes of the WAL" "$longest" -lt $((24 << 20))
is "the daemon" "$(daemon_pid)" = "$pid"
saved=$(find "$sessions" -name '2*.vmop')
is "WAL beside the saved session, as it is read" "$(find "$sessions" -name '2*.vmop-wal' | wc -l)" -eq 1
until grep -q "a new session begins" "$VMOP_RUNDIR/vmopd.log"; do sleep 0.1; done
expect 0 "because python3 (pid $holder) has held a snapshot for" cat "$VMOP_RUNDIR/vmopd.log"
sleep 1
is "the WAL of the new session is held" "$(member wal_held_since)" = ""
samples=$(member samples)
expect 0 "" control --dump
is "samples stored" "$(fact "$sessions/current.vmop" samples)" -ge "$samples"
is "end of the saved session, start of the next" "$(fact "$saved" end_ns)" = \
	"$(fact "$sessions/current.vmop" start_ns)"
is "saved sessions" "$(find "$sessions" -name '2*.vmop' | wc -l)" -eq 1
is "lost" "$(member lost)" -eq 0
is "failures" "$(member failures)" -eq 0
echo >"$work/go-on"
wait $holder || :
is "the snapshot" "$(tail -n 1 "$work/held")" = same
expect 0 "" control --shutdown
# The next start completes the saved session.
refuse 0 "sampling" control --start
i=0
while [ -e "$saved-wal" ] && [ $i -lt 100 ]; do
	i=$((i + 1))
	sleep 0.1
done
is "files beside the saved session" "$(find "$sessions" -name '2*.vmop-*')" = ""
expect 0 "" control --shutdown
finish
