#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon stays out of the way: its threads wake up for flushes and full rings only. Guests that
# idle are not woken, and none of their memory is faulted in by reading it.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"

# switches PID FIELD: print the context switches of all threads of a process.
switches() {
	cat "/proc/$1"/task/*/status 2>/dev/null | awk -v field="$2" '$1 == field ":" { n += $2 } END { print n + 0 }'
}
rss() { awk '/^Rss:/ { print $2 }' "/proc/$1/smaps_rollup"; }

# ---- without guests: a rate whose rings last for a minute
need_perf
control --session-dir="$sessions" --passive-domains=none --event=cpu-clock:100Hz
expect 0 "sampling" control --start
pid=$(daemon_pid)
sleep 1
# On a busy machine it also wakes up for answers about programs that are new. A timer would be seen.
sampling_thread() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$pid/task/$pid/status"; }
before=$(sampling_thread)
begun=$(cut -d' ' -f1 /proc/uptime)
sleep 4
after=$(sampling_thread)
a_second=$(awk "BEGIN { getline line < \"/proc/uptime\"; split(line, now); print int(($after - $before) / (now[1] - $begun)) }")
echo "$((after - before)) wake-ups"
is "wake-ups a second" "$a_second" -le 40
is "wake-ups" "$((after - before))" -gt 0
expect 0 "" control --shutdown
wait_gone "$pid"
rm -rf "$sessions"

# ---- guests that idle: one with nothing in its RAM, and one with a Linux that is found
control --passive-domains=all --event=cpu-clock:1000Hz --guest-cpu=50%
linux=$build/tests/fixtures/guest-worker
name=quiet-$$
begin_guest "empty-$name" --idle --ram 256 --vcpus 2
empty=$guest
"$build/tests/fixtures/kvm-guest" --id "$name" --seconds 600 --idle --ram 256 --linux "$linux" >"$work/second" &
second=$!
trap 'kill $empty $second 2>/dev/null || :; clean_up' EXIT
until grep -q pid "$work/second"; do
	kill -0 $second 2>/dev/null || skip "$(cat "$work/second")"
	sleep 0.1
done
sleep 0.5
for guest in $empty $second; do
	switches "$guest" voluntary_ctxt_switches >"$work/woken.$guest"
	switches "$guest" nonvoluntary_ctxt_switches >>"$work/woken.$guest"
	rss "$guest" >"$work/rss.$guest"
done
expect 0 "sampling" control --start
tries=0
until control --status | grep -A3 "^$name:" | grep -q 'symbols, ' || [ $tries -ge 200 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
sleep 2
control --status
expect 0 "" control --inspect="$name"
for guest in $empty $second; do
	{
		switches "$guest" voluntary_ctxt_switches
		switches "$guest" nonvoluntary_ctxt_switches
	} >"$work/woken"
	cmp "$work/woken" "$work/woken.$guest" || fail "guest $guest was woken: $(paste "$work/woken.$guest" "$work/woken")"
	is "KiB of guest $guest" "$(rss "$guest")" -eq "$(cat "$work/rss.$guest")"
done
# The check is able to fail: a reader that ignores which pages exist faults them in.
python3 - "$second" <<'END' || fail "memory that is read is not seen in the resident size"
import os, sys
pid = sys.argv[1]
largest = max((line.split()[0] for line in open("/proc/%s/maps" % pid) if "zero" in line),
              key=lambda span: int(span.split("-")[1], 16) - int(span.split("-")[0], 16))
start, end = (int(bound, 16) for bound in largest.split("-"))
assert end - start == 256 << 20
def rss():
    return next(int(line.split()[1]) for line in open("/proc/%s/smaps_rollup" % pid) if line.startswith("Rss:"))
before = rss()
with open("/proc/%s/mem" % pid, "rb", buffering=0) as memory:
    memory.seek(end - (16 << 20))
    memory.read(1 << 20)
print("reading 1 MiB takes %d KiB" % (rss() - before))
assert rss() > before
END
expect 0 "" control --shutdown
finish
