// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cpu-time FILE COMMAND [ARG...]: run COMMAND and write one line to FILE: user+sys seconds, wall
 * seconds and peak resident KiB of COMMAND and its children (wait4(2)). The exit status is
 * COMMAND's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: cpu-time FILE COMMAND [ARG...]\n");
		return 2;
	}
	double begun_s = now_s();
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status;
	struct rusage usage;
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
		perror("cpu-time");
		return 3;
	}
	double wall_s = now_s() - begun_s;
	FILE *out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 3;
	}
	fprintf(out, "%.4f %.4f %ld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), wall_s,
		usage.ru_maxrss);
	if (fclose(out)) {
		perror(argv[1]);
		return 3;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
