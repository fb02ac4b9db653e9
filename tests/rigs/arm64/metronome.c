// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: metronome PERIOD COMMAND...
 * Runs COMMAND while CPU 0's cycle counter interrupts every PERIOD cycles; then prints what that
 * CPU did meanwhile, all programs and waiting included: "cpu.cycles N" and "cpu.instructions N".
 *
 * QEMU up to 10 arms its timer a cycle early for all counters but the cycle counter, and not again:
 * their overflows are noticed when the counters are next looked at, which is at the next interrupt.
 * What overflows twice until then has one sample (of a counter alone, with a period of 200003, 6 %
 * of the samples were seen), and what is switched off with an overflow pending, as events are that
 * take turns, none. A pinned event is the first to choose its counter and keeps it: with it,
 * sampled events had 99.4 to 100 % of the samples that they counted events for, whether they took
 * turns or not.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pinned event on CPU 0; period 0: counted alone. */
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
		exit(3); /* of a pinned one: it had no counter */
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
