// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest-context [SECONDS [PERIOD_NS]]: the cost of reading what a guest's vCPU runs, by the
 * program's own clock, at a native guest (tests/unit/hv-interface/bpf/known-guest.h). The cost of a
 * sample is the mean of those between two looks, 40 periods apart: the median, the 10th percentile
 * and the least of these means are printed, because a busy machine adds to most of them. Other
 * samples: the program's mean run time with the kernel's statistics, on the same machine without a
 * guest.
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

enum { RING_PAGES = 1024, LOOK_PERIODS = 40, MIN_SAMPLES = 10, MAX_MEANS = 100000 };

static struct vmop_bpf_program *program;
static struct vmop_guest_maps *maps;
static double seconds = 3;
static uint32_t period_ns = 250000;

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

static double means[MAX_MEANS];

static void print_means(const char *name, size_t n)
{
	if (!n)
		return;
	qsort(means, n, sizeof(*means), compare);
	printf("%-46s %5.2f us median, %5.2f us 10th percentile, %5.2f us least", name,
	       means[n / 2] / 1e3, means[n / 10] / 1e3, means[0] / 1e3);
}

/* Sample for some seconds and print what a sample cost. */
static void measure(const char *name)
{
	struct record_reader reader;
	struct vmop_guest_maps_facts first, before, after;
	size_t n = 0;
	if (!record_reader_open(&reader, program, period_ns, RING_PAGES)) {
		record_reader_close(&reader);
		return;
	}
	vmop_guest_maps_facts(maps, &first);
	before = first;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns && n < MAX_MEANS) {
		usleep(period_ns / 1000 * LOOK_PERIODS);
		record_reader_drain(&reader, ignore, NULL);
		vmop_guest_maps_facts(maps, &after);
		uint64_t samples =
			after.n_samples + after.n_exited - before.n_samples - before.n_exited;
		if (samples >= MIN_SAMPLES)
			means[n++] = (double)(after.cost_ns - before.cost_ns) / (double)samples;
		before = after;
	}
	record_reader_close(&reader);
	print_means(name, n);
	if (!n)
		return;
	printf(" (%llu contexts, %llu states)\n",
	       (unsigned long long)(before.n_contexts - first.n_contexts),
	       (unsigned long long)(before.n_exited - first.n_exited));
}

/* Return a descriptor of this process's program, the last one of its name, or -1. */
static int find_program(void)
{
	uint32_t id = 0, len;
	int found = -1;
	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = {0};
		int fd = bpf_prog_get_fd_by_id(id);
		len = sizeof(info);
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		    strcmp(info.name, "vmop_sample") == 0 && info.created_by_uid == getuid()) {
			if (found >= 0)
				close(found);
			found = fd;
		} else if (fd >= 0) {
			close(fd);
		}
	}
	return found;
}

static bool read_stats(int fd, struct bpf_prog_info *ret)
{
	uint32_t len = sizeof(*ret);
	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(fd, ret, &len) == 0;
}

static void measure_others(void)
{
	struct record_reader reader;
	struct bpf_prog_info before, after;
	size_t n = 0;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), fd = find_program();
	bool is_open = record_reader_open(&reader, program, period_ns, RING_PAGES);
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	if (stats < 0 || !is_open || !read_stats(fd, &before))
		end_ns = 0;
	while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns && n < MAX_MEANS) {
		uint64_t look_ns = vmop_clock_ns(CLOCK_MONOTONIC) + period_ns * LOOK_PERIODS;
		while (vmop_clock_ns(CLOCK_MONOTONIC) < look_ns)
			;
		record_reader_drain(&reader, ignore, NULL);
		if (!read_stats(fd, &after) || after.run_cnt < before.run_cnt + MIN_SAMPLES)
			continue;
		means[n++] = (double)(after.run_time_ns - before.run_time_ns) /
			     (double)(after.run_cnt - before.run_cnt);
		before = after;
	}
	record_reader_close(&reader);
	close(fd);
	close(stats);
	print_means("other samples, with 0.05 us of the statistics", n);
	if (n)
		putchar('\n');
}

struct load {
	const char *name;
	enum known_mode mode;
	bool is_known, has_threads;
	uint32_t kernel_window_bytes, user_window_bytes;
};

static const char *run(const struct load *load)
{
	struct known_guest guest;
	struct vmop_guest_numbers numbers;
	const char *why = known_guest_init(&guest, 4, load->mode);
	if (!why && !load->has_threads)
		known_guest_make_single_thread(&guest);
	if (!why)
		why = known_guest_start(&guest);
	if (!why) {
		known_guest_numbers(&guest, &numbers);
		numbers.kernel_window_bytes = load->kernel_window_bytes;
		numbers.user_window_bytes = load->user_window_bytes;
		if (load->is_known)
			vmop_guest_maps_put(maps, (uint32_t)getpid(), &numbers);
		measure(load->name);
		vmop_guest_maps_remove(maps, (uint32_t)getpid());
	}
	known_guest_deinit(&guest);
	return why;
}

static const char *run_all(void)
{
	static const struct load loads[] = {
		{"user code, registers and code only", KNOWN_USER, false, false, 0, 0},
		{"user code, task, page and file", KNOWN_USER, true, false, 0, 0},
		{"the same of a thread, its leader in two pages", KNOWN_USER, true, true, 0, 0},
		{"with 4 KiB of the user's stack", KNOWN_USER, true, false, 4096, 4096},
		{"with 16 KiB of the user's stack", KNOWN_USER, true, false, 4096, 16384},
		{"kernel code, 4 KiB of both stacks", KNOWN_KERNEL, true, false, 4096, 4096},
	};
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		const char *why = run(&loads[i]);
		if (why)
			return why;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct vmop_bpf_request request = {.wants_guests = true};
	if (argc > 1)
		seconds = atof(argv[1]);
	if (argc > 2)
		period_ns = (uint32_t)atol(argv[2]);
	if (vmop_bpf_program_load(&request, &program))
		return 1;
	if (!program) {
		printf("skipped: no contexts of guests, because %s\n", request.no_guests->message);
		return 77;
	}
	maps = vmop_bpf_program_guest_maps(program);
	measure_others();
	const char *why = run_all();
	if (why)
		printf("skipped: %s\n", why);
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
