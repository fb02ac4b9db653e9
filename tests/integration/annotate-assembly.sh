#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate --assembly: each instruction of a function is where objdump has one, and the counts are
# those of vmopreport --details.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
need_perf
export TZ=UTC LC_ALL=C
cp "$build/tests/fixtures/inlines" "$work/inlines"
control --run --event=cpu-clock:999Hz --session-dir="$sessions" -- "$work/inlines" 700 >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"

annotate() {
	"$build/vmopannotate" --session-dir="$sessions" "$@"
}

if ! annotate --assembly task:inlines >"$work/out" 2>&1; then
	grep -q 'built without capstone' "$work/out" || fail "$(cat "$work/out")"
	refuse 1 "--source works" annotate --assembly task:inlines
	skip "built without capstone"
fi

annotate --assembly -t 0 --format=csv image:inlines task:inlines >"$work/code" 2>/dev/null
"$build/vmopreport" --session-dir="$sessions" --details --format=csv image:inlines task:inlines >"$work/report" 2>/dev/null

# counts FILE: print "ADDRESS SAMPLES" of a CSV file, by address, without the others.
counts() {
	python3 - "$1" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if int(row["samples"]):
        print("%x %s" % (int(row["address"], 16), row["samples"]))
END
}
counts "$work/code" | sort >"$work/got"
counts "$work/report" | sort >"$work/wanted"
is "addresses with samples" "$(wc -l <"$work/got")" -ge 3
cmp "$work/got" "$work/wanted" || fail "counts differ from vmopreport --details: $(diff "$work/got" "$work/wanted")"

# ---- as objdump ----
# Offsets in the file and addresses are the same in a PIE's text.
for function in run_outer run_other run_caller; do
	awk -F, -v f=$function '$6 == f { sub(/^0x/, "", $7); print $7 }' "$work/code" >"$work/got"
	objdump -d --no-show-raw-insn "$work/inlines" | awk -v f="<$function>:" '
		$2 == f { on = 1; next } on && !NF { exit } on { sub(/:$/, "", $1); print $1 }' >"$work/all"
	[ -s "$work/got" ] || continue
	# objdump also shows the padding behind the function.
	head -n "$(wc -l <"$work/got")" "$work/all" | cmp - "$work/got" || fail "$function: instructions differ from objdump's"
	compared="${compared-} $function"
done
is "compared functions" "$(echo "${compared-}" | wc -w)" -ge 2

# ---- for people ----
annotate --assembly image:inlines task:inlines >"$work/out" 2>&1
grep -q '^>.*[0-9a-f]  [a-z]' "$work/out" || fail "no hot instruction: $(cat "$work/out")"
grep -q '; inlined: innermost' "$work/out" || fail "no inlined function: $(cat "$work/out")"
annotate --assembly --source image:inlines task:inlines >"$work/out" 2>&1
grep -q 'inlines.h:[0-9]*  .*inlines_sink += i;' "$work/out" || fail "no source line: $(cat "$work/out")"
annotate --assembly --syntax=intel -c all image:inlines task:inlines >"$work/intel" 2>&1
case $(uname -m) in
x86_64) if grep -q '%[re]ax' "$work/intel"; then fail "--syntax=intel: $(cat "$work/intel")"; fi ;;
esac
# The file is replaced: its build-id differs, and nothing of it is shown.
cp "$build/tests/fixtures/inlines-dwarf4" "$work/inlines"
annotate --assembly -t 0 image:inlines task:inlines >"$work/out" 2>&1
grep -q 'no code: its build-id differs' "$work/out" || fail "a replaced file: $(cat "$work/out")"
grep -q '(no code)' "$work/out" || fail "no addresses: $(cat "$work/out")"
exit $failed
