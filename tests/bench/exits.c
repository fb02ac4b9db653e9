// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of a guest's exit for --waits, by the kernel's own statistics of BPF programs, without a
 * guest: BPF_PROG_TEST_RUN runs the two programs of exits in this thread, which is watched like a
 * vCPU, with made records of kvm_exit. Usage: exits [RUNS].
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/bpf/loaded.h"
#include "hv-interface/bpf/waits-layout.h"
#include "hv-interface/bpf/waits-object.h"

/* A guest exits for several reasons, from several places of its code. */
enum { REASONS = 8, ADDRESSES = 32, SLOT = 1 };

struct record {
	uint64_t reason, address;
};

static int stop(const char *why)
{
	printf("exits: not measured: %s\n", why);
	return 77;
}

/* Load the programs of exits as those of a raw tracepoint, which can be run without one. */
static bool load(struct vmop_bpf_loaded *loaded)
{
	const struct vmop_waits_settings settings = {
		.reason_at = offsetof(struct record, reason),
		.address_at = offsetof(struct record, address),
	};
	const struct vmop_bpf_source source = {
		.name = "vmop_waits",
		.begin = vmop_waits_object,
		.end = vmop_waits_object_end,
		.section = VMOP_WAITS_SETTINGS_SECTION,
		.settings = &settings,
		.settings_bytes = sizeof(settings),
	};
	struct bpf_program *program;
	if (vmop_bpf_loaded_open(loaded, &source) < 0)
		return false;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(loaded->object, "cpus"),
				 vmop_bpf_n_cpus());
	bpf_object__for_each_program(program, loaded->object)
	{
		const char *name = bpf_program__name(program);
		bool is_of_exits = !strcmp(name, "vmop_exit") || !strcmp(name, "vmop_entry");
		bpf_program__set_autoload(program, is_of_exits);
		if (is_of_exits)
			bpf_program__set_type(program, BPF_PROG_TYPE_RAW_TRACEPOINT);
	}
	return bpf_object__load(loaded->object) == 0;
}

/* Watch this thread, as vmop_waits_watch() does with a vCPU's. */
static bool watch(const struct vmop_bpf_loaded *loaded)
{
	const uint32_t tid = (uint32_t)gettid(), slot = SLOT, place = tid % VMOP_WAITS_N_HINTS,
		       word = place / 64;
	const uint64_t bit = UINT64_C(1) << place % 64;
	const struct vmop_waits_victim victim = {.tid = tid, .guest = 1};
	return bpf_map_update_elem(vmop_bpf_loaded_map_fd(loaded, "victims"), &slot, &victim,
				   BPF_ANY) == 0 &&
	       bpf_map_update_elem(vmop_bpf_loaded_map_fd(loaded, "hints"), &place, &slot,
				   BPF_ANY) == 0 &&
	       bpf_map_update_elem(vmop_bpf_loaded_map_fd(loaded, "hinted"), &word, &bit,
				   BPF_ANY) == 0;
}

static void run_program(int fd, const struct record *record)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = record,
		    .ctx_size_in = record ? sizeof(*record) : 0);
	if (bpf_prog_test_run_opts(fd, &opts) < 0) {
		perror("exits: BPF_PROG_TEST_RUN");
		exit(1);
	}
}

/* Return the ns a run, by the kernel's statistics. */
static double ns_a_run(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0 || !info.run_cnt)
		return 0;
	return (double)info.run_time_ns / (double)info.run_cnt;
}

/* Return the number of exits that the programs counted. */
static uint64_t n_counted(const struct vmop_bpf_loaded *loaded)
{
	uint64_t n = 0;
	for (uint32_t reason = 0; reason < REASONS; reason++) {
		const struct vmop_waits_exit_key key = {.slot = SLOT, .reason = reason};
		struct vmop_waits_exit exit;
		if (bpf_map_lookup_elem(vmop_bpf_loaded_map_fd(loaded, "exits"), &key, &exit) == 0)
			n += exit.count;
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 200000;
	struct vmop_bpf_loaded loaded = {0};
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats_fd < 0)
		return stop("the kernel gives no statistics of BPF programs");
	if (!load(&loaded) || !watch(&loaded))
		return stop("the kernel does not load the programs");
	int exit_fd = bpf_program__fd(vmop_bpf_loaded_program(&loaded, "vmop_exit")),
	    entry_fd = bpf_program__fd(vmop_bpf_loaded_program(&loaded, "vmop_entry"));
	for (unsigned i = 0; i < n; i++) {
		const struct record record = {.reason = i % REASONS,
					      .address = 0xffffffff81000000 + i % ADDRESSES * 64};
		run_program(exit_fd, &record);
		run_program(entry_fd, NULL);
	}
	bool is_right = n_counted(&loaded) == n;
	printf("exits: %u exits of %d reasons from %d addresses: %.0f ns a program at the exit, "
	       "%.0f "
	       "ns at the entry, with the statistics; counted %s\n",
	       n, REASONS, ADDRESSES, ns_a_run(exit_fd), ns_a_run(entry_fd),
	       is_right ? "all" : "not all");
	vmop_bpf_loaded_close(&loaded);
	close(stats_fd);
	return is_right ? 0 : 1;
}
