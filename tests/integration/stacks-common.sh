# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154 # variables for those who source it, and of common.sh
# Sourced by the tests of call stacks: records them, and counts those that match.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
# These tests sample the whole machine and count programs by name: one runs at a time.
exec 9<"$build"
flock 9
command -v objcopy >/dev/null || skip "no objcopy"
# Copies without build-ids: the daemon shows files with the same build-id under one name, which can be
# that of a deleted copy.
for fixture in known-paths known-paths-static hard-stacks; do
	objcopy -R .note.gnu.build-id "$build/tests/fixtures/$fixture" "$work/$fixture"
done
known=$work/known-paths
known_static=$work/known-paths-static
hard=$work/hard-stacks
callgraph=--callgraph

# sample COMMAND...: run it in a session of its own, and write its stacks to $work/stacks.
sample() {
	rm -rf "$sessions"
	control --run "$callgraph" --event=cpu-clock:999Hz --session-dir="$sessions" -- "$@" \
		3>/dev/null >"$work/out" 2>&1 || echo "$* ended with $?"
	stacks
}

stacks() {
	"$build/tests/integration/session-stacks" "$sessions/current.vmop" >"$work/stacks" ||
		fail "the stacks can't be read"
}

# count COMM PATTERN: print the samples of the program whose stack matches the pattern.
count() {
	awk -F '\t' -v comm="$1" -v pattern="$2" '$3 == comm && $4 ~ pattern { n += $1 } END { print n + 0 }' \
		"$work/stacks"
}

# all COMM LEAF PATTERN: nearly all samples in the function LEAF have a stack that matches. Another
# sample can be in the moment in which the program begins or ends.
all() {
	total=$(count "$1" ";$2\$")
	is "samples of $1 in $2" "$total" -ge 20
	got=$(count "$1" "$3")
	echo "$1: $got of $total samples in $2 match $3"
	[ $((got * 100)) -ge $((total * 95)) ] || {
		fail "$1: the stacks of $2"
		grep ";$2\$" "$work/stacks" | head -3
	}
}

# percent WHAT COMM PATTERN OPERATOR NUMBER: compare the share of the program's samples that match.
percent() {
	total=$(count "$2" .)
	is "samples of $2" "$total" -ge 20
	got=$(count "$2" "$3")
	echo "$2: $got of $total samples, $1"
	[ "$total" -eq 0 ] || is "$1, percent" $((got * 100 / total)) "$4" "$5"
	[ $failed -eq 0 ] ||
		awk -F '\t' -v comm="$2" '$3 == comm { print substr($4, 1, 200) }' "$work/stacks" |
		sort | uniq -c | sort -rn | head -5
}

# stack_count NAME: print a count of call stacks in --status.
stack_count() {
	control --status --json | sed -n "s/^ *\"$1\": \([0-9]*\),\{0,1\}\$/\1/p" | head -1
}

# Print the largest memory in KiB that the daemon had.
most_memory_kib() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(daemon_pid)/status"
}

# repeated N TEXT: print the text N times, without the intervals of patterns, which mawk lacks.
repeated() {
	for _ in $(seq "$1"); do printf '%s' "$2"; done
}
