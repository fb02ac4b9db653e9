#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recorded stream becomes a session with the stream's own times and all its samples. A damaged
# stream is reported, and the samples before the damage are kept. Needs no privileges.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
vmopd=$build/vmopd
"$build/tests/fixtures/make-stream" --samples=20000 --hz=1000 --cpus=2 --guests=2 "$work/stream"
expect 0 "replaying cpu-clock at 1000 Hz" "$vmopd" --source=replay --replay="$work/stream" --session-dir="$sessions"
session=$sessions/current.vmop
is "samples" "$(fact "$session" samples)" -eq 20000
# 20000 samples of 2 CPUs at 1 kHz take 10 s of stream time.
is "intervals of a second" "$(fact "$session" intervals)" -ge 9
is "intervals of a second" "$(fact "$session" intervals)" -le 12
is "its span in ns" "$(fact "$session" span_ns)" -ge 9000000000
is "its source" "$(fact "$session" source)" = replay
is "files beside it" "$(find "$sessions" -name '*.vmop-*')" = ""
is "its run directory" "$(find "$VMOP_RUNDIR" 2>/dev/null)" = ""

# Another interval, from the set-up file.
echo "flush-interval = 5s" >"$VMOP_CONFIG"
expect 0 "replaying" "$vmopd" --replay="$work/stream" --session-dir="$sessions"
is "samples" "$(fact "$session" samples)" -eq 20000
is "intervals of five seconds" "$(fact "$session" intervals)" -le 3
is "sessions" "$(find "$sessions" -name '*.vmop' | wc -l)" -eq 2

# A throttled event: one line, however often it occurs, and the number in the session.
"$build/tests/fixtures/make-stream" --samples=5000 --throttles=3 "$work/throttled"
expect 0 "the kernel holds back an event" "$vmopd" --replay="$work/throttled" \
	--session-dir="$work/throttled.d"
is "warnings" "$(grep -c "holds back" "$work/out")" -eq 1
is "times in the session" "$(fact "$work/throttled.d/current.vmop" loss)" = "3 throttled"

# Damaged after its samples, truncated, and not a stream at all.
{
	cat "$work/stream"
	echo garbage garbage garbage
} >"$work/broken"
expect 3 "$work/broken" "$vmopd" --replay="$work/broken" --session-dir="$sessions"
is "samples before the break" "$(fact "$session" samples)" -eq 20000
size=$(wc -c <"$work/stream")
head -c $((size / 2 + 4)) "$work/stream" >"$work/cut"
expect 3 "$work/cut" "$vmopd" --replay="$work/cut" --session-dir="$sessions"
echo junk >"$work/junk"
refuse 3 "$work/junk" "$vmopd" --replay="$work/junk" --session-dir="$sessions"
refuse 3 "$work/none" "$vmopd" --replay="$work/none" --session-dir="$sessions"
is "sessions" "$(find "$sessions" -name '*.vmop' | wc -l)" -eq 4
finish
