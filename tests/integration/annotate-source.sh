#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate --source on a recording of a program whose hot lines are known: counts per line, inlined
# functions, the search for source files, --output-dir and the formats.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
need_perf
export TZ=UTC LC_ALL=C
cp "$build/tests/fixtures/inlines" "$work/inlines" && strip -R .note.gnu.build-id -o "$work/plain" "$work/inlines"
control --run --event=cpu-clock:999Hz --session-dir="$sessions" -- \
	sh -c "'$work/inlines' 700; '$work/plain' 300" >"$work/out" 2>&1 || fail "$(cat "$work/out")"

annotate() {
	"$build/vmopannotate" --session-dir="$sessions" "$@"
}

# column NAME FILE: sum a column of a CSV file without quoted commas before it.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ sum += $at } END { printf "%d\n", sum }' "$2"
}

# ---- counts ----
"$build/vmopreport" --session-dir="$sessions" --symbols --format=csv image:inlines task:inlines >"$work/report"
annotate --threshold=0 --format=csv image:inlines task:inlines >"$work/lines"
is "samples of all lines" "$(column samples "$work/lines")" = "$(column samples "$work/report")"
is "weights of all lines" "$(column weight "$work/lines")" = "$(column weight "$work/report")"
all=$(column samples "$work/lines")
is "samples" "$all" -ge 300
# The loop of innermost is in inlines.h; the fixture does nothing else.
loop=$(grep -n 'inlines_sink += i;' "$src/tests/fixtures/inlines.h" | cut -d : -f 1)
hot=$(awk -F, -v at="$loop" '$7 ~ /inlines.h$/ && ($8 == at || $8 == at - 1) { n += $1 } END { print n + 0 }' "$work/lines")
is "samples in the loop" "$hot" -ge $((all * 9 / 10))
inlined=$(awk -F, '$6 == "run_outer" && $9 == "innermost < between" { n += $1 } END { print n + 0 }' "$work/lines")
outer=$(awk -F, '$6 == "run_outer" { n += $1 } END { print n + 0 }' "$work/lines")
is "samples of run_outer in its inlined functions" "$inlined" -ge $((outer * 9 / 10))
grep -q 'inlines_sink += i;' "$work/lines" || fail "no source text: $(cat "$work/lines")"

# ---- for people ----
annotate --width=80 image:inlines task:inlines >"$work/out" 2>/dev/null
grep -q '^>.* \{2,\}inlines_sink += i;' "$work/out" || fail "no hot line: $(cat "$work/out")"
grep -q 'inlines.h: .* samples, [19][0-9]*\.[0-9]* %' "$work/out" || fail "no sums: $(cat "$work/out")"
grep -q 'losses: ' "$work/out" || fail "no losses"
grep -q 'run_outer [0-9.]* %' "$work/out" || fail "no functions: $(cat "$work/out")"
grep -q 'lines without samples' "$work/out" || fail "no gap: $(cat "$work/out")"
is "widest line" "$(awk '{ if (length > w) w = length } END { print w }' "$work/out")" -le 80
if grep -q "$(printf '\033')" "$work/out"; then fail "colours in a file"; fi
annotate --width=1 image:inlines task:inlines >"$work/out" 2>/dev/null
grep -q '^> *[0-9]' "$work/out" || fail "no hot line at one column: $(cat "$work/out")"
if command -v script >/dev/null; then
	TERM=xterm script -qec "'$build/vmopannotate' --session-dir='$sessions' image:inlines task:inlines" /dev/null \
		</dev/null >"$work/out" 2>&1
	grep -q "$(printf '\033\\[1;31m')>.*inlines_sink" "$work/out" || fail "no colour: $(cat -v "$work/out")"
	TERM=xterm NO_COLOR=1 script -qec "'$build/vmopannotate' --session-dir='$sessions' image:inlines task:inlines" /dev/null \
		</dev/null >"$work/out" 2>&1
	if grep -q "$(printf '\033')" "$work/out"; then fail "NO_COLOR has colours"; fi
fi
annotate --context=all image:inlines task:inlines >"$work/out" 2>&1
if grep -q 'without samples' "$work/out"; then fail "--context=all has gaps"; fi
annotate --include-file='inlines.h' image:inlines task:inlines >"$work/out" 2>&1
if grep -q 'inlines.c: ' "$work/out"; then fail "--include-file: $(cat "$work/out")"; fi
annotate --exclude-file='*.h' -t 0 image:inlines >"$work/out" 2>&1 || grep -q 'no source file matches' "$work/out" ||
	fail "--exclude-file: $(cat "$work/out")"
if grep -q 'inlines.h: ' "$work/out"; then fail "--exclude-file: $(cat "$work/out")"; fi
annotate --include-symbols=run_other --format=csv task:inlines >"$work/out" 2>/dev/null
is "functions of --include-symbols" "$(cut -d , -f 6 "$work/out" | sort -u | tr '\n' ' ')" = "run_other symbol "
annotate --format=json image:inlines task:inlines >"$work/out" 2>/dev/null
python3 - "$work/out" "$all" <<'END' || fail "--format=json"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["losses"] is not None and report["events"][0]["name"]
assert any(row.get("inlined", "").startswith("innermost") for row in report["rows"])
assert sum(row["samples"] for row in report["rows"]) <= int(sys.argv[2])
END

# ---- the search for source files ----
mkdir -p "$work/copy/tests/fixtures"
top=$(awk -F, '$7 ~ /inlines.h$/ { print $7; exit }' "$work/lines")
top=${top%/tests/fixtures/inlines.h}
sed 's/inlines_sink += i;/& \/* the copy *\//' "$src/tests/fixtures/inlines.h" >"$work/copy/tests/fixtures/inlines.h"
annotate --search-dirs="$work/copy" --base-dirs="$top" image:inlines task:inlines >"$work/out" 2>&1
grep -q '^>.*the copy' "$work/out" || fail "--search-dirs: $(cat "$work/out")"
annotate --search-dirs="$work/copy/tests/fixtures" image:inlines task:inlines >"$work/out" 2>&1
grep -q '^>.*the copy' "$work/out" || fail "--search-dirs by base name: $(cat "$work/out")"
mkdir "$work/empty"
annotate --search-dirs="$work/empty" image:inlines task:inlines >"$work/out" 2>&1
grep -q 'no source: not found here; --search-dirs' "$work/out" || fail "a missing source: $(cat "$work/out")"
grep -q "^>.* $loop *\$" "$work/out" || fail "the lines without text: $(cat "$work/out")"
annotate task:plain image:plain >"$work/out" 2>&1
grep -q 'no source lines: no DWARF was found' "$work/out" || fail "no DWARF: $(cat "$work/out")"

# ---- a tree of sources ----
annotate --output-dir="$work/tree" image:inlines task:inlines >"$work/out" 2>&1 || fail "$(cat "$work/out")"
tree="$work/tree$top/tests/fixtures/inlines.h"
is "lines of the annotated copy" "$(grep -c '^[ >][ 0-9.]\{15\} *[0-9]' "$tree")" -eq "$(wc -l <"$src/tests/fixtures/inlines.h")"
grep -q '^>.*inlines_sink += i;' "$tree" || fail "the tree: $(cat "$tree")"
annotate --output-dir="$work/based" --base-dirs="$top" image:inlines task:inlines 2>/dev/null
[ -f "$work/based/tests/fixtures/inlines.h" ] || fail "--base-dirs with --output-dir"
before=$(cksum <"$work/copy/tests/fixtures/inlines.h")
refuse 2 "is the source file itself" annotate --search-dirs="$work/copy" --base-dirs="$top" \
	--output-dir="$work/copy" image:inlines task:inlines
is "the source" "$(cksum <"$work/copy/tests/fixtures/inlines.h")" = "$before"

# ---- options ----
refuse 2 "--objdump-params: vmopannotate does not run objdump" annotate --objdump-params=-x
refuse 2 "--threshold takes a number" annotate --threshold=-1
refuse 2 "--context takes a number" annotate --context=1000000000000
refuse 2 "--output-dir does not go with --format" annotate --output-dir="$work/x" --format=csv
refuse 2 "unknown word" annotate --syntax=masm
refuse 2 "stack: does not go" annotate stack:main
expect 0 "[SPEC...]" annotate --help
expect 0 "vmopannotate " annotate --version
annotate --include-file='nothing*' image:inlines >"$work/out" 2>&1 && fail "no file matches, but exit 0"
grep -q 'no source file matches' "$work/out" || fail "$(cat "$work/out")"
[ ! -w /dev/full ] || {
	annotate image:inlines >/dev/full 2>"$work/out" && fail "a full disk is not noticed"
	grep -q 'No space left' "$work/out" || fail "a full disk: $(cat "$work/out")"
}
exit $failed
