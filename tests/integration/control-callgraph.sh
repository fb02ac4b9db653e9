#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --callgraph in a session: the start line and --status name the mode.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf

# started OPTIONS TEXT: start, set $mode to the mode in --status, stop.
started() {
	# shellcheck disable=SC2086 # several options
	refuse 0 "$2" control --start --event=cpu-clock:100Hz --session-dir="$sessions" $1
	mode=$(control --status --json | sed -n 's/^    "mode": "\(.*\)",$/\1/p')
	expect 0 "$sessions" control --stop
}

started "" "sampling cpu-clock at 100 Hz"
is "the mode without the option" "$mode" = ""
started --callgraph=cfi:8K "call stacks "
case $mode in
off | kernel | fp)
	echo "skipped: this kernel does not copy user stacks: $mode stands in"
	exit 77
	;;
esac
is "cfi with a size" "$mode" = cfi
started --callgraph=kernel "call stacks of the kernel"
is "kernel" "$mode" = kernel
started --callgraph=fp "call stacks by frame pointers"
is "fp" "$mode" = fp
started --callgraph "call stacks by CFI, 16 KiB of each user stack"
is "no value" "$mode" = cfi
started "-c 9" "of each user stack, at most 9 frames"
is "opcontrol's depth" "$mode" = cfi
started --callgraph=bpf "16 KiB of"
case $mode in
bpf) started --callgraph=bpf "call stacks by BPF, else by CFI with 16 KiB of the user stack, at most 9 frames" ;;
*) started --callgraph=bpf "by CFI, 16 KiB of each user stack, at most 9 frames (not by BPF" ;;
esac
started --callgraph=defer "(not deferred, because"
is "defer" "$mode" = cfi
started --callgraph=off "sampling cpu-clock at 100 Hz"
is "off" "$mode" = ""
# The largest copies are whole records.
refuse 0 "64 KiB of each user stack" control --start --event=cpu-clock:999Hz \
	--callgraph=cfi:64K --callgraph-depth=127
expect 0 "call stacks by CFI, 64 KiB of each user stack" control --status
timeout 2 sh -c 'while :; do :; done' || :
expect 0 "" control --dump
is "malformed records" "$(member malformed)" -eq 0
is "samples" "$(member samples)" -gt 0
expect 0 "" control --shutdown
finish
