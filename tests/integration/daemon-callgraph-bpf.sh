#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks that the kernel unwinds, --callgraph=bpf: the known paths of daemon-callgraph*.sh are
# the same; stacks that are larger than a copy are whole; programs whose code is replaced all the
# time have no wrong stack; without BPF the start line gives the reason.
# shellcheck source=tests/integration/stacks-common.sh
. "$(dirname "$0")/stacks-common.sh"

# mode: print the mode of --callgraph in --status.
mode() {
	control --status --json | sed -n 's/^    "mode": "\(.*\)",$/\1/p'
}

begin() {
	rm -rf "$sessions"
	control --start --callgraph=bpf --event=cpu-clock:999Hz --session-dir="$sessions" >"$work/out" 2>&1 ||
		fail "start: $(cat "$work/out")"
}

begin
if [ "$(mode)" != bpf ]; then
	expect 0 "(not by BPF" control --status
	why=$(control --status --json | sed -n 's/^    "note": "\(.*\)",\{0,1\}$/\1/p')
	control --shutdown >/dev/null
	[ "$failed" -eq 0 ] || finish
	skip "$why"
fi
expect 0 "call stacks by BPF" control --status

# ---- programs, each under a name of its own and long enough for its tables to be built ----
fixture() {
	cp "$1" "$work/$2"
}
by_kernel() {
	control --dump >/dev/null
	stack_count by_kernel
}
copied() {
	stack_count copied
}

# run MS PROGRAM ARGUMENTS...: the known paths end with any status.
run() {
	ms=$1
	shift
	KNOWN_PATHS_MS=$ms "$@" 3>/dev/null || echo "$* ended with $?"
}

fixture "$known" one-recursion
fixture "$known_static" one-static
fixture "$hard" one-spin
before=$(by_kernel) copied_before=$(copied)
run 2000 "$work/one-recursion" recursion
run 2000 "$work/one-static" recursion
run 0 "$work/one-spin" spin 2000
after=$(by_kernel) copied_after=$(copied)
unwound=$((after - before)) copies=$((copied_after - copied_before))
echo "unwound in the kernel $unwound, copied $copies, also of other programs on this machine"

# Names of at most 15 characters, as the kernel keeps them.
for path in threads signals exception generated generated-bare; do
	fixture "$known" "k-$path"
	run 1000 "$work/k-$path" $path
done
# Without the program's tables, which a slow machine takes 0.25 s to make, a copy has only the signal's stack.
fixture "$known" k-signal-stack
run 2000 "$work/k-signal-stack" signal-stack
fixture "$known" k-library
run 1000 "$work/k-library" library "$build/tests/fixtures/.libs/known-library.so"
fixture "$known" k-landing
run 1000 "$work/k-landing" landing
strip -o "$work/k-stripped" "$hard"
run 0 "$work/k-stripped" spin 1000
fixture "$hard" k-deep
run 0 "$work/k-deep" deep 1500
fixture "$hard" k-small
run 0 "$work/k-small" spin 10 # its tables
run 0 "$work/k-small" small 10000
fixture "$hard" k-fork
run 0 "$work/k-fork" fork 400
fixture "$hard" k-exec
run 0 "$work/k-exec" exec 60
fixture "$build/tests/fixtures/changing-code" k-changing
libraries=$build/tests/fixtures/.libs
n_same=$("$work/k-changing" "$libraries/known-library.so" "$libraries/known-library-large.so" 12)
has_throws=no
if ${CXX:-c++} -O2 -fno-optimize-sibling-calls -o "$work/k-throws" "$src/tests/fixtures/throws.cc" \
	2>"$work/err"; then
	has_throws=yes
	run 0 "$work/k-throws"
	run 0 "$work/k-throws"
fi
is "records lost" "$(member lost)" -eq 0
is "malformed records" "$(member malformed)" -eq 0
expect 0 "user stacks unwound in the kernel" control --status
control --status --json | grep -E '"(by_kernel|copied|outdated|kernel_[a-z_]*|table_late)"'
control --shutdown >/dev/null
stacks

# none_wrong COMM LEAF PATTERN: all complete stacks of the function LEAF match.
none_wrong() {
	wrong=$(awk -F '\t' -v comm="$1" -v leaf=";$2\$" -v pattern="$3" \
		'$3 == comm && $4 ~ "^1;" && $4 ~ leaf && $4 !~ pattern { n += $1; print $4 >"/dev/stderr" }
		END { print n + 0 }' "$work/stacks")
	is "complete stacks of $1 that are wrong" "$wrong" -eq 0
}
known_path() {
	all "$@"
	none_wrong "$@"
}

recursion=";recursion$(repeated 13 ';recurse')"
known_path one-recursion spin "^1;_start;.*$recursion;spin\$"
known_path one-static spin "^1;.*$recursion;spin\$"
known_path one-spin leaf '^1;_start;.*;main;spin;path_a;path_b;path_c;leaf$'
own=0
for program in one-recursion one-static one-spin; do own=$((own + $(count $program .))); done
# The first of them are copied, until the tables are in the kernel, which takes longer while other
# programs come and go.
is "samples of these" "$own" -ge 3000
is "percent of them that the kernel unwound" $((unwound * 100 / own)) -ge 70
known_path k-threads spin '^1;.*;thread_a;spin$'
known_path k-threads spin_b '^1;.*;thread_b;spin_b$'
known_path k-threads spin_c '^1;.*;thread_c;spin_c$'
known_path k-signals spin '^1;.*;signals;[^;]*;wait_for_signal;[^;]*;handler;spin$'
known_path k-library spin '^1;.*;library;[^;]*;spin$'
known_path k-landing spin '^1;.*;landing;[^;]*;cleanup;spin$'
known_path k-exception spin '^1;.*;exception;.*;at_frame;spin$'
known_path k-generated spin '^1;.*;generated;\[anon k-generated [^;]*;spin$'
all k-generated-bar spin '^4;\[anon k-generated-bar[^;]*;spin$'
percent "complete" k-stripped '^1;' -ge 95
# The copy has only the signal's stack, and the kernel can read the main one too.
percent "complete through the stack of signals" k-signal-stack '^1;.*wait_for_signal;.*handler;spin$' -ge 75
none_wrong k-signal-stack spin '^1;_start;.*;main;.*wait_for_signal;[^;]*;handler;spin$'
# More than 110 KiB: the copy has 16.
percent "complete with 110 large frames" k-deep "^1;_start;.*;main;deep$(repeated 110 ';deeper');leaf\$" -ge 80
percent "end at the depth limit" k-small "^2$(repeated 126 ';small')(;small)?(;leaf)?\$" -ge 80
known_path k-fork leaf '^1;_start;.*;main;fork_many;path_a;path_b;path_c;leaf$'
known_path k-exec leaf '^1;_start;.*;main;exec_many;path_a;path_b;path_c;leaf$'
echo "changing-code: $n_same of 12 times the second library was at the place of the first one"
is "times the code was replaced" "$n_same" -gt 0
none_wrong k-changing spin '^1;_start;.*;main;call_in_turn;call_library;[^;]*known_library_call_back[^;]*;spin$'
percent "complete, or by old mappings" k-changing '^(1|10);' -ge 95
# The daemon learns of a new mapping when it drains the ring, later on a busy machine.
percent "complete" k-changing '^1;' -ge 2
if [ $has_throws = yes ]; then
	cold='(\\.cold)?'
	none_wrong k-throws in_destructor "^1;_start;.*;main;catcher;outer;middle$cold;clean_up;in_destructor\$"
	none_wrong k-throws after_handler '^1;_start;.*;main;catcher;after_handler$'
	percent "complete" k-throws '^1;' -ge 95
else
	echo "not tested: no C++ compiler: $(head -1 "$work/err")"
fi

# ---- without the right to use bpf() ----
if setpriv --bounding-set=-bpf,-sys_admin true 2>"$work/err"; then
	rm -rf "$sessions"
	expect 0 "by CFI, 16 KiB of each user stack (not by BPF" setpriv --bounding-set=-bpf,-sys_admin \
		"$build/vmopcontrol" --start --callgraph=bpf --event=cpu-clock:999Hz --session-dir="$sessions"
	is "the mode in its place" "$(mode)" = cfi
	control --shutdown >/dev/null
else
	echo "not tested: $(cat "$work/err")"
fi
finish
