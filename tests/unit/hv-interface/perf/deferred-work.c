// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Works for some seconds, half in system calls and half outside, always below outer() and middle(),
 * and is built with frame pointers: tests/rigs/scenarios/deferred.l1 samples it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sum;

/* Makes the compiler set up a frame also in a function that calls none. */
#define NEEDS_FRAME() (sum += (unsigned)(uintptr_t)__builtin_frame_address(0))

/* libc's syscall() has no frame pointer, so that its caller would be missing. */
static inline long get_random(void *buf, size_t len_bytes)
{
#if defined(__x86_64__)
	long result = SYS_getrandom;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(buf), "S"(len_bytes), "d"(0L)
			 : "rcx", "r11", "memory");
	return result;
#else
	return syscall(SYS_getrandom, buf, len_bytes, 0);
#endif
}

static __attribute__((noinline)) void in_kernel(void)
{
	static char buf[1 << 16];
	NEEDS_FRAME();
	for (int i = 0; i < 50; i++)
		sum += (unsigned)get_random(buf, sizeof(buf));
}

static __attribute__((noinline)) void in_user(void)
{
	NEEDS_FRAME();
	for (unsigned i = 0; i < 2000000; i++)
		sum += i;
}

static __attribute__((noinline)) void middle(void)
{
	in_kernel();
	in_user();
	sum++;
}

static __attribute__((noinline)) void outer(time_t end)
{
	while (time(NULL) < end)
		middle();
	sum++;
}

int main(int argc, char **argv)
{
	outer(time(NULL) + (argc > 1 ? atoi(argv[1]) : 5));
	return 0;
}
