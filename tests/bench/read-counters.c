// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of reading a counter of the kernel's: only by read(2) and by libvmop, in turns, so that
 * both meet the same machine. Prints "ROUNDS READ-NS VALUE-NS ALL-NS RATIO-VALUE RATIO-ALL":
 * medians of the rounds; a ratio is the median of the ratios within a round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "libutil/clock.h"
#include "libvmop/vmop.h"

enum { ROUNDS = 201, READS = 2000 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_size);
	return values[ROUNDS / 2];
}

static int open_alone(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double time_alone(int fd)
{
	uint64_t values[3], begin_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < READS; i++) {
		if (read(fd, values, sizeof(values)) != sizeof(values))
			exit(1);
	}
	return (double)(vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / READS;
}

static double time_value(struct vmop_counters *counters)
{
	uint64_t value, begin_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < READS; i++) {
		if (vmop_counters_value(counters, 0, &value) == VMOP_BY_NOTHING)
			exit(1);
	}
	return (double)(vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / READS;
}

static double time_all(struct vmop_counters *counters)
{
	struct vmop_count count;
	uint64_t begin_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < READS; i++) {
		if (vmop_counters_read(counters, &count, 1))
			exit(1);
	}
	return (double)(vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / READS;
}

int main(void)
{
	static double alone[ROUNDS], value[ROUNDS], all[ROUNDS], value_ratio[ROUNDS],
		all_ratio[ROUNDS];
	struct vmop_counters *counters;
	int fd = open_alone();
	if (fd < 0 || vmop_counters_open("page-faults", NULL, &counters) ||
	    vmop_counters_start(counters)) {
		fprintf(stderr, "read-counters: this kernel counts no events here\n");
		return 77;
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		alone[i] = time_alone(fd);
		value[i] = time_value(counters);
		all[i] = time_all(counters);
		value_ratio[i] = value[i] / alone[i];
		all_ratio[i] = all[i] / alone[i];
	}
	printf("%d %.1f %.1f %.1f %.3f %.3f\n", ROUNDS, median(alone), median(value), median(all),
	       median(value_ratio), median(all_ratio));
	vmop_counters_close(counters);
	close(fd);
	return 0;
}
