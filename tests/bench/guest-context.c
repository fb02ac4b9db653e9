// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest-context [SECONDS]: the cost of reading what a guest's vCPU runs, by the program's own
 * clock, at a native guest (tests/unit/hv-interface/bpf/known-guest.h). The cost of a sample is the
 * mean of those between two looks, 10 ms apart: the median and the 10th percentile of these means
 * are printed, because a busy machine adds to most of them. Other samples: the program's mean
 * run time with the kernel's statistics, on the same machine without a guest.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/program.h"
#include "libutil/clock.h"

#ifdef __x86_64__

#include "tests/unit/hv-interface/bpf/known-guest.h"
#include "tests/unit/hv-interface/bpf/record-reader.h"

enum { PERIOD_NS = 250000, RING_PAGES = 1024, LOOK_US = 10000, MAX_MEANS = 10000 };

static struct vmop_bpf_program *program;
static struct vmop_guest_maps *maps;
static double seconds = 3;

static void ignore(void *arg, const struct seen_record *record)
{
	(void)arg;
	(void)record;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* Sample for some seconds and print what a sample cost. */
static void measure(const char *name)
{
	static double means[MAX_MEANS];
	struct record_reader reader;
	struct vmop_guest_maps_facts first, before, after;
	size_t n = 0;
	if (!record_reader_open(&reader, program, PERIOD_NS, RING_PAGES)) {
		record_reader_close(&reader);
		return;
	}
	vmop_guest_maps_facts(maps, &first);
	before = first;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns && n < MAX_MEANS) {
		usleep(LOOK_US);
		record_reader_drain(&reader, ignore, NULL);
		vmop_guest_maps_facts(maps, &after);
		uint64_t samples =
			after.n_samples + after.n_exited - before.n_samples - before.n_exited;
		if (samples)
			means[n++] = (double)(after.cost_ns - before.cost_ns) / (double)samples;
		before = after;
	}
	record_reader_close(&reader);
	if (!n)
		return;
	qsort(means, n, sizeof(*means), compare);
	printf("%-44s %5.2f us median, %5.2f us 10th percentile (%llu contexts, %llu states)\n",
	       name, means[n / 2] / 1e3, means[n / 10] / 1e3,
	       (unsigned long long)(before.n_contexts - first.n_contexts),
	       (unsigned long long)(before.n_exited - first.n_exited));
}

static bool find_program(struct bpf_prog_info *ret)
{
	uint32_t id = 0, len;
	bool has_one = false;
	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = {0};
		int fd = bpf_prog_get_fd_by_id(id);
		len = sizeof(info);
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		    strcmp(info.name, "vmop_sample") == 0 && info.created_by_uid == getuid()) {
			*ret = info; /* the last one: this process's */
			has_one = true;
		}
		if (fd >= 0)
			close(fd);
	}
	return has_one;
}

static void measure_others(void)
{
	struct record_reader reader;
	struct bpf_prog_info before, after;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0 || !find_program(&before))
		return;
	if (record_reader_open(&reader, program, PERIOD_NS, RING_PAGES)) {
		uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
		while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns) {
			for (volatile int i = 0; i < 1000000; i++)
				;
			record_reader_drain(&reader, ignore, NULL);
		}
	}
	record_reader_close(&reader);
	if (find_program(&after) && after.run_cnt > before.run_cnt)
		printf("%-44s %5.2f us mean, with the 0.05 us of the statistics (%llu samples)\n",
		       "other samples",
		       (double)(after.run_time_ns - before.run_time_ns) /
			       (double)(after.run_cnt - before.run_cnt) / 1e3,
		       (unsigned long long)(after.run_cnt - before.run_cnt));
	close(stats);
}

static const char *run(enum known_mode mode, const char *name, bool is_known,
		       uint32_t kernel_window_bytes, uint32_t user_window_bytes)
{
	struct known_guest guest;
	struct vmop_guest_numbers numbers;
	const char *why = known_guest_init(&guest, 4, mode);
	if (!why)
		why = known_guest_start(&guest);
	if (!why) {
		known_guest_numbers(&guest, &numbers);
		numbers.kernel_window_bytes = kernel_window_bytes;
		numbers.user_window_bytes = user_window_bytes;
		if (is_known)
			vmop_guest_maps_put(maps, (uint32_t)getpid(), &numbers);
		measure(name);
		vmop_guest_maps_remove(maps, (uint32_t)getpid());
	}
	known_guest_deinit(&guest);
	return why;
}

int main(int argc, char **argv)
{
	struct vmop_bpf_request request = {.wants_guests = true};
	if (argc > 1)
		seconds = atof(argv[1]);
	if (vmop_bpf_program_load(&request, &program))
		return 1;
	if (!program) {
		printf("skipped: no contexts of guests, because %s\n", request.no_guests->message);
		return 77;
	}
	maps = vmop_bpf_program_guest_maps(program);
	measure_others();
	const char *why = run(KNOWN_USER, "user code, registers and code only", false, 0, 0);
	if (!why) {
		run(KNOWN_USER, "user code, task, page and file", true, 0, 0);
		run(KNOWN_USER, "the same with 4 KiB of the user's stack", true, 4096, 4096);
		run(KNOWN_USER, "the same with 16 KiB", true, 4096, 16384);
		run(KNOWN_KERNEL, "kernel code, 4 KiB of both stacks", true, 4096, 4096);
	} else {
		printf("skipped: %s\n", why);
	}
	vmop_bpf_program_destroy(program);
	return why ? 77 : 0;
}

#else

int main(void)
{
	puts("skipped: the guest is written for x86-64");
	return 77;
}

#endif
