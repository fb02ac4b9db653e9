#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks from the kernel's sample to the session file: programs with known call paths, programs
# of the system, generated code, short-lived and deleted programs.
# shellcheck source=tests/integration/stacks-common.sh
. "$(dirname "$0")/stacks-common.sh"

# ---- known paths; 1 is the end mark of a complete stack, 4 that of code without CFI ----
recursion=';recursion'
for _ in 0 1 2 3 4 5 6 7 8 9 10 11 12; do recursion="$recursion;recurse"; done
sample "$known" recursion
all known-paths spin "^1;_start;.*$recursion;spin\$"
sample "$known" threads
all known-paths spin '^1;.*;thread_a;spin$'
all known-paths spin_b '^1;.*;thread_b;spin_b$'
all known-paths spin_c '^1;.*;thread_c;spin_c$'
sample "$known" signals
all known-paths spin '^1;.*;signals;[^;]*;wait_for_signal;[^;]*;handler;spin$'
sample "$known" library "$build/tests/fixtures/.libs/known-library.so"
all known-paths spin '^1;.*;library;[^;]*;spin$'
sample "$known" landing
all known-paths spin '^1;.*;landing;[^;]*;cleanup;spin$'
sample "$known" generated
all known-paths spin '^1;.*;generated;\[anon known-paths [^;]*;spin$'
sample "$known" generated-bare
all known-paths spin '^4;\[anon known-paths [^;]*;spin$'
sample "$known_static" recursion
all known-paths-sta spin "^1;.*$recursion;spin\$"

# ---- a program without symbols that is deleted while it runs ----
# It runs until vmopd has drained its first samples: then its file can be opened, though deleted.
cp "$known" "$work/deleted"
strip "$work/deleted"
# shellcheck disable=SC2016 # for the inner shell
sample sh -c 'KNOWN_PATHS_MS=1500 "$1" recursion 3>/dev/null & until [ "$(cat "/proc/$!/comm")" = deleted ]; do :; done
	rm "$1"; wait' - "$work/deleted"
total=$(count deleted .)
complete=$(count deleted '^1;')
echo "deleted: $complete of $total complete"
is "samples of the deleted program" "$total" -ge 20
is "complete percent" $((complete * 100 / total)) -ge 90

# ---- kernel frames lead into the user code that entered the kernel ----
sample dd if=/dev/zero of=/dev/null bs=1M count=20000
total=$(count dd ';do_syscall_64;|;el0_svc')
is "samples of dd in the kernel" "$total" -ge 20
complete=$(count dd '^1;.*/dd\\+0x.*(;do_syscall_64;|;el0_svc)')
echo "dd: $complete of $total samples in the kernel lead to user code"
is "of them from the start on, percent" $((complete * 100 / total)) -ge 90

# ---- programs of the system ----
# shellcheck disable=SC2016 # for perl
for command in 'python3 -c "sum(i*i for i in range(6000000))"' \
	'perl -e "\$n += \$_ for 1..9000000"' \
	'xz -1 -T1 -c /usr/bin/perl' \
	'sqlite3 :memory: "with recursive n(i) as (select 1 union all select i+1 from n where i < 3000000) select sum(i) from n"'; do
	program=${command%% *}
	command -v "$program" >/dev/null || {
		echo "not tested: $program is not here"
		continue
	}
	sample sh -c "$command >/dev/null"
	total=$(count "$program" .)
	complete=$(count "$program" '^1;')
	echo "$program: $complete of $total stacks are complete"
	is "samples of $program" "$total" -ge 20
	is "complete stacks of $program, percent" $((complete * 100 / total)) -ge 90
done

# ---- without --callgraph there are none ----
rm -rf "$sessions"
control --run --callgraph=off --event=cpu-clock:999Hz --session-dir="$sessions" -- "$known" recursion \
	3>/dev/null >"$work/out" 2>&1 || echo "it ended with $?"
stacks
is "stacks without --callgraph" "$(grep -cvP '\t-;' "$work/stacks" || true)" = 0

# ---- the counts of --status ----
rm -rf "$sessions"
expect 0 "sampling" control --start --callgraph --event=cpu-clock:999Hz --session-dir="$sessions"
KNOWN_PATHS_MS=2500 "$known" recursion 3>/dev/null || echo "it ended with $?" # longer than an interval
expect 0 " stacks: " control --status
expect 0 "% complete" control --status
is "stacks" "$(control --status --json | sed -n 's/^ *"stacks": \([0-9]*\),/\1/p')" -ge 20

# ---- and of the end of a session ----
expect 0 "% complete" control --stop
refuse 0 "sampling" control --start --callgraph --event=cpu-clock:999Hz --session-dir="$sessions"
"$known" recursion 3>/dev/null || echo "it ended with $?"
expect 0 " call stacks: " control --shutdown
# shellcheck disable=SC2016 # an inner shell
expect 0 "% complete" control --run --callgraph --event=cpu-clock:999Hz --session-dir="$sessions" -- \
	sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
is "the number in the session" "$(sed -n 's/.* \([0-9]*\) call stacks: .*/\1/p' "$work/out")" -ge 20
expect 0 "the session is in" control --run --callgraph=off --event=cpu-clock:100Hz \
	--session-dir="$sessions" -- true
is "lines about stacks of a session without" "$(grep -c "call stacks" "$work/out")" -eq 0
finish
