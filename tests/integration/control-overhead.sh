#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# max-overhead: many short-lived programs and a low bound lower the rate. The session states it, and
# the shares of a known program are right across the change, by their weights.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
refuse 2 "such as 0.5%" control --setup --max-overhead=much
refuse 2 "between 0 and 19" control --setup --nice=20
expect 0 "" control --setup --max-overhead=0.5%
expect 0 "max-overhead = 0.50%" cat "$VMOP_CONFIG"
expect 0 "" control --setup --max-overhead=off
[ "$(grep -c max-overhead "$VMOP_CONFIG")" -eq 0 ] || fail "it is still in the file"

need_perf
"$build/tests/integration/fork-storm" 1000000 300 /bin/true >/dev/null &
storm=$!
"$build/tests/bench/busy" 60 1 &
busy=$!
trap 'kill $storm $busy 2>/dev/null || :; clean_up' EXIT
cat >"$VMOP_CONFIG" <<END
event = cpu-clock:4000Hz
session-dir = $sessions
max-overhead = 0.01%
flush-interval = 200ms
passive-domains = none
END
expect 0 "at 4000 Hz" control --start
# The second window of five flushes lowers the rate.
until [ "$(control --status --json | sed -n 's/.*"rate_divisor": \([0-9]*\).*/\1/p')" -ge 16 ]; do
	sleep 0.1
done
expect 0 "limit 0.01 %, rate lowered to 1/" control --status
sleep 2
# A file that begins later has the rate in its notes, too.
expect 0 "goes on in a fresh session" control --rotate
expect 0 "" control --shutdown
kill $storm $busy
expect 0 "rate of samples is lowered to 1/" cat "$VMOP_RUNDIR/vmopd.log"
first=$(find "$sessions" -name '2*.vmop')
expect 0 "rate lowered from 4000 Hz to 1000 Hz between" "$build/vmopreport" "session:$first"
expect 0 "Hz since" "$build/vmopreport" "session:$sessions/current.vmop"
expect 0 "rate lowered from 4000 Hz to" control --describe=current
expect 0 "s of CPU, at most" control --describe=current
control --describe=current --json | python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["vmopd"]["cpu_s"] > 0 and facts["vmopd"]["peak_rss_bytes"] > 1 << 20
assert facts["vmopd"]["longest_pause_s"] >= 0
assert "max-overhead" in facts["events"][0]["note"]' || fail "the cost in the description"

# Most samples are from before the change, most of the time is after it.
"$build/vmopreport" --format=csv -l --include-symbols='hot_*' "session:$first" >"$work/hot"
"$build/vmopreport" --format=json --by=mode "session:$first" >"$work/all"
cat "$work/hot"
python3 - "$work/hot" "$work/all" "$(nproc)" \
	"$(fact "$first" start_ns)" "$(fact "$first" end_ns)" <<'END' || fail "the weights"
import csv, json, sys
samples, weight = {"hot_a": 0, "hot_b": 0}, {"hot_a": 0, "hot_b": 0}
for row in csv.DictReader(open(sys.argv[1])):
    samples[row["symbol"]] += int(row["samples"])
    weight[row["symbol"]] += int(row["weight"])
n, total = sum(samples.values()), sum(weight.values())
share = weight["hot_a"] / total
# Kish's number of samples of equal weight that would be as exact: the last ones weigh most.
heaviest = 64 * 250000
half = 4 * (0.75 * 0.25 * heaviest / total) ** 0.5
print("hot_a %.1f %% by weight, bound +- %.1f; %.0f ns a sample" % (100 * share, 100 * half, total / n))
assert total / n > 1.2 * 250000
assert abs(share - 0.75) < half
report = json.load(open(sys.argv[2]))
text = json.dumps(report)
event = report["events"][0]
assert "rate lowered" in event["note"]
# All weights together are the time of all CPUs; without them, half and less of it.
cpus, start, end = map(int, sys.argv[3:6])
part = event["weight"] / (cpus * (end - start))
print("%d samples have the weight of %.3f of all CPUs' time" % (event["samples"], part))
assert event["samples"] * 250000 < 0.7 * event["weight"]
assert 0.8 < part < 1.1
END
finish
