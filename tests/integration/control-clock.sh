#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The clock is set a year forward, two back, and by some minutes, while the daemon samples: intervals
# stay in order, `time:` is right, and no saved session is deleted by a wrong clock.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
[ -z "$sanitized" ] || skip "a sanitizer wants to be the first library"
# shellcheck disable=SC2086 # the compiler with its options
${VMOP_CC:-cc} -D_GNU_SOURCE -shared -fPIC -o "$work/set-clock.so" "$src/tests/integration/set-clock.c" -ldl ||
	skip "needs a compiler"
need_perf
set_clock() {
	echo "$1" >"$work/clock.new"
	mv "$work/clock.new" "$work/clock"
}
set_clock 0
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:100Hz
session-dir = $sessions
passive-domains = none
flush-interval = 100ms
keep = 30d
END
mkdir "$sessions"
# It was saved by its time lately, and must stay.
"$build/tests/fixtures/make-session" --seconds=5 "$sessions/20260101T000000.vmop" >/dev/null
LD_PRELOAD=$work/set-clock.so VMOP_TEST_CLOCK=$work/clock "$build/vmopd" --foreground --verbose --start >"$work/log" 2>&1 &
vmopd=$!
trap 'kill $vmopd 2>/dev/null || :; clean_up' EXIT
# wait_for TEXT N: wait until the log has TEXT N times, and store an interval of that time.
wait_for() {
	tries=0
	until [ "$(grep -c "$1" "$work/log")" -ge "$2" ]; do
		if [ $tries -ge 300 ] || ! kill -0 $vmopd 2>/dev/null; then
			cat "$work/log"
			fail "no '$1' in the log"
			finish
		fi
		tries=$((tries + 1))
		sleep 0.1
	done
	sleep 0.2 # some intervals
	expect 0 "" control --dump
}
files() { find "$sessions" -name '*.vmop' | wc -l; }
wait_for sampling 1
set_clock 600
# The clocks are not read at one moment.
wait_for "goes forward by \(599\|60[01]\) s" 1
is "files after ten minutes" "$(files)" -eq 2
set_clock $((366 * 86400))
# The file is there before the next session has read the clock, which must not be set again meanwhile: "saved as" is the
# last line about it.
wait_for "saved as" 1
is "files after a year" "$(files)" -eq 3
set_clock $((-365 * 86400))
wait_for "saved as" 2
is "files after two years back" "$(files)" -eq 4
kill $vmopd
wait $vmopd || true
cat "$work/log"
expect 0 "finished" control --list
cat "$work/out"
[ -e "$sessions/20260101T000000.vmop" ] || fail "a saved session was deleted"
is "files with an error" "$(control --list | grep -cv 'finished\|session  ')" -eq 0

python3 - "$sessions"/*.vmop <<'END' || fail "the times of intervals"
import os, sqlite3, sys, time
year, now, spans = 365 * 86400, time.time(), []
for path in sys.argv[1:]:
    if path.endswith("20260101T000000.vmop"):
        continue
    base = sqlite3.connect(path)
    end = 0
    for start, length in base.execute("SELECT start_ns, len_ns FROM interval ORDER BY id"):
        assert start >= end, "an interval of %s begins before the one before it ends" % path
        assert 0 < length < 60e9
        spans.append((start, length))
        end = start + length
    facts = dict(base.execute("SELECT name, value FROM info WHERE name IN ('start_ns', 'end_ns')"))
    assert int(facts["start_ns"]) <= int(facts["end_ns"]) == end, facts
    print(os.path.basename(path), facts)
spans.sort()
assert all(a[0] + a[1] <= b[0] for a, b in zip(spans, spans[1:])), "files overlap"
near = lambda offset: [s for s, _ in spans if abs(s / 1e9 - now - offset) < 120]
for offset in (0, 600, 366 * 86400, -year):
    assert near(offset), "nothing at %d s" % offset
assert len(spans) == sum(len(near(offset)) for offset in (0, 600, 366 * 86400, -year))
END
# The year is the same for whom asks for a span of time.
then=$(date -u -d '365 days ago' +%Y-%m-%d)
for day in "$then" "$(date -u -d '366 days' +%Y-%m-%d)"; do
	TZ=UTC expect 0 "samples" "$build/vmopreport" --session-dir="$sessions" session:all --by=domain "time:${day}T00:00..${day}T24:00"
done
finish
