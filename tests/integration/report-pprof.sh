#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles for pprof: Go's pprof finds the functions that vmopreport finds, and the labels.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
awk 'BEGIN {
	for (i = 0; i < 30; i++) {
		print 1, "web", "prog:main;prog:serve" i % 3 ";lib:leaf" i ";kernel:entry", 7 + i
		print 1, "web", "prog:main;prog:serve" i % 3 ";lib:leaf" i, 400 - 10 * i
	}
	print 3, "cc1", "prog:deep", 2000
	print 1, "qemu", "guest:start_kernel;guest:halt", 2500
}' | "$build/tests/fixtures/make-known-stacks" "$sessions/s.vmop"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

if ! report --format=pprof -o "$work/s.pb.gz" session:s 2>"$work/err"; then
	grep -q 'built without' "$work/err" && skip "$(cat "$work/err")"
	fail "$(cat "$work/err")"
fi
gzip -t "$work/s.pb.gz" || fail "not compressed by gzip"
command -v go >/dev/null || skip "no go, so nothing read the profile"

pprof() {
	HOME=$work PPROF_TMPDIR=$work go tool pprof "$@" "$work/s.pb.gz" 2>"$work/err" ||
		fail "pprof $*: $(cat "$work/err")"
}

# A cpu-clock sample of the fixture weighs 1 ms.
report -l -n --format=csv session:s | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	NR <= 11 { print $at["symbol"], $at[n = "samples"] ? $at["samples"] : $1 }' >"$work/expected"
pprof -top -nodecount=10 -sample_index=samples | awk '$1 ~ /^[0-9]+$/ && NF == 6 { print $6, $1 }' >"$work/out"
[ "$(wc -l <"$work/expected")" -eq 10 ] || fail "vmopreport prints less than ten rows"
diff -u "$work/expected" "$work/out" || fail "the top ten differ"

pprof -tags >"$work/out"
for label in 'cpu-clock' 'host' 'g1' 'web' 'cc1' 'kernel' 'user'; do
	grep -q ": $label\$" "$work/out" || fail "no label $label in: $(cat "$work/out")"
done
pprof -top -sample_index=cpu-clock >"$work/out"
grep -q 'Type: cpu-clock' "$work/out" || fail "the weight is not of cpu-clock"
grep -q 's total$' "$work/out" || fail "the weight has no unit of time: $(sed 8q "$work/out")"
pprof -raw >"$work/out"
grep -q '/opt/stacks/prog' "$work/out" || fail "no mapping of the program"
grep -q '\[copy too small\]' "$work/out" || fail "no reason of an incomplete stack"

echo "the event's column has weights, not samples"
"$build/tests/fixtures/make-known-stacks" "$sessions/weights.vmop" <<'STACKS'
1 web prog:main;prog:fast 400@10
1 web prog:main;prog:slow 1000@3
STACKS
report --format=pprof -o "$work/s.pb.gz" session:weights
pprof -top -sample_index=cpu-clock >"$work/out"
grep -q ' 57.14% .* fast$' "$work/out" || fail "weights: $(cat "$work/out")"

echo "names of 64 KiB, and with all kinds of bytes"
"$build/tests/fixtures/make-known-stacks" "$sessions/evil.vmop" <<STACKS
1 $(head -c 65536 /dev/zero | tr '\0' L) prog:$(head -c 65536 /dev/zero | tr '\0' N) 3
1 a"b,c prog:]]></title><script>;prog:$(printf 'esc\033bad\377rtl\342\200\256') 40
STACKS
report --format=pprof -o "$work/s.pb.gz" session:evil
pprof -raw >"$work/out"
is "stacks in the profile" "$(grep -cE '^ +(3|40) ' "$work/out")" -eq 2
! LC_ALL=C grep -q "$(printf '[\033\377]')" "$work/out" || fail "bytes of names control a terminal"
grep -q 'NNNNNNNNNN' "$work/out" || fail "the long name is missing"
exit $failed
