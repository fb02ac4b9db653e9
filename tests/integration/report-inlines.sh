#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopreport --inlines: functions that the compiler inlined are frames of the stacks, in each report
# of stacks, within its bound of CPU time.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
need_perf
export TZ=UTC LC_ALL=C

# Copies without build-ids, so that no other file stands for them.
objcopy -R .note.gnu.build-id "$build/tests/fixtures/inlines" "$work/inlines" 2>"$work/err" ||
	skip "$(cat "$work/err")"
strip -R .note.gnu.build-id -o "$work/plain" "$build/tests/fixtures/inlines"
control --run --callgraph --event=cpu-clock:999Hz --session-dir="$sessions" -- \
	sh -c "'$work/inlines' 500; '$work/plain' 500" >"$work/out" 2>&1 || fail "$(cat "$work/out")"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

# count PATTERN: print the samples of the folded stacks in $work/out that match.
count() {
	awk -v pattern="$1" '$0 ~ pattern { n += $NF } END { print n + 0 }' "$work/out"
}

# ---- folded ----
report --format=folded task:inlines >"$work/out" 2>"$work/err"
outer=$(count ';main;run_caller;run_outer ') other=$(count ';main;run_other ')
total=$(count .)
is "samples in the functions of the program" "$outer" -ge 100
is "samples in the other file's" "$other" -ge 20
report --format=folded --inlines task:inlines >"$work/out" 2>"$work/err"
is "samples with inlined functions" "$(count .)" = "$total"
is "the chain of the source" \
	"$(count ';main;run_caller;calls_outer_\[i];run_outer;between_\[i];innermost_\[i] ')" -ge $((outer * 9 / 10))
is "in the other file" "$(count ';main;run_other;innermost_\[i] ')" -ge $((other * 9 / 10))
is "callers without their inlined functions" "$(count ';run_caller;run_outer')" -eq 0
if grep -q 'not looked up' "$work/err"; then fail "the time did not suffice: $(cat "$work/err")"; fi

# ---- the other reports ----
inlined=$(count 'innermost_\[i] ')
# self FILE: print the own samples of innermost (inlined) in a CSV report.
self() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$(at["symbol"]) == "innermost (inlined)" { print $(at["self_samples"]) }' "$1" | sort -n | tail -n 1
}
report --callgraph --inlines task:inlines >"$work/out" 2>&1
grep -q 'innermost (inlined)' "$work/out" || fail "--callgraph: $(cat "$work/out")"
report --callgraph --inlines --format=csv task:inlines >"$work/csv" 2>/dev/null
is "--callgraph: own samples" "$(self "$work/csv")" = "$inlined"
report --tree=callers --inlines -n task:inlines >"$work/out" 2>&1
for function in 'calls_outer (inlined)' 'between (inlined)' 'innermost (inlined)'; do
	grep -qF "$function" "$work/out" || fail "--tree: no $function in $(cat "$work/out")"
done
report --tree=callees --inlines -n task:inlines >"$work/out" 2>&1
grep -qF 'innermost (inlined)' "$work/out" || fail "--tree=callees: $(cat "$work/out")"
report --symbols --children --inlines --format=csv task:inlines >"$work/out" 2>/dev/null
awk -F, -v want="$inlined" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$(at["symbol"]) == "innermost (inlined)" && $(at["total_samples"]) >= want && $(at["address"]) == "" {
		found = 1 }
	END { exit !found }' "$work/out" || fail "--children: $(cat "$work/out")"
report --format=flamegraph --inlines task:inlines >"$work/out" 2>/dev/null
grep -qF 'between (inlined)' "$work/out" || fail "no inlined function in the flame graph"
# self_json FORMAT: print the own samples of innermost (inlined) in a file with times.
self_json() {
	report --format="$1" --inlines -o "$work/timed" task:inlines 2>/dev/null
	python3 - "$1" "$work/timed" <<'PYTHON'
import json, re, sys
text = open(sys.argv[2]).read()
name = "innermost (inlined)"
if sys.argv[1] == "html":
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    event = data["events"][0]
    names = [data["texts"][row[1]] for row in event["rows"]]
    rows = [row for row, of in zip(event["rows"], names) if of == name]
    step = 3 if event["weight_unit"] else 2
    assert all(sum(row[8][1::step]) == row[4] for row in rows), "times differ from the sum"
    boxes = [box for box in event["boxes"] if data["texts"][box[1]] == name]
    assert sum(box[4] for box in boxes) == sum(row[4] for row in rows), "boxes"
    print(sum(row[4] for row in rows))
else:
    weight = total = 0
    for thread in json.loads(text)["threads"]:
        for stack, own in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            func = thread["frameTable"]["func"][thread["stackTable"]["frame"][stack]]
            total += own
            if thread["stringArray"][thread["funcTable"]["name"][func]] == name:
                weight += own
    print(round(weight * 999 / 1000))  # a sample weighs 1.001 ms
PYTHON
}
is "the page: own samples" "$(self_json html)" = "$inlined"
is "firefox: own samples" "$(self_json firefox)" = "$inlined"
if report --format=pprof --inlines -o "$work/p.pb.gz" task:inlines 2>"$work/err"; then
	# Several lines of one location: the inlined function has no location of its own.
	if command -v go >/dev/null; then
		HOME=$work go tool pprof -traces -sample_index=samples "$work/p.pb.gz" >"$work/out" 2>"$work/err" ||
			fail "$(cat "$work/err")"
		for function in innermost between run_outer calls_outer run_caller; do
			grep -q " $function" "$work/out" || fail "pprof: no $function in $(cat "$work/out")"
		done
		HOME=$work go tool pprof -raw "$work/p.pb.gz" >"$work/out" 2>"$work/err"
		grep -A 2 '[0-9a-f] .*innermost' "$work/out" | grep -q between ||
			fail "pprof: innermost is not in a location with between: $(cat "$work/out")"
	else
		echo "not tested: no go, so nothing read the profile"
	fi
else
	grep -q 'built without' "$work/err" || fail "$(cat "$work/err")"
fi

# ---- bounds, and programs without DWARF ----
report --format=folded task:inlines >"$work/expected" 2>/dev/null
report --format=folded --inlines=0 task:inlines >"$work/out" 2>"$work/err"
sort "$work/expected" >"$work/sorted"
sort "$work/out" | cmp - "$work/sorted" || fail "--inlines=0 changes the report"
grep -Eq 'not looked up for ([0-9]+) of \1 addresses, in the stacks of (100|9[0-9])\.[0-9] % of the samples' "$work/err" ||
	fail "--inlines=0: $(cat "$work/err")"
report --format=folded task:plain 2>/dev/null | sort >"$work/sorted"
report --format=folded --inlines image:plain task:plain >"$work/out" 2>"$work/err"
grep -q 'inlined functions: not known in .*: no DWARF was found' "$work/err" || fail "plain: $(cat "$work/err")"
report --format=folded --inlines task:plain 2>/dev/null | grep -v '_\[i]' | sort >"$work/out"
grep ';plain' "$work/sorted" | grep -q "$(printf 'plain (no symbols)')" || fail "plain has symbols"
grep 'plain (no symbols) ' "$work/sorted" >"$work/expected"
grep 'plain (no symbols) ' "$work/out" | cmp - "$work/expected" || fail "--inlines changes stacks without DWARF"

refuse 2 "--inlines needs" report --inlines --symbols task:inlines
refuse 2 "--inlines takes a number of seconds" report --inlines=soon --callgraph task:inlines
refuse 2 "--inlines takes a number of seconds" report --inlines=-1 --callgraph task:inlines
exit $failed
