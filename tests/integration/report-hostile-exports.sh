#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The formats for other programs and the page of sessions with far too many or damaged call stacks: each
# stays within 20 s of CPU time and 2 GiB, and a page below 2 MB.
# shellcheck source=tests/integration/report-bounds.sh
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

formats='perf-script speedscope firefox html'

# every KIND N: check all formats.
every() {
	stacks "$1" "$2"
	for format in $formats; do
		bounded "$1" --format="$format"
		[ "$format" != html ] || is "bytes of the page" "$(wc -c <"$work/out")" -lt 2000000
	done
}

every deep "$(few 300000)"
every recursive 3000
every wide "$(few 200000)"
every binary "$(few 300000)"
every shared 10000
every long-names 100

# A page of a million rows, and the other formats of many.
made images "$(few 1000000)"
bounded images --format=html
is "bytes of the page" "$(wc -c <"$work/out")" -lt 2000000
made images "$(few 100000)"
for format in xml perf-script speedscope firefox; do
	bounded images --format="$format"
done

stacks cycle "$(few 100000)"
for format in $formats; do
	refuse 3 hostile.vmop "$build/vmopreport" --session-dir="$sessions" session:hostile \
		--format="$format"
done
finish
