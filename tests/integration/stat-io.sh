#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --io counts what a program that knows its own I/O did: each call's number, bytes and
# outcomes, over threads, children, signals, 32-bit calls and io_uring; by BPF and by a library.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
stat=$build/vmopstat
known=$build/tests/fixtures/known-io
check=$VMOP_SRCDIR/tests/integration/stat-io-check.py
export VMOP_APPIO_DIR="$build/.libs"

# json EXPRESSION FILE: evaluate with rows, the list of the file's objects.
json() {
	python3 -c 'import json, sys; rows = [json.loads(line) for line in open(sys.argv[2])]
facts = [r for r in rows if r.get("io") == "facts"][0]
value = lambda name: [r for r in rows if r.get("event") == name][0]["counter-value"]
print(eval(sys.argv[1]))' "$1" "$2"
}
# exact WAY PART...: compare known-io's own counts with those of vmopstat.
exact() {
	way=$1
	shift
	"$stat" --io="$way" --json -o "$work/counted" -- "$known" "$work/known" "$@" ||
		fail "exit $? of vmopstat --io=$way with $*"
	python3 "$check" "$work/known" "$work/counted" "$work/base" >"$work/differences"
	is "known-io $* by $way: $(cat "$work/differences")" "$(wc -l <"$work/differences")" -eq 0
	# An empty list would agree with everything.
	is "calls that known-io made" "$(wc -l <"$work/known")" -gt 1
}

# ---- by the library: for everybody ----
base_of() { # WAY
	"$stat" --io="$1" --json -o "$work/base" "$known" "$work/known" || fail "exit $? of vmopstat --io=$1"
}
base_of preload
exact preload libc
is "the way" "$(json 'facts["way"]' "$work/counted")" = preload
is "what the library does not see" "$(json '"does not see" in facts["no-faults"]' "$work/counted")" = True
is "threads" "$(json 'facts["threads"]' "$work/counted")" -eq 1
exact preload,time libc
is "time of reads" "$(json 'value("io-read-time") > 0' "$work/counted")" = True
# A child, and a program that it executes.
"$stat" --io=preload --json -o "$work/out" sh -c "dd if=/dev/zero of=/dev/null bs=777 count=100 status=none; :"
is "bytes of a child" "$(json 'value("io-write-bytes")' "$work/out")" -eq 77700
# Programs that it does not see: no number, but the reason.
if printf 'int main(void) { return 0; }' | "${VMOP_CC##* }" -static -o "$work/static" -x c - 2>/dev/null; then
	"$stat" --io=preload --json -o "$work/out" "$work/static"
	is "no counts of a static program" "$(json 'value("io-read-calls") is None and "static" in facts["no-counts"]' "$work/out")" = True
	"$stat" --io=preload --json -o "$work/out" sh -c "'$work/static'; :"
	is "a static child is named" "$(json 'facts["programs-unseen"]' "$work/out")" -eq 1
fi
# Its environment is the command's own.
# shellcheck disable=SC2016 # for the shell that it is given to
is "LD_PRELOAD of before stays" "$(LD_PRELOAD='' "$stat" --io=preload -o "$work/out" sh -c 'echo ${LD_PRELOAD##*/}')" = vmop-appio.so
is "shared memory that is left" "$(find /dev/shm /tmp -maxdepth 1 -name 'vmop-appio-*' -newer "$work/known" | wc -l)" -eq 0

for wrong in '--io -a' '--io=times true' '--io=preload -p 1'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$stat" $wrong >"$work/out" 2>"$work/err" || status=$?
	is "exit status of vmopstat $wrong" $status -ge 2
	is "lines of its message: $(cat "$work/err")" "$(wc -l <"$work/err")" -eq 1
done

# ---- by BPF ----
"$stat" --io=bpf -o "$work/out" true 2>"$work/err" || {
	[ "$failed" -eq 0 ] || finish
	skip "not by BPF: $(cat "$work/err")"
}
base_of bpf
for part in file threads forks pipes signals sockets selects libc descriptors; do
	exact bpf $part
	is "nothing is left out of $part" "$(json 'sum(facts[k] for k in ("left-out", "end-unknown", "vectors-unread", "threads-lost", "missed"))' "$work/counted")" -eq 0
done
exact bpf,time file pipes sockets
is "times of reads and writes" "$(json 'value("io-read-time") > 0 and value("io-write-time") > 0' "$work/counted")" = True
# The time of a call that waits is that of the wait.
"$stat" --io=time --json -o "$work/out" sh -c 'sleep 0.4 | cat'
is "ms of a read that waits" "$(json '300 < value("io-read-time") < 3000' "$work/out")" = True
[ "$(uname -m)" != x86_64 ] || exact bpf narrow
if "$known" "$work/known" uring 2>"$work/err"; then
	exact bpf uring
else
	echo "not tried: $(cat "$work/err")"
fi

# A real 32-bit program, where the compiler makes one and the kernel runs it.
cat >"$work/narrow.c" <<'END'
static int call(int n, int b, const void *c, int d)
{
	int result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(n), "b"(b), "c"(c), "d"(d) : "memory");
	return result;
}
void _start(void)
{
	static char bytes[64];
	static const struct { char *at; unsigned len; } vector[2] = {{bytes, 10}, {bytes, 20}};
	int fd = call(5, (int)"/dev/null", (void *)2, 0); /* open */
	for (int i = 0; i < 12; i++) {
		call(4, fd, bytes, 33);	  /* write */
		call(146, fd, vector, 2); /* writev */
		call(3, fd, bytes, 10);	  /* read: the end of the file */
	}
	call(1, 0, 0, 0);
}
END
if "${VMOP_CC##* }" -m32 -O1 -ffreestanding -fno-pic -no-pie -fno-stack-protector -nostdlib -static -o "$work/narrow" "$work/narrow.c" 2>/dev/null &&
	"$work/narrow"; then
	"$stat" --io --json -o "$work/out" "$work/narrow"
	is "bytes written by a 32-bit program" "$(json 'value("io-write-bytes")' "$work/out")" -eq $((12 * 63))
	is "its reads at the end of the file" "$(json 'value("io-read-eof")' "$work/out")" -eq 12
	is "its open" "$(json 'value("io-open-calls")' "$work/out")" -eq 1
else
	echo "not tried: a 32-bit program"
fi

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
is "kind of a descriptor that was open" "$(json 'any(r["kind"] == "pipe" and r["descriptor"] == 3 and r["bytes"] == 3 for r in rows if r.get("io") == "descriptor")' "$work/out")" = True
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
is "columns of the table" "$(awk '{ if (length > n) n = length } END { print n }' "$work/out")" -le 80
is "what others pay" "$(grep -c 'ns for a system call' "$work/out")" -eq 1
"$stat" --io -x';' -o "$work/out" dd if=/dev/zero of=/dev/null bs=100 count=50 status=none
is "bytes in fields" "$(sed -n 's/^\([0-9]*\);;io-write-bytes;.*/\1/p' "$work/out")" -eq 5000
is "bytes by kind in fields" "$(sed -n 's/^io-kind;write;50;\([0-9]*\);.*/\1/p' "$work/out")" -eq 5000

# fio knows its own numbers as well.
if command -v fio >/dev/null; then
	for job in "sync randrw 4096 1" "psync randwrite 16384 4" "vsync read 8192 2" "pvsync2 randread 512 2" "splice write 65536 1" "mmap randread 4096 1"; do
		# shellcheck disable=SC2086 # words
		set -- $job
		"$stat" --io --json -o "$work/out" fio --name=job --ioengine="$1" --rw="$2" --bs="$3" --numjobs="$4" --size=2M --directory="$work" \
			--thread --group_reporting --output-format=json --output="$work/fio" --fallocate=none --randrepeat=1 >"$work/log" 2>&1 ||
			{ fail "fio: $(cat "$work/log")"; continue; }
		# Only the files of the job: fio reads and writes others for itself.
		python3 - "$work/out" "$work/fio" "$1" >"$work/fio-differences" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
job = json.load(open(sys.argv[2]))["jobs"][0]
for direction in "read", "write":
    ours = [r for r in rows if r.get("io") == "descriptor" and r["name"].startswith("job.") and r["direction"] == direction]
    calls, size = sum(r["calls"] for r in ours), sum(r["bytes"] for r in ours)
    ios, total = job[direction]["total_ios"], job[direction]["io_bytes"]
    if sys.argv[3] == "mmap":
        ios = total = 0
    # Before it reads, fio writes the files: not part of its numbers.
    laid_out = direction == "write" and job["read"]["total_ios"] > 0
    print(direction, "fio", ios, total, "vmopstat", calls, size, "ok" if laid_out or (ios, total) == (calls, size) else "DIFFERENT")
END
		is "fio $job: $(cat "$work/fio-differences")" "$(grep -c DIFFERENT "$work/fio-differences")" -eq 0
		is "fio did something" "$(wc -l <"$work/fio-differences")" -eq 2
		rm -f "$work"/job.*
	done
else
	echo "not tried: fio is not installed"
fi
finish
