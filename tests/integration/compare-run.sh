#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopcompare --run: two recordings by one command, its files, and its ends: failures, time limits,
# Ctrl-C.  The host's own domain stands for the guest.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export LC_ALL=C.UTF-8
command -v python3 >/dev/null || skip "no python3"
need_perf
slower=$build/tests/fixtures/slower

compare() {
	"$build/vmopcompare" --session-dir="$sessions" "$@"
}
# nothing_left: check that neither the daemon nor a command of the test runs.
nothing_left() {
	pid=$(daemon_pid)
	if [ -n "$pid" ]; then
		wait_gone "$pid"
	fi
	is "commands left behind" "$(pgrep -fc "^sleep 98[.]7" || true)" -eq 0
}

compare --run "$slower 600 1 <&0" --guest=host --guest-run "$slower 600 2" --output-dir="$work/cg" \
	--per=1 --spec=image:slower >"$work/table" 2>"$work/err" || {
	cat "$work/err"
	fail "a comparison"
}
is "the first line is the comparison's" "$(sed -n '1s/:.*//p' "$work/table")" = A
grep -q "A: .* on the host: " "$work/table" || fail "no host"
grep -q "B: guest host: " "$work/table" || fail "no guest"
grep -q " changed$" "$work/table" || fail "no row"
for file in joined.csv cpu-clock.csv cpu-clock.html; do
	[ -s "$work/cg/$file" ] || fail "no $file"
done
for side in host guest; do
	[ -s "$sessions/cg-$side.vmop" ] || fail "no session of the $side"
done
python3 - "$work/cg" <<'CHECK' || fail "the files"
import csv, sys
import xml.etree.ElementTree as tree
rows = {row["symbol"]: row for row in csv.DictReader(open(sys.argv[1] + "/cpu-clock.csv"), strict=True)}
assert rows["changed"]["change_b"] == "more", rows["changed"]
assert int(rows["changed"]["samples_a"]) > 50
page = tree.parse(sys.argv[1] + "/cpu-clock.html").getroot()
assert any("changed" == cell.text for cell in page.iter("td"))
assert not list(page.iter("script"))
CHECK
if [ -e "$work/cg/cpu-clock.svg" ] && command -v xmllint >/dev/null; then
	expect 0 "" xmllint --noout "$work/cg/cpu-clock.svg"
fi
nothing_left

# ---- ends -------------------------------------------------------------------------------

# shellcheck disable=SC2317 # called by expect
run() {
	rm -f "$sessions"/x-*
	compare --guest=host --guest-run=true --output-dir="$work/x" "$@"
}
expect 3 "session x-host: 'exit 7' failed with status 7" run --run 'exit 7'
nothing_left
expect 3 "session x-host: 'sleep 98.7' took longer than --timeout and was ended" \
	run --timeout=1s --run 'sleep 98.7'
nothing_left
# The command ignores signals, and has a child.
expect 3 "took longer than --timeout" run --timeout=1s --run 'trap "" INT TERM; sleep 98.7 & sleep 98.7'
nothing_left
expect 3 "'nosuch program' failed with status 127" run --run 'nosuch program'
expect 1 "" run --run "$slower 60 1" --guest-run 'sleep 1' --spec='image:nosuch*'

rm -f "$sessions"/x-*
"$build/vmopcompare" --session-dir="$sessions" --guest=host --guest-run=true --output-dir="$work/x" \
	--run 'sleep 98.7' >"$work/interrupted" 2>&1 &
program=$!
until pgrep -f "^sleep 98[.]7" >/dev/null || ! kill -0 $program; do
	sleep 0.1
done
kill -INT $program
got=0
wait $program || got=$?
is "the exit status after a signal" "$got" -eq 3
grep -q "interrupted by signal 2" "$work/interrupted" || fail "$(cat "$work/interrupted")"
nothing_left

# ---- names ------------------------------------------------------------------------------

refuse 3 "cg-host.vmop exists; another --output-dir gives the sessions other names" \
	compare --run true --guest=host --guest-run=true --output-dir="$work/cg/"
refuse 2 "--output-dir: " compare --run true --guest=host --guest-run=true --output-dir="$work/a b"
expect 1 "B (guest a,b*)" run --run "$slower 600 1" --guest='a,b*' --output-dir="$work/comma"

# ---- refusals ---------------------------------------------------------------------------

refuse 2 "--guest is missing" compare --run true --guest-run true --output-dir="$work/x"
refuse 2 "--guest-run is missing" compare --run true --guest g --output-dir="$work/x"
refuse 2 "--output-dir is missing" compare --run true --guest g --guest-run true
refuse 2 "--run is missing" compare --guest g
refuse 2 "no SIDE with it" run --run true before
refuse 2 "--timeout: '0' is not a time" run --timeout=0 --run true
refuse 3 "--output-dir=$work/nosuch/x: No such file or directory" run --run true --output-dir="$work/nosuch/x"
finish
