// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: metronome PERIOD COMMAND...
 * Run COMMAND while CPU 0's cycle counter interrupts every PERIOD cycles.  Then print the counts of
 * that CPU during this time, for all programs and the idle time: "cpu.cycles N" and
 * "cpu.instructions N". QEMU up to 10 arms its timer a cycle early for all counters but the cycle
 * counter, and does not arm it again.  Their overflows are noticed only when the counters are read
 * next, at the next interrupt. A counter that overflows twice before that gives one sample: of a
 * single counter with a period of 200003, 6 % of the samples arrived.  A counter that is switched
 * off with an overflow pending, as in events that take turns, gives none.  A pinned event is the
 * first to choose its counter and keeps it. With it, sampled events had 99.4 to 100 % of the
 * samples that they counted events for, with and without turns.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pinned event on CPU 0; period 0: only count. */
static int count(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.pinned = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		return fd;
	perror("perf_event_open");
	exit(3);
}

static void print(const char *name, int fd)
{
	uint64_t value;
	if (read(fd, &value, sizeof(value)) != sizeof(value))
		exit(3); /* a pinned event without a counter */
	printf("cpu.%s %llu\n", name, (unsigned long long)value);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int cycles = count(PERF_COUNT_HW_CPU_CYCLES, strtoul(argv[1], NULL, 10));
	int instructions = count(PERF_COUNT_HW_INSTRUCTIONS, 0);
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 3;
	print("cycles", cycles);
	print("instructions", instructions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
