#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks that are deep, numerous or overwritten: bounded, with the reason of their end, and
# other programs' stacks stay whole. The numbers before stacks are those of enum vmop_stack_end.
# shellcheck source=tests/integration/stacks-common.sh
. "$(dirname "$0")/stacks-common.sh"

# ---- 10,000 frames ----
sample "$hard" small 10000
percent "end at the depth limit with 127 callers" hard-stacks "^2$(repeated 126 ';small')(;small)?(;leaf)?\$" -ge 85
callgraph=--callgraph=cfi:8K
sample "$hard" large 10000
percent "end with the copy" hard-stacks "^3$(repeated 10 ';large')(;large)*(;leaf)?\$" -ge 80
callgraph=--callgraph

# ---- the overwritten stack of one program, and another program ----
rm -rf "$sessions"
control --start --callgraph --event=cpu-clock:999Hz --session-dir="$sessions" >/dev/null
pid=$(daemon_pid)
cp "$hard" "$work/unharmed"
"$hard" scribble 1000 &
scribbler=$!
"$work/unharmed" spin 1000
wait $scribbler || fail "scribble ended with $?"
torn=$(stack_count torn) no_cfi=$(stack_count no_cfi)
echo "torn $torn, no CFI $no_cfi"
is "stacks that are counted as torn or without CFI" $((torn + no_cfi)) -ge 100
expect 0 "sampling, pid $pid" control --status
is "records lost" "$(member lost)" -eq 0
control --shutdown >/dev/null
stacks
percent "are torn or without CFI" hard-stacks '^[46];' -ge 50
percent "complete" unharmed '^1;.*;path_c;leaf' -ge 95

# ---- more stacks than the daemon keeps ----
rm -rf "$sessions"
control --start --callgraph=cfi:8K --event=cpu-clock:8000Hz --session-dir="$sessions" >/dev/null
pid=$(daemon_pid)
for _ in 1 2 3; do "$hard" many 4000 & done
wait
memory_kib=$(most_memory_kib)
too_many=$(stack_count too_many)
n_stacks=$(stack_count stacks)
nodes=$(stack_count nodes)
echo "stacks $n_stacks, nodes $nodes, too many $too_many, memory $memory_kib KiB"
expect 0 "sampling, pid $pid" control --status
cat "$work/out"
is "stacks beyond the bound" "$too_many" -gt 0
samples=$(member samples)
# With a sanitizer neither the memory nor the speed is meaningful.
case $(nm "$build/vmopd" 2>/dev/null || :) in
*__asan_*) ;;
*)
	is "the daemon's largest memory in KiB" "$memory_kib" -lt 400000
	# 128 MiB of stacks a second pass through rings of a few: a busy machine loses some.
	is "records lost, of $samples" "$(member lost)" -lt $((samples / 5))
	;;
esac
control --shutdown >/dev/null
is "samples stored" "$(fact "$sessions/current.vmop" samples)" -ge "$samples"
stacks
finish
