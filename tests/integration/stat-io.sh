#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --io: parts, bounds, running processes, intervals, runs and formats.
# shellcheck source=tests/integration/stat-io-common.sh
. "$(dirname "$0")/stat-io-common.sh"

need_bpf
base_of bpf
# Faults in a mapped file: 64 pages, and no other call's.
"$stat" --io=bpf --json -o "$work/counted" "$known" "$work/known" map
before=$(json 'value("io-file-faults")' "$work/base")
after=$(json 'value("io-file-faults")' "$work/counted")
if [ "$before" = None ]; then
	is "the reason without faults" "$(json 'facts["no-faults"] is not None' "$work/counted")" = True
else
	is "faults in a mapped file of 64 pages ($before without)" $((after - before)) -ge 60
	is "no more than these" $((after - before)) -le 80
fi

# Sums of kinds, threads and descriptors are the whole.
exact bpf threads pipes sockets
for by in kind process thread descriptor; do
	is "bytes read by $by" "$(json "sum(r['bytes'] for r in rows if r.get('io') == '$by' and r['direction'] == 'read') == value('io-read-bytes')" "$work/counted")" = True
	is "calls of writes by $by" "$(json "sum(r['calls'] for r in rows if r.get('io') == '$by' and r['direction'] == 'write') == value('io-write-calls')" "$work/counted")" = True
done
is "kinds" "$(json 'sorted({r["kind"] for r in rows if r.get("io") == "kind"})' "$work/counted")" = "['device', 'file', 'pipe', 'socket']"
is "a descriptor's name" "$(json 'any(r["name"] == "zero" and r["kind"] == "device" for r in rows if r.get("io") == "descriptor")' "$work/counted")" = True
exact bpf descriptors
is "the most open descriptors" "$(json 'value("io-open-descriptors") >= 900' "$work/counted")" = True

# Ten thousand threads, a fork bomb, and more threads than there are numbers: the sums stay exact.
exact bpf crowd
is "threads of ten thousand" "$(json 'facts["threads"]' "$work/counted")" -ge 10000
exact bpf bomb
is "processes of the bomb" "$(json 'len({r["pid"] for r in rows if r.get("io") == "process"})' "$work/counted")" -eq 512
exact bpf crowd crowd
is "threads beyond the bound are left out, and counted" "$(json 'facts["left-out"] >= 3000' "$work/counted")" = True

# A process that runs already, with descriptors that it opened before; until it ends.
mkfifo "$work/fifo"
(exec 3<>"$work/fifo"; read -r _ <&3; exec dd if=/dev/zero of=/dev/null bs=500 count=300 status=none) &
pid=$!
# The command begins when the process is counted, and ends with it.
"$stat" --io --json -o "$work/out" -p $pid sh -c "echo go >'$work/fifo'; sleep 20"
wait $pid
is "bytes of a running process" "$(json 'value("io-write-bytes")' "$work/out")" -eq 150000
is "kind of a descriptor that was open" "$(json 'any(r["kind"] == "pipe" and r["descriptor"] == 0 and r["bytes"] == 3 for r in rows if r.get("io") == "descriptor")' "$work/out")" = True
# Only that process: neither this shell's nor vmopstat's.
sleep 30 &
pid=$!
(for _ in 1 2 3; do dd if=/dev/zero of=/dev/null bs=500 count=300 status=none; done) &
"$stat" --io --json -o "$work/out" -p $pid sleep 0.3
is "bytes of one that sleeps" "$(json 'value("io-read-bytes")' "$work/out")" -eq 0
kill $pid
wait

# A set-user-ID program is counted like any other.
cp "$known" "$work/suid"
chmod 4755 "$work/suid"
"$stat" --io --json -o "$work/counted" sh -c "'$work/suid' '$work/known' file; :"
is "writes of a set-user-ID program" "$(json 'sum(r["calls"] for r in rows if r.get("io") == "call" and r["call"] == "pwritev2")' "$work/counted")" -eq 10

# Intervals add up to the whole; repeated runs have a mean and a spread.
"$stat" --io --json -I 100 -o "$work/out" sh -c 'for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=1000 count=250 status=none; sleep 0.1; done'
is "bytes of all intervals" "$(json 'sum(r["counter-value"] or 0 for r in rows if r.get("event") == "io-write-bytes")' "$work/out")" -eq 1000000
is "intervals" "$(json 'len([r for r in rows if r.get("event") == "io-write-bytes"]) >= 4' "$work/out")" = True
"$stat" --io --json -r 3 -o "$work/out" dd if=/dev/zero of=/dev/null bs=100 count=50 status=none
is "the mean of three runs" "$(json 'value("io-write-bytes")' "$work/out")" = 5000.0
is "runs" "$(json '[r["runs"] for r in rows if r.get("event") == "io-write-bytes"]' "$work/out")" = '[3]'

# The table, and fields.
COLUMNS=80 "$stat" --io=time -o "$work/out" "$known" "$work/known" threads sockets pipes
# The title has the command's path, of any length.
is "columns of the table" "$(awk '!/^ Performance counter stats for/ { if (length > n) n = length } END { print n }' "$work/out")" -le 80
is "what others pay" "$(grep -c 'ns for a system call' "$work/out")" -eq 1
"$stat" --io -x';' -o "$work/out" dd if=/dev/zero of=/dev/null bs=100 count=50 status=none
is "bytes in fields" "$(sed -n 's/^\([0-9]*\);;io-write-bytes;.*/\1/p' "$work/out")" -eq 5000
is "bytes by kind in fields" "$(sed -n 's/^io-kind;write;50;\([0-9]*\);.*/\1/p' "$work/out")" -eq 5000
finish
