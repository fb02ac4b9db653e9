#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --io by BPF: each call's number, bytes and outcomes are those that a program notes itself,
# over threads, children, signals, 32-bit calls and io_uring.
# shellcheck source=tests/integration/stat-io-common.sh
. "$(dirname "$0")/stat-io-common.sh"

need_bpf
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
# A kernel without the 32-bit system calls of x86 kills the program.
if [ "$(uname -m)" = x86_64 ] && "$known" "$work/known" narrow 2>/dev/null; then
	exact bpf narrow
else
	echo "not tried: 32-bit system calls"
fi
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
finish
