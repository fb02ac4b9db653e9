#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# With session-mode=0600 another user never gets a descriptor of the session's file or of a file
# beside it: each file has that mode from its creation.
# shellcheck source=tests/hostile/common.sh
. "$(dirname "$0")/common.sh"
need_perf
command -v strace >/dev/null || skip "no strace"
printf 'session-mode = 0600\nevent = cpu-clock:100Hz\n' >"$VMOP_CONFIG"
umask 0
# A sanitizer can't look for leaks in a traced program.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}detect_leaks=0"
bounded strace -f -y -e trace=openat,open,creat,chmod,fchmodat -o "$work/trace" \
	"$build/vmopd" -f --start --duration=2s --session-dir="$sessions" \
	>"$work/out" 2>&1 || fail "$(cat "$work/out")"
[ -f "$sessions/current.vmop" ] || skip "vmopd can't be traced: $(cat "$work/out")"
made=$(grep 'current\.vmop.*O_CREAT' "$work/trace" || :)
echo "$made"
is "files of the session that were made" "$(echo "$made" | grep -c .)" -ge 3
is "those with another mode" "$(echo "$made" | grep -vc '0600[) ]')" -eq 0
is "modes changed by path" "$(grep -c '^[0-9]* *\(chmod\|fchmodat\)(.*sessions' "$work/trace")" -eq 0
is "the file's mode" "$(stat -c %a "$sessions/current.vmop")" = 600
finish
