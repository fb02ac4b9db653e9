#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Compare two recordings of this machine: of a program, and of the same with one function made slower.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export LC_ALL=C
command -v python3 >/dev/null || skip "no python3"
need_perf
# Under a name of its own, and without the build-id that makes equal files one image: other tests run the
# same program at the same time.
objcopy -R .note.gnu.build-id "$build/tests/fixtures/slower" "$work/slower-real"

# record NAME FACTOR: sample the program, and keep its own measurement.
record() {
	control --run --session-dir="$sessions" -- \
		"$work/slower-real" 2400 "$2" >"$work/$1" 2>"$work/err" || {
		cat "$work/err"
		fail "recording $1"
	}
	control --save="$1" >/dev/null 2>&1 || fail "saving $1"
}
record before 1
record after 2
record again 2
compare() {
	"$build/vmopcompare" --session-dir="$sessions" --spec=task:slower-real --spec=image:slower-real "$@"
}
compare --per=1 before after
compare --per=1 --format=json before after >"$work/changed.json"
compare --format=json after again >"$work/same.json"
compare --per=1,2 --format=json before after >"$work/work.json"
python3 - "$work" <<'CHECK' || fail "the differences"
import json, sys
work = sys.argv[1]
took = {run: {line.split()[0]: float(line.split()[1]) for line in open(work + "/" + run) if line[0] in "cs"}
        for run in ("before", "after", "again")}
rows = lambda name: {row["symbol"]: row for row in json.load(open(work + "/" + name + ".json"))["rows"]}
def check(row, true, what):
    low, high = row["ratio_low_b"], row["ratio_b"] and row["ratio_high_b"]
    print("%s: true ratio %.3f, %.3f (%.3f to %.3f) found, %s" %
          (what, true, row["ratio_b"], low, high, row["change_b"]))
    # Half as much again on each side: of so wide intervals, 1 in 10,000 misses.
    assert low - (row["ratio_b"] - low) / 2 < true < high + (high - row["ratio_b"]) / 2
found = rows("changed")
check(found["changed"], took["after"]["changed"] / took["before"]["changed"], "changed")
check(found["same"], took["after"]["same"] / took["before"]["same"], "same")
assert found["changed"]["change_b"] == "more"
halved = rows("work")
assert abs(halved["changed"]["ratio_b"] * 2 - found["changed"]["ratio_b"]) < 0.001
share = rows("same")
part = lambda run: took[run]["changed"] / (took[run]["changed"] + took[run]["same"])
check(share["changed"], part("again") / part("after"), "two runs of the same")
CHECK
finish
