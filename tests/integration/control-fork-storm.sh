#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A thousand forks a second while the daemon samples: it stays small, follows the processes, and
# counts every loss.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
pid=$(daemon_pid)
expect 0 "forks" "$build/tests/integration/fork-storm" 5000 1000
samples=$(member samples)
expect 0 "" control --dump
expect 0 "sampling, pid $pid" control --status
cat "$work/out"
is "samples" "$samples" -gt 0
is "samples stored" "$(fact "$sessions/current.vmop" samples)" -ge "$samples"
is "records lost" "$(member lost)" -eq 0
is "processes still known" "$(member processes)" -lt 4000
rss=$(control --status --json | sed -n 's/.*"rss_bytes": \([0-9]*\).*/\1/p')
# With a sanitizer the memory use is not meaningful.
case $(nm "$build/vmopd" 2>/dev/null || :) in
*__asan_*) ;;
*) is "the daemon's memory in bytes" "$rss" -lt 67108864 ;;
esac
expect 0 "" control --shutdown
wait_gone "$pid"

# Separate threads: threads that are sampled while they end are freed as well (checked by a
# sanitizer's leak check).
echo "separate = thread" >"$VMOP_CONFIG"
"$build/tests/integration/fork-storm" 1000000 1500 >"$work/storm" &
storm=$!
expect 0 "sampling" "$build/vmopd" --foreground --start --duration=2s --session-dir="$sessions"
kill $storm
finish
