#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --io counts as many calls and bytes as fio does, with several engines, and has its rate.
# shellcheck source=tests/integration/stat-io-common.sh
. "$(dirname "$0")/stat-io-common.sh"
command -v fio >/dev/null || skip "fio is not installed"
need_bpf

# count ENGINE PATTERN BLOCK-BYTES JOBS ENGINE-COUNTS-CALLS
count() {
	set -- "$1" "$5" --name=job --ioengine="$1" --rw="$2" --bs="$3" --numjobs="$4" --size=1M --directory="$work" \
		--thread --group_reporting --fallocate=none --output-format=json --output="$work/fio"
	engine=$1 is_counted=$2
	shift 2
	# The files are there before: fio would write them first, beyond its own numbers.
	fio "$@" --create_only=1 >"$work/log" 2>&1 || fail "fio: $(cat "$work/log")"
	"$stat" --io --json -o "$work/out" -- fio "$@" >"$work/log" 2>&1 || fail "vmopstat fio: $(cat "$work/log")"
	# Only the files of the job: fio reads and writes others for itself.
	python3 - "$work/out" "$work/fio" "$is_counted" >"$work/differences" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
job = json.load(open(sys.argv[2]))["jobs"][0]
for direction in "read", "write":
    ours = [r for r in rows if r.get("io") == "descriptor" and r["name"].startswith("job.") and r["direction"] == direction]
    calls, size = sum(r["calls"] for r in ours), sum(r["bytes"] for r in ours)
    ios, total = job[direction]["total_ios"], job[direction]["io_bytes"]
    if sys.argv[3] == "no":
        ios = total = 0
    print(direction, "fio", ios, total, "vmopstat", calls, size, "ok" if (ios, total) == (calls, size) else "DIFFERENT")
END
	is "fio $engine: $(cat "$work/differences")" "$(grep -c ok "$work/differences")" -eq 2
	is "calls of fio $engine" "$(python3 -c 'import json, sys; print(sum(json.load(open(sys.argv[1]))["jobs"][0][d]["total_ios"] for d in ("read", "write")))' "$work/fio")" -gt 10
	rm -f "$work"/job.*
}
count sync read 4096 1 yes
count psync randrw 512 3 yes
count vsync write 8192 2 yes
count pvsync2 randwrite 2048 2 yes
count mmap read 4096 1 no
if fio --enghelp 2>/dev/null | grep -qw io_uring && [ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 1)" = 0 ]; then
	count io_uring randread 4096 1 yes
fi

# A rate that fio keeps: the mean of inner intervals, which have neither its start nor its end.
"$stat" --io --json -I 500 -o "$work/out" -- fio --name=job --ioengine=psync --rw=read --bs=16k --size=1M --directory="$work" \
	--thread --fallocate=none --rate=8m --time_based --runtime=6 --output-format=json --output="$work/fio" >"$work/log" 2>&1 ||
	fail "fio: $(cat "$work/log")"
python3 - "$work/out" "$work/fio" >"$work/rate" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
rates = [(r["interval"], r["metric-value"]) for r in rows if r.get("event") == "io-read-bytes" and r["metric-value"] > 4e6]
inner, bw = rates[1:-1], json.load(open(sys.argv[2]))["jobs"][0]["read"]["bw_bytes"]
# Weighed by time: intervals are not equally long on a busy machine.
spans = [b[0] - a[0] for a, b in zip(rates, rates[1:])][:len(inner)]
ours = sum(rate * span for (_, rate), span in zip(inner, spans)) / sum(spans)
print("fio %.0f bytes/s, vmopstat %.0f: %.2f %%" % (bw, ours, 100 * ours / bw - 100), "ok" if abs(ours / bw - 1) < 0.03 else "DIFFERENT")
END
is "rate within 3 %: $(cat "$work/rate")" "$(grep -c ok "$work/rate")" -eq 1
finish
