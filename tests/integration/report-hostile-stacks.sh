#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions with far too many or damaged call stacks: a report stays within 20 s of CPU time and
# 2 GiB, and counts the rest, or names the damage in one line.
# shellcheck source=tests/integration/report-bounds.sh
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

formats='--callgraph --children --tree=callers --tree=callees --format=folded --format=flamegraph'
"$build/vmopreport" --help | grep -q pprof && formats="$formats --format=pprof"

# every KIND N: check all reports of stacks.
every() {
	stacks "$1" "$2"
	for format in $formats; do
		bounded "$1" "$format"
	done
	bounded "$1" --children -l --format=csv
}

every deep "$(few 1000000)"
bounded deep --tree=callers
says 'damaged'
every recursive 3000
every wide "$(few 200000)"
bounded wide --callgraph 'stack:*_1*' --caller='f_*' --callee='*'
every binary "$(few 1000000)"
stacks binary "$(few 5000000)"
bounded binary --format=pprof
[ -n "$sanitized" ] || says 'further stacks'
every shared 10000
every ends "$(few 100000)"
every long-names 100

# damaged KIND: check that all reports name the damage in one line, within the bounds.
damaged() {
	stacks "$1" "$(few 100000)"
	for format in $formats; do
		got=0
		"$fixtures/within" "$most_cpu_s" 2048 "$build/vmopreport" \
			--session-dir="$sessions" session:hostile "$format" \
			>"$work/out" 2>"$work/err" </dev/null || got=$?
		grep '^vmopreport' "$work/err" >"$work/messages" || :
		echo "$1 $format: exit $got, $(tail -n 1 "$work/err"): $(cat "$work/messages")"
		if [ "$got" -ne 3 ] || [ "$(wc -l <"$work/messages")" -ne 1 ] ||
			! grep -q hostile.vmop "$work/messages"; then
			fail "$1 $format: exit $got: $(cat "$work/err")"
		fi
	done
}

for kind in hole count huge-count first same-rows short zeros cycle huge cells; do
	damaged $kind
done

# The samples of stacks that are lost are counted.
stacks dangling "$(few 200000)"
for format in $formats; do
	bounded dangling "$format"
done
bounded dangling --tree=callers
says damaged
exit $failed
