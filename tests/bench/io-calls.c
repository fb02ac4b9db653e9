// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A load for tests/bench/run-io: reads of /dev/zero, one byte each, in rounds. Print the fewest ns
 * of CPU time for a call among the rounds: other work on the machine only adds to it.
 *
 *	io-calls [CALL]: read, or getppid, which is no I/O
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/clock.h"

enum { ROUNDS = 80, CALLS = 2000 };

int main(int argc, char **argv)
{
	long number = argc > 1 && strcmp(argv[1], "getppid") == 0 ? SYS_getppid : SYS_read;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	double best_ns = 1e9;
	char byte;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		/* By the function for read(2): a preloaded library sees it. */
		for (int k = 0; k < CALLS; k++) {
			if (number == SYS_read) {
				if (read(fd, &byte, 1) != 1)
					return 1;
			} else {
				syscall(number);
			}
		}
		uint64_t ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
		if ((double)ns / CALLS < best_ns)
			best_ns = (double)ns / CALLS;
	}
	printf("%.1f\n", best_ns);
	return 0;
}
