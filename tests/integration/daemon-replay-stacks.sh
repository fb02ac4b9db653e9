#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks of a recorded stream are stored and reported as they were recorded. Damaged ones end
# with a reason. Needs no privileges.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"

# replay KIND: make a stream with such stacks, replay it, and write its folded stacks to $work/KIND.
replay() {
	"$build/tests/fixtures/make-stream" --samples=3000 --processes=3 --functions=40 --stacks="$1" \
		--counts="$work/$1.csv" "$work/stream"
	expect 0 "3000 call stacks" "$build/vmopd" --source=replay --replay="$work/stream" \
		--session-dir="$sessions"
	"$build/vmopreport" --session-dir="$sessions" --format=folded 2>"$work/err" >"$work/folded" ||
		fail "$(cat "$work/err")"
	# Code without a file has the name of its mapping.
	sed 's/\[anon \([^ ]*\)[^]]*\]/\1/g' "$work/folded" | LC_ALL=C sort >"$work/$1"
	is "samples in stacks of $1" "$(awk '{ n += $NF } END { print n }' "$work/$1")" -eq 3000
}

# Print the folded stacks that make-stream wrote: function J was called by J/2, down to 0, and 0 by
# itself once.
wanted() {
	awk -F , 'NR > 1 {
		program = "prog-" ($1 - 1000)
		stack = program " (no symbols)"
		for (j = $3; ; j = int(j / 2)) {
			stack = stack ";" program " (no symbols)"
			kernel = kernel ";[unknown kernel text]"
			if (j == 0)
				break
		}
		stack = "host;" program ";" stack
		if ($2 == "kernel")
			stack = stack kernel "_[k]"
		kernel = ""
		samples[stack] += $4
	} END { for (stack in samples) print stack, samples[stack] }' "$1" | LC_ALL=C sort
}

replay fp
wanted "$work/fp.csv" >"$work/wanted"
is "different stacks" "$(wc -l <"$work/wanted")" -gt 20
diff -u "$work/wanted" "$work/fp" || fail "the frames of the kernel's unwinder"

replay cfi
diff -u "$work/wanted" "$work/cfi" || fail "the frames in copies of the stack"

# The chain of frame pointers returns to the innermost frame: it is followed once.
replay cyclic
sed 's/^\(host;[^;]*;\)/\1[no unwind information];/' "$work/wanted" | LC_ALL=C sort |
	diff -u - "$work/cyclic" || fail "cyclic stacks"

replay garbage
is "stacks of random numbers without a reason" "$(grep -cv '^host;prog-[0-9];\[' "$work/garbage")" -eq 0

replay endless
is "stacks that are not cut" "$(grep -cv '^host;prog-[0-9];\[too deep\];' "$work/endless")" -eq 0
# The sampled function, 127 callers, and before them the domain, the program and the reason.
is "frames" "$(awk -F ';' 'NF > n { n = NF } END { print n }' "$work/endless")" -eq 131

# A storm of processes with random stacks keeps its samples.
"$build/tests/fixtures/make-storm" --seconds=4 --depth=20 "$work/storm"
expect 0 "call stacks" "$build/vmopd" --source=replay --replay="$work/storm" --session-dir="$sessions"
is "samples" "$(fact "$sessions/current.vmop" samples)" -eq 32000
expect 0 "host;cc1;" "$build/vmopreport" --session-dir="$sessions" --format=folded
is "samples in stacks" "$(awk '{ n += $NF } END { print n }' "$work/out")" -eq 32000
finish
