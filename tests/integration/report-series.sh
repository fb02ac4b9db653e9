#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Series over time: sums, steps of local time, coarse detail, formats, and bad input.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

command -v python3 >/dev/null || skip "no python3"
mkdir -p "$sessions"
make_session() {
	name=$1
	shift
	"$build/tests/fixtures/make-session" "$@" "$sessions/$name.vmop" >/dev/null
}
report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
# series PYTHON ARGUMENT...: evaluate PYTHON over the rows of a series in JSON.
series() {
	python=$1
	shift
	report --format=json "$@" 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(eval(sys.argv[1]))' "$python"
}
make_session day --seconds=600 --rate=100
all=$(report session:day --by=domain --accounting=cpu --format=json | python3 -c '
import json, sys
print(sum(row["samples"] for row in json.load(sys.stdin)["rows"]))')

# ---- sums ---------------------------------------------------------------------------------

sum='sum(row["samples"] for row in rows)'
is "all samples, by step" "$(series "$sum" session:day --over=time:1m)" -eq "$all"
for by in domain image symbol task cgroup session domain,task; do
	is "all samples, by step and $by" "$(series "$sum" session:day --over=time:1m --by=$by)" -eq "$all"
done
is "all samples, by step and symbol" "$(series "$sum" session:day --over=time:5m -l)" -eq "$all"
is "steps" "$(series 'len(rows)' session:day --over=time:1m)" -eq 10
is "chosen steps" "$(series 'len(rows)' session:day --over=time)" -eq 40
is "all samples, chosen steps" "$(series "$sum" session:day --over=time)" -eq "$all"
g1=$(report session:day domain:g1 --by=domain --accounting=cpu --format=json | python3 -c '
import json, sys
print(json.load(sys.stdin)["rows"][0]["samples"])')
is "a domain's samples" "$(series "$sum" session:day --over=time:1m domain:g1)" -eq "$g1"
is "its share is of the whole step" \
	"$(series '5 < min(row["percent"] for row in rows) and max(row["percent"] for row in rows) < 20' \
		session:day --over=time:1m domain:g1)" = True
is "shares of a step" "$(series 'round(sum(row["percent"] for row in rows), 3)' session:day \
	--over=time:1m --by=image)" = 1000.0
is "the time recorded" "$(series 'sum(row["recorded_ns"] for row in rows)' session:day --over=time:5m)" \
	-eq 600000000000
is "the rate" "$(series 'round(rows[0]["per_second"], 4)' session:day --over=time:5m)" = 0.1
is "the first of each step" "$(series 'len(rows)' session:day --over=time:1m -l --top=2)" -eq 20
is "a function" "$(series 'set(row["symbol"] for row in rows)' session:day --over=time:1m -l \
	--include-symbols=vmop_fixture_hot)" = "{'vmop_fixture_hot'}"
is "steps without samples" "$(series '[row["samples"] for row in rows].count(0)' session:day \
	--over=time:10s domain:g2)" -gt 0
is "part of the time" "$(series "$sum" session:day --over=time:1m time:+1m..+3m)" -eq \
	"$(series "$sum" session:day --over=time:10s time:+1m..+3m)"

# ---- several sessions -----------------------------------------------------------------------

make_session next --seconds=300 --start=900 --rate=100 --seed=2
cp "$sessions/day.vmop" "$sessions/copy.vmop"
is "two sessions, one twice" "$(series "$sum" session:all --over=time:5m)" -eq \
	$((all + $(series "$sum" session:next --over=time:5m)))
is "the gap has no row" "$(series '[row["time"][11:] for row in rows]' session:all --over=time:5m)" = \
	"['22:10', '22:15', '22:20', '22:25', '22:30']"
is "intervals run forwards" "$(series 'all(a["to_ns"] <= b["from_ns"] for a, b in zip(rows, rows[1:]))' \
	session:all --over=time:1m)" = True
rm "$sessions/copy.vmop" "$sessions/next.vmop"

# ---- detail ---------------------------------------------------------------------------------

make_session rolled --seconds=10800 --rate=10 --roll-up
is "what is rolled up" "$(series "$sum" session:rolled --over=time:10s)" -eq \
	"$(series "$sum" session:rolled --over=time:1h)"
expect 0 "are longer: they are stored by intervals of up to" report session:rolled --over=time:10s
expect 0 "detail" report session:rolled --over=time:10s
is "rows of the detail that there is" \
	"$(series 'all(row["detail_ns"] <= row["to_ns"] - row["from_ns"] for row in rows)' \
		session:rolled --over=time:10s)" = True

# ---- changes of daylight saving ----------------------------------------------------------------

berlin="CET-1CEST,M3.5.0,M10.5.0/3"
make_session autumn --seconds=14400 --rate=2 --start=$((1729990800 - 7200 - 1700000040)) # 2024-10-27 01:00 CEST
TZ=$berlin report session:autumn --over=time:1h >"$work/table"
is "the hour that happens twice" "$(grep -c '^2024-10-27 02:00 +0[12]00' "$work/table")" -eq 2
is "hours" "$(TZ=$berlin series 'len(rows)' session:autumn --over=time:1h)" -eq 4
is "ISO 8601" "$(TZ=$berlin series '[row["from"][11:] for row in rows]' session:autumn --over=time:1h)" = \
	"['01:00:00+02:00', '02:00:00+02:00', '02:00:00+01:00', '03:00:00+01:00']"
is "a day of 25 hours" "$(TZ=$berlin series '(rows[0]["to_ns"] - rows[0]["from_ns"]) // 10**9' \
	session:autumn --over=time:1d)" -eq 90000
TZ=$berlin expect 0 "2024-10-27  25 h" report session:autumn --over=time:1d
make_session spring --seconds=7200 --rate=2 --start=$((1711846800 - 3600 - 1700000040)) # 2024-03-31 01:00 CET
is "the hour that never happens" "$(TZ=$berlin series '[row["time"][11:16] for row in rows]' \
	session:spring --over=time:1h)" = "['01:00', '03:00']"
is "stored as UTC" "$(TZ=$berlin series 'rows[1]["from_ns"]' session:spring --over=time:1h)" -eq \
	1711846800000000000

# ---- formats and bad input -----------------------------------------------------------------------

is "CSV" "$(report session:day --over=time:5m --by=domain --format=csv 2>/dev/null | python3 -c '
import csv, sys
print(sum(int(row["samples"]) for row in csv.DictReader(sys.stdin, strict=True)))')" -eq "$all"
expect 0 "steps of 5 min, local time" report session:day --over=time:5m
expect 4 "domain:g1 > 1%" report session:day --over=time:5m --fail-if='domain:g1 > 1%'
for step in 0s -1s 7s 1000000000000s 367d 0.5s x; do
	refuse 2 "with a step that divides a day" report session:day "--over=time:$step"
done
refuse 2 "--over=symbol: accepted: time" report session:day --over=symbol
refuse 2 "--over does not go with" report session:day --over=time --format=html
refuse 2 "--over does not go with" report session:day --over=time -c
refuse 2 "--over does not go with --details" report session:day --over=time -d
refuse 2 "--over does not go with --by=cpu" report session:day --over=time --by=cpu
refuse 2 "--over does not go with { SPEC... }" report --over=time '{ session:day }' '{ session:rolled }'
refuse 1 "no samples" report session:day --over=time time:+2h..
make_session long --seconds=70000 --rate=1
refuse 2 "gives more than 65536 steps" report session:long --over=time:1s
exit $failed
