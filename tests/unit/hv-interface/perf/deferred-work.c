// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Works for some seconds, half in system calls and half outside, always below outer() and middle(),
 * and is built with frame pointers: tests/rigs/scenarios/deferred.l1 samples it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sum;

static __attribute__((noinline)) void in_kernel(void)
{
	static char buf[1 << 16];
	for (int i = 0; i < 50; i++)
		sum += (unsigned)syscall(SYS_getrandom, buf, sizeof(buf), 0);
}

static __attribute__((noinline)) void in_user(void)
{
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
