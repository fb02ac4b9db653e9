// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * busy SECONDS [PROCESSES]: each process keeps a CPU busy, for three quarters of the time in hot_a
 * and one quarter in hot_b: a steady load with known shares.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

/* The same work in both, so that the shares are those of the iterations. */
#define HOT(name)                                                                                  \
	__attribute__((noinline)) void name(uint64_t n);                                           \
	void name(uint64_t n)                                                                      \
	{                                                                                          \
		uint64_t x = sink;                                                                 \
		for (uint64_t i = 0; i < n; i++) {                                                 \
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;              \
			x ^= x >> 17;                                                              \
		}                                                                                  \
		sink = x;                                                                          \
	}
HOT(hot_a)
HOT(hot_b)

static void burn(double seconds)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		hot_a(3000000);
		hot_b(1000000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begun.tv_sec) + (double)(now.tv_nsec - begun.tv_nsec) / 1e9 <
		 seconds);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int processes = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 1; i < processes; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM); /* end with the first process */
			burn(seconds);
			_exit(0);
		}
	}
	burn(seconds);
	while (wait(NULL) > 0)
		;
	return 0;
}
