#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Real KVM guests and processes that compete for a CPU: virtual time of guests grows with real time, and without the
# guest's steal clock's time it is the CPU time that the host gave the guest. Processes' virtual time stays.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
[ -z "$sanitized" ] || skip "sanitizers make the guests' monitor a part of the work"
compete=$build/tests/fixtures/competing-guests

# median N COLUMN FILE: the median of column COLUMN, or of the ratio COLUMN/COLUMN, of the lines of N competitors.
median() {
	awk -F, -v n="$1" -v c="$2" '$2 == n { split(c, k, "/"); print (k[2] ? $k[1] / $k[2] : $k[1]) }' "$3" | sort -n |
		awk '{ v[NR] = $1 } END { printf "%.4f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
within() { # NAME VALUE LOW HIGH
	is "$1: $2, from $3 to $4" "$(awk -v v="$2" -v l="$3" -v h="$4" 'BEGIN { print (v >= l && v <= h) }')" = 1
}

"$compete" processes 4 5 60 >"$work/processes" || skip "$(cat "$work/processes")"
for n in 2 3 4; do
	within "$n processes: real time over virtual time" "$(median $n 4/5 "$work/processes")" "$(echo "$n" | awk '{ print 0.8 * $1 }')" 10000
done
status=0
"$compete" guests 4 7 100 >"$work/guests" || status=$?
[ $status -ne 77 ] || skip "$(cat "$work/guests")"
is "exit status of the guests" $status -eq 0
for n in 1 2 3 4; do
	within "$n guests: time without steal over the host's CPU time" "$(median $n 7/8 "$work/guests")" 0.97 1.03
	[ $n = 1 ] || within "$n guests: virtual time over the host's CPU time" "$(median $n 5/8 "$work/guests")" "$(echo "$n" | awk '{ print 0.8 * $1 }')" 10000
done
finish
