# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2154,SC2034 # variables of common.sh, and for those who source it
# Sourced by the tests of vmopstat --io.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
stat=$build/vmopstat
known=$build/tests/fixtures/known-io
check=$src/tests/integration/stat-io-check.py
export VMOP_APPIO_DIR="$build/.libs"

# json EXPRESSION FILE: evaluate with rows, the list of the file's objects.
json() {
	python3 -c 'import json, sys; rows = [json.loads(line) for line in open(sys.argv[2])]
facts = [r for r in rows if r.get("io") == "facts"][0]
value = lambda name: [r for r in rows if r.get("event") == name][0]["counter-value"]
print(eval(sys.argv[1]))' "$1" "$2"
}
# exact WAY PART...: compare known-io's own counts with those of vmopstat.
exact() {
	way=$1
	shift
	"$stat" --io="$way" --json -o "$work/counted" -- "$known" "$work/known" "$@" ||
		fail "exit $? of vmopstat --io=$way with $*"
	python3 "$check" "$work/known" "$work/counted" "$work/base" >"$work/differences"
	is "known-io $* by $way: $(cat "$work/differences")" "$(wc -l <"$work/differences")" -eq 0
	# An empty list would agree with everything.
	is "calls that known-io made" "$(wc -l <"$work/known")" -gt 1
}
# Note what known-io does without a part: the start and the dynamic linker.
base_of() { # WAY
	"$stat" --io="$1" --json -o "$work/base" "$known" "$work/known" || fail "exit $? of vmopstat --io=$1"
}

need_bpf() {
	"$stat" --io=bpf -o "$work/out" true 2>"$work/err" || {
		[ "$failed" -eq 0 ] || finish
		skip "not by BPF: $(cat "$work/err")"
	}
}
