#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Members of the group of a session's directory read a session, also a live one, and no other user
# does. With session-mode=0600 another user never gets a descriptor of the session's file or of a file
# beside it: each file has that mode from its creation.
# shellcheck source=tests/hostile/common.sh
. "$(dirname "$0")/common.sh"
need_perf

# report GROUP: make a report of the session as a user whose only group that is.
report() {
	bounded setpriv --reuid="$evil_uid" --regid="$1" --clear-groups "$build/vmopreport" --session-dir="$sessions" -l
}
other_gid=$((evil_uid - 1))
mkdir "$sessions"
chgrp "$other_gid" "$sessions"
chmod 2755 "$sessions"
expect 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
until [ "$(fact "$sessions/current.vmop" samples)" -gt 100 ]; do sleep 0.2; done
is "modes and groups" "$(find "$sessions" -type f -printf '%m %G\n' | sort -u)" = "640 $other_gid"
expect 0 "%" report "$other_gid"
refuse 3 "may read it" report "$evil_uid"
expect 0 "goes on in a fresh session" control --rotate
expect 0 "" control --shutdown
is "modes and groups at the end" "$(find "$sessions" -type f -printf '%m %G\n' | sort -u)" = "640 $other_gid"
expect 0 "%" report "$other_gid"
refuse 3 "may read it" report "$evil_uid"
rm -r "$sessions"

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
