// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: crowd N. Start N processes that sleep until this one ends, print "ready", and wait for
 * the end of standard input. Exit status 77: this user or machine can't have so many.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc == 2 ? atol(argv[1]) : 0;
	if (n < 1)
		return 2;
	for (long i = 0; i < n; i++) {
		pid_t child = fork();
		if (child < 0) {
			printf("skipped: only %ld processes can be started\n", i);
			return 77; /* the others end with this one */
		}
		if (child > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
