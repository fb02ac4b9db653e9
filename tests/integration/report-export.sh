#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The formats of other programs' viewers: strict readers find in each of them the stacks that folded
# stacks have, whatever the names are.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
formats='perf-script speedscope firefox'

mkdir -p "$sessions"
"$build/tests/fixtures/make-known-stacks" "$sessions/known.vmop" <<'STACKS'
1 web prog:main;prog:serve;prog:parse;lib:memchr 40
1 web prog:main;prog:serve;prog:render;kernel:entry;kernel:mmap 40
3 web prog:main;prog:parse 10
1 web prog:main;prog:serve;prog:parse;lib:memchr 3
1 qemu guest:start_kernel;guest:halt 10
none cc1 prog:main 7
STACKS
"$build/tests/fixtures/make-known-stacks" "$sessions/evil.vmop" <<STACKS
1 </g> prog:</title></svg><script>alert(1)</script>;prog:]]>&lt&\"' 40
1 web prog:$(printf 'tab\tesc\033bad\377surrogate\355\240\200nonchar\357\277\277rtl\342\200\256') 40
1 a"b,c prog:x(y)(z);prog:,;prog:'\\\\ 5
1 #c prog:-->\\u003c;prog:\`\${x}\` 1
1 $(head -c 65536 /dev/zero | tr '\0' L) prog:$(head -c 65536 /dev/zero | tr '\0' N) 3
STACKS
"$build/tests/fixtures/make-session" --seconds=5 "$sessions/flat.vmop"
"$build/tests/fixtures/make-stacks" 10 2000 "$sessions/wide.vmop" >"$work/out"
"$evil" sessions "$sessions"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@" 2>"$work/err"
}

for session in known evil wide flat all; do
	echo "$session"
	for format in $formats; do
		report --format="$format" -o "$work/$session.$format" "session:$session" ||
			fail "$session as $format: $(cat "$work/err")"
		python3 "$src/tests/integration/export-check.py" "$format" "$work/$session.$format" \
			>"$work/$session.$format.stacks" || fail "$session as $format"
		"$evil" check <"$work/$session.$format" >"$work/why" || fail "$format: $(cat "$work/why")"
	done
done

echo "the stacks are those of folded stacks, and weigh 1 ms a sample"
report --format=folded session:known |
	sed -e 's/_\[[kghi]\]\(;\| \)/\1/g' -e 's/_\[[kghi]\]\(;\| \)/\1/g' -e 's/ \([0-9]*\)$/ \1000000/' |
	LC_ALL=C sort >"$work/expected"
for format in $formats; do
	LC_ALL=C sort "$work/known.$format.stacks" | diff -u "$work/expected" - || fail "$format"
done
is "stacks" "$(wc -l <"$work/expected")" -eq 5

echo "all formats have the same weights"
for session in wide flat; do
	for format in $formats; do
		sum=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$work/$session.$format.stacks")
		is "ms of $session in $format" "$((sum / 1000000))" -eq \
			"$([ $session = wide ] && echo 20000 || echo 10000)"
	done
done

# A sample of 2 seconds has its own time.
times=$(python3 -c '
import json, sys
for thread in json.load(open(sys.argv[1]))["threads"]:
    if thread["name"] == "web":
        print(*thread["samples"]["time"])' "$work/known.firefox")
[ "$times" = "500 1500 2500 3500" ] || fail "times of samples: $times"

report_all() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
expect 0 "" report_all --format=firefox --inlines session:known
refuse 2 "does not go with --sort" report_all --format=speedscope --sort=sample session:known
finish
