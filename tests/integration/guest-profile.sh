#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmop-guest-profile on a program with types like a kernel's: its offsets are the compiler's.
set -eu
cd "$VMOP_BUILDDIR"
tool=libguest/vmop-guest-profile
types=tests/integration/guest-types
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
	echo "$*" >&2
	exit 1
}

$tool $types 5.4.0-test >"$dir/profile"
grep -qx 'release = 5.4.0-test' "$dir/profile" || fail "no release in the profile"
$types >"$dir/truth"
[ "$(wc -l <"$dir/truth")" -gt 5 ] || fail "$types says nothing"
while read -r line; do
	grep -qxF "$line" "$dir/profile" || fail "not in the profile: $line"
done <"$dir/truth"

# Invalid input: each has its exit status and one line.
expect() {
	status=$1
	shift
	got=0
	"$@" >"$dir/out" 2>"$dir/err" || got=$?
	[ $got = "$status" ] || fail "$*: status $got, not $status"
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$*: not one line: $(cat "$dir/err")"
}
# usage: two lines from argp
$tool 2>"$dir/err" && fail "no arguments are enough"
grep -q 'required' "$dir/err" || fail "no message that names the arguments: $(cat "$dir/err")"
$tool --help | grep -q guest-profiles/RELEASE || fail "--help does not say where it goes"
expect 3 $tool "$dir/nowhere" 5.4.0
expect 3 $tool "$dir/truth" 5.4.0
