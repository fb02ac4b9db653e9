// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: fork-storm TOTAL PER-SECOND [PROGRAM]. Start processes that end at once, at that rate
 * or as fast as the machine can; every second one runs PROGRAM. Print their number and rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4)
		return 2;
	long total = atol(argv[1]), rate = atol(argv[2]);
	if (total < 1 || rate < 1)
		return 2;
	double begun = now_s();
	for (long i = 0; i < total; i++) {
		pid_t child = fork();
		if (child == 0) {
			if (argc == 4 && i % 2)
				execl(argv[3], argv[3], (char *)NULL);
			for (volatile int j = 0; j < 20000; j++)
				;
			_exit(0);
		}
		if (child < 0) {
			perror("fork");
			return 1;
		}
		waitpid(child, NULL, 0);
		double ahead_s = (double)(i + 1) / (double)rate - (now_s() - begun);
		if (ahead_s > 0)
			usleep((useconds_t)(ahead_s * 1e6));
	}
	double took_s = now_s() - begun;
	printf("%ld forks in %.1f s, %.0f a second\n", total, took_s, (double)total / took_s);
	return 0;
}
