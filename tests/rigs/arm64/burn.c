// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: burn ROUNDS [uncounted]
 * Spend 75 % of the time in static_major and 25 % in static_minor, for a fixed amount of work.
 * Rounds have different lengths, so that they do not keep step with a sampling period.  Then print
 * the values of counters of its own in user and kernel mode, which tests compare with the number of
 * samples: "cycles N" and "instructions N", or "uncounted".
 */
#include "../guest/work.h"
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int count(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void print(const char *name, int fd)
{
	uint64_t value;
	if (fd < 0 || read(fd, &value, sizeof(value)) != sizeof(value))
		printf("uncounted\n");
	else
		printf("%s %llu\n", name, (unsigned long long)value);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	int is_counted = argc < 3 || strcmp(argv[2], "uncounted");
	int cycles = is_counted ? count(PERF_COUNT_HW_CPU_CYCLES) : -1;
	int instructions = is_counted ? count(PERF_COUNT_HW_INSTRUCTIONS) : -1;
	uint32_t random = 1;
	for (unsigned long n = strtoul(argv[1], NULL, 10); n > 0; n--) {
		random = random * 1664525 + 1013904223; /* constants of Numerical Recipes */
		unsigned long part = 70000 + (random >> 16);
		static_major(3 * part);
		static_minor(part);
	}
	print("cycles", cycles);
	print("instructions", instructions);
	return 0;
}
