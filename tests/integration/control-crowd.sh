#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ten thousand processes, and fifty guests that come and go: the daemon stays small, loses nothing, and
# keeps nothing of those that ended.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
rss_kib() { awk '/^Anonymous:/ { print $2 }' "/proc/$1/smaps_rollup"; }
descriptors() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }

# ---- 10,000 processes, most of them before the start
mkfifo "$work/end"
"$build/tests/integration/crowd" 10000 <"$work/end" >"$work/crowd" &
crowd=$!
exec 3>"$work/end"
trap 'kill $crowd 2>/dev/null || :; clean_up' EXIT
until grep -q ready "$work/crowd"; do
	kill -0 $crowd 2>/dev/null || skip "$(cat "$work/crowd")"
	sleep 0.1
done
echo "flush-interval = 200ms" >"$VMOP_CONFIG"
control --session-dir="$sessions" --event=cpu-clock:1000Hz --passive-domains=none
expect 0 "sampling" control --start
pid=$(daemon_pid)
is "processes" "$(member processes)" -ge 10000
[ -n "$sanitized" ] || is "KiB of memory with 10,000 processes" "$(rss_kib "$pid")" -lt 65536
is "records lost" "$(member lost)" -eq 0
# They end all at once.
exec 3>&-
wait $crowd || fail "the crowd"
tries=0
until [ "$(member processes)" -lt 5000 ] || [ $tries -ge 600 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
is "processes that are still known" "$(member processes)" -lt 5000
expect 0 "" control --shutdown
wait_gone "$pid"
is "processes refused" "$(sqlite3 "$sessions/current.vmop" "SELECT coalesce(sum(count), 0) FROM loss WHERE name = 'process-limit'")" -eq 0
rm -rf "$sessions"

# ---- fifty guests, ten at a time, beside one that always has samples
"$build/tests/fixtures/kvm-guest" --seconds 0 >"$work/guest" || skip "$(cat "$work/guest")"
control --passive-domains=all
begin_guest "always-$$"
always=$guest
trap 'kill $always 2>/dev/null || :; clean_up' EXIT
expect 0 "sampling" control --start
pid=$(daemon_pid)
sleep 1
before=$(descriptors "$pid")
round=0
while [ $round -lt 5 ]; do
	guests=
	for i in 0 1 2 3 4 5 6 7 8 9; do
		"$build/tests/fixtures/kvm-guest" --id "life-$$-$round$i" --seconds 2 \
			--linux "$build/tests/fixtures/guest-worker" >/dev/null &
		guests="$guests $!"
	done
	# shellcheck disable=SC2086 # a list of pids
	wait $guests
	round=$((round + 1))
done
running() {
	control --status --json | python3 -c '
import json, sys
domains = [d for d in json.load(sys.stdin)["domains"] if d["name"].startswith("life-%s-" % sys.argv[1])]
print(len(domains), sum(d["running"] for d in domains))' "$$"
}
tries=0
until [ "$(running)" = "50 0" ] || [ $tries -ge 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
is "guests, and those of them that run" "$(running)" = "50 0"
is "failures" "$(member failures)" -eq 0
# Nothing of the guests stays open, although another guest goes on.
tries=0
until [ "$(descriptors "$pid")" -lt $((before + 25)) ] || [ $tries -ge 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
after=$(descriptors "$pid")
# Other guests of this machine may come in between.
is "descriptors, after $before before" "$after" -lt $((before + 25))
expect 0 "" control --shutdown
expect 0 "life-$$-49" "$build/vmopreport" --session-dir="$sessions" --by=domain --top=0
is "guests in the report" "$(grep -o "life-$$-[0-9][0-9]" "$work/out" | sort -u | wc -l)" -eq 50
finish
