#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Gates: --fail-if, --fail-if-changed and their baselines, exit statuses, and bad input.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
# rows NAME OPTION...: make a session of the rows on stdin, with blanks for tabs.
rows() {
	name=$1
	shift
	tr ' ' '\t' | "$build/tests/fixtures/make-rows" "$@" "$sessions/$name.vmop"
}
rows before --seconds=10 <<'ROWS'
host anon cg spmv.constprop.0 cpu-clock 6000 1000000
host anon cg dot cpu-clock 3000 1000000
host kernel kernel clear_page cpu-clock 900 1000000
host module kvm enter cpu-clock 100 1000000
ROWS
rows after --seconds=10 <<'ROWS'
host anon cg spmv cpu-clock 6010 1000000
host anon cg dot cpu-clock 2000 1000000
host kernel kernel clear_page cpu-clock 1890 1000000
host module kvm enter cpu-clock 100 1000000
ROWS
rows counters --seconds=10 <<'ROWS'
host anon cg spmv cycles 1000 1000
host anon cg spmv instructions 2000 1000
ROWS
rows few <<'ROWS'
host anon cg spmv cpu-clock 6 1000000
host anon cg dot cpu-clock 4 1000000
ROWS
report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
gate() {
	report -q "$@"
}

# ---- bounds -----------------------------------------------------------------------------

expect 0 "" gate session:after --fail-if='symbol:clear* > 20%'
is "no output when all is well" "$(wc -c <"$work/out")" -eq 0
refuse 4 "symbol:clear* > 5%: it is 18.9 % of cpu-clock" gate session:after --fail-if='symbol:clear* > 5%'
refuse 4 "it is 60.1 %" gate session:after --fail-if='symbol:spmv >= 60.1%'
refuse 4 "it is 60 %" gate session:before --fail-if='symbol:spmv > 59%' # also its clones
refuse 4 "it is 80.1 %" gate session:after --fail-if='image:cg > 80%'
refuse 4 "it is 18.9 %" gate session:after --fail-if='image:[[]kernel] > 1%'
refuse 4 "domain:host < 100%: it is 81.1 %" gate session:after -% image:cg,'[[]kvm]' --fail-if='domain:host < 100%'
refuse 4 "domain:host has 100 %" gate session:after --fail-if='each domain:* > 99%'
expect 4 "each symbol:* > 15%: symbol:clear_page image:[kernel] domain:host has 18.9 %" gate \
	session:after --fail-if='each symbol:* > 15%'
is "a line for each row" "$(wc -l <"$work/out")" -eq 3
expect 0 "" gate session:after --fail-if='task:nosuch > 0%' --fail-if='lost > 0' \
	--fail-if='lost > 0%' --fail-if='lost:throttled > 0' --fail-if='unattributed > 0%'
expect 0 "" gate session:counters --fail-if='ipc < 1.9'
refuse 4 "ipc < 2.1: it is 2" gate session:counters --fail-if='ipc < 2.1'
refuse 4 "x > 3: it is 4" gate session:counters --ratio='x=instructions/cycles:2' --fail-if='x > 3'
expect 4 "dot > 1%: it is 20 %" report session:after --fail-if='symbol:dot > 1%'
expect 4 "losses: none" report session:after --fail-if='symbol:dot > 1%'
report session:after --fail-if='symbol:dot > 1%' >"$work/stdout" 2>/dev/null || true
is "the report is as without a gate" "$(cksum <"$work/stdout")" = "$(report session:after | cksum)"

"$build/tests/fixtures/make-session" --seconds=60 "$sessions/lossy.vmop" >/dev/null
losses=$(report session:lossy --format=json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sum(l["count"] for l in report["losses"] if l["name"] in ("lost", "table-full")))') || losses=0
if [ "$losses" -gt 0 ]; then
	refuse 4 "lost > 0: $losses beside" gate session:lossy --fail-if='lost > 0'
fi
refuse 4 "unattributed > 0.01%: it is 0.05 %" gate session:lossy --fail-if='unattributed > 0.01%'

# ---- changes ----------------------------------------------------------------------------

expect 0 "" gate -l session:before --fail-if-changed=0pp session:before
expect 0 "" gate -l session:after --fail-if-changed=11pp session:before
expect 4 "changed: symbol:clear_page image:[kernel] domain:host has 18.90 % of cpu-clock, before 9.00 %: +9.90 points" \
	gate -l session:after --fail-if-changed=2pp,25% session:before
is "changed rows, clones joined" "$(grep -c changed: "$work/out")" -eq 2
refuse 4 "+110 %" gate -l session:after --fail-if-changed=2pp,50% session:before
expect 0 "" gate -l session:few --fail-if-changed=0pp session:before # chance
report -l session:before --format=json -o "$work/before.json"
expect 4 "+9.90 points" gate -l session:after --fail-if-changed=2pp,25% "$work/before.json"
expect 4 "image:cg domain:host has 80.10 %" gate session:after --fail-if-changed=2pp "$work/before.json"
expect 0 "" gate -l session:before --fail-if-changed=0pp "$work/before.json"
expect 4 "+9.90 points" gate -l --fail-if-changed=2pp "session:before time:..+10s" session:after
expect 4 "image:[kernel]" report session:after --fail-if-changed=2pp session:before

# Equal loads, which differ by chance: 12 comparisons of some hundred rows.
for seed in 1 2 3 4; do
	"$build/tests/fixtures/make-session" --seconds=20 --seed=$seed "$sessions/seed$seed.vmop" >/dev/null
done
for pair in "1 2" "3 4" "1 3" "2 4" "1 4" "2 3"; do
	expect 0 "" gate -l "session:seed${pair% *}" --fail-if-changed=0pp "session:seed${pair#* }"
	expect 0 "" gate "session:seed${pair% *}" --fail-if-changed=0pp "session:seed${pair#* }"
done

# ---- the same hours of the days before --------------------------------------------------

mkdir "$work/days"
day() { # day N [OPTION...]: the fixture's day N, five minutes from 03:00
	n=$1
	shift
	"$build/tests/fixtures/make-session" --seconds=300 --rate=20 --start=$((n * 86400 + 17160)) \
		"$@" "$work/days/day$n.vmop" >/dev/null
}
for n in 1 2 4 5; do # the third is missing
	day $n --seed=$n
done
nightly() {
	"$build/vmopreport" --session-dir="$work/days" -q "$@"
}
expect 0 "" nightly 'time:2023-11-20 03:00..03:20' --fail-if-changed=0pp before:3d
expect 0 "" nightly time:2023-11-20 --fail-if-changed=0pp before:7d
refuse 2 "no session has samples of the same hours on 1 days before" nightly \
	'time:2023-11-19 03:00..03:20' --fail-if-changed=0pp before:1d
expect 1 "no samples" nightly 'time:2023-11-18 03:00..03:20' --fail-if='lost > 0'
day 6 --load=busy --seed=6
expect 4 "changed: " nightly time:2023-11-21 --fail-if-changed=2pp,25% before:7d

# ---- bad input --------------------------------------------------------------------------

refuse 2 "--fail-if='symbl:x > 5%': accepted: " report --fail-if='symbl:x > 5%'
refuse 2 "--fail-if='bogus > 5': accepted: " report --fail-if='bogus > 5'
refuse 2 "put % behind the number" report --fail-if='symbol:x > 5'
refuse 2 "the events are: cpu-clock" gate session:after --fail-if='ipc > 1'
refuse 2 "--fail-if='nosuch > 1'" gate session:after --fail-if='nosuch > 1'
refuse 2 "--fail-if-changed=2: accepted: Npp" report --fail-if-changed=2 session:before
refuse 2 "needs a baseline behind it" report session:after --fail-if-changed=2pp
refuse 2 "needs a baseline behind it" report session:after --fail-if-changed=2pp -l
for days in 0d -1d 1000000000000d 1 d 367d 1w; do
	refuse 2 "accepted: before:1d to before:366d" report session:after \
		--fail-if-changed=2pp "before:$days"
done
refuse 2 "unknown profile spec" report session:after --fail-if-changed=2pp "sesion:before"
refuse 2 "is not a time" report session:after --fail-if-changed=2pp "time:tomorrow"
refuse 3 "no session 'nosuch'" gate session:after --fail-if-changed=2pp session:nosuch
refuse 3 "baseline $work/nosuch.json: No such file" gate session:after --fail-if-changed=2pp "$work/nosuch.json"
refuse 2 "nothing to compare: the baseline (session:counters) has no samples of cpu-clock" \
	gate session:after --fail-if-changed=2pp session:counters
refuse 2 "nothing to compare: the baseline (session:before time:+1h..+2h) has no such samples" \
	gate session:after --fail-if-changed=2pp "session:before time:+1h..+2h"
refuse 1 "no samples of the session match" gate session:after time:+1h.. --fail-if='lost > 0'
printf '{"session": {}, "rows": [' >"$work/cut.json"
refuse 3 "cut.json" gate session:after --fail-if-changed=2pp "$work/cut.json"
report session:before --top=1 --format=json -o "$work/top.json"
refuse 2 "hidden_rows" gate session:after --fail-if-changed=2pp "$work/top.json"
report session:before --format=json -o "$work/images.json"
refuse 2 "write it with --symbols" gate -l session:after --fail-if-changed=2pp "$work/images.json"
sed 's/"period": [0-9]*/"period": 4711/' "$work/before.json" >"$work/period.json"
refuse 2 "normalised compares their shares" gate -l session:after --fail-if-changed=2pp "$work/period.json"
expect 4 "+9.90 points" gate -l session:after --fail-if-changed=2pp,normalised "$work/period.json"
refuse 2 "--quiet needs --fail-if" report -q
refuse 2 "a gate does not go with { SPEC... }" report --fail-if='lost > 0' '{ session:before }' '{ session:after }'
refuse 2 "a gate does not go with --list-sessions" report --list-sessions --fail-if='lost > 0'
refuse 2 "--by=cpu" report --by=cpu --fail-if-changed=2pp session:before
exit $failed
