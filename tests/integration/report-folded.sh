#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Folded stacks, as flamegraph.pl reads them.  Names cannot break a line.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
"$build/tests/fixtures/make-known-stacks" "$sessions/s.vmop" <<STACKS
1 web prog:main;prog:serve;lib:read;kernel:entry;kernel:vfs_read 40
1 web prog:main;prog:serve;lib:read 2
3 web prog:deep;lib:read 4
1 qemu guest:start_kernel;guest:halt 22
none cc1 prog:main 3
1 a;b prog:evil_[k];prog:[kernel];prog:tab$(printf '\tand\377') 5
STACKS

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

sort >"$work/expected" <<'END'
g1;[none];start_kernel_[g];halt_[g] 22
host;a\x3bb;evil_[k\x5d;'[kernel]';tab\x09and\xff 5
host;cc1;main 3
host;web;[copy too small];deep;read 4
host;web;main;serve;read 2
host;web;main;serve;read;entry_[k];vfs_read_[k] 40
END
report --format=folded session:s >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
sort "$work/out" | diff -u "$work/expected" - || fail "folded stacks differ"

echo "specs select"
report --format=folded --callee=vfs_read session:s >"$work/out"
[ "$(cat "$work/out")" = 'host;web;main;serve;read;entry_[k];vfs_read_[k] 40' ] ||
	fail "--callee: $(cat "$work/out")"

echo "--by changes the groups"
sed -e 's/^\([^;]*\);[^;]*;/\1;/' "$work/expected" | sort >"$work/by-domain"
report --format=folded --by=domain session:s | sort | diff -u "$work/by-domain" - || fail "by domain"
report --format=flamegraph --by=domain session:s >"$work/by.svg" || fail "flame graph by domain"
! grep -q '>web<' "$work/by.svg" || fail "a flame graph by domain has tasks"

refuse 2 "does not go with --sort" report --format=folded --sort=sample session:s
exit $failed
