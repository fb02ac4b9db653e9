// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/layout.h"
#include "hv-interface/bpf/pages.h"
#include "hv-interface/bpf/ranges.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* The most memory of all tables: 5,000 MiB of text at the usual 100 KiB for each. */
#define MAX_TABLE_BYTES ((size_t)512 << 20)

struct vmop_unwind_maps {
	struct vmop_unwind_maps_fds fds;
	struct vmop_unwind_mapping *mappings; /* VMOP_BPF_MAX_MAPPINGS of them */
	struct vmop_ranges ranges;	      /* of mappings */
	pthread_mutex_t lock;		      /* of what follows */
	struct vmop_unwind_maps_facts facts;
	uint32_t n_pages[VMOP_BPF_MAX_TABLES]; /* 0: the table is absent */
};

struct vmop_error *vmop_unwind_maps_create(const struct vmop_unwind_maps_fds *fds,
					   struct vmop_unwind_maps **ret)
{
	struct vmop_unwind_maps *maps = calloc(1, sizeof(*maps));
	*ret = NULL;
	if (!maps)
		return &vmop_error_no_memory;
	pthread_mutex_init(&maps->lock, NULL);
	maps->fds = *fds;
	maps->facts.max_tables = VMOP_BPF_MAX_TABLES;
	struct vmop_error *err = NULL;
	if (!vmop_ranges_init(&maps->ranges, VMOP_BPF_MAX_MAPPINGS))
		err = &vmop_error_no_memory;
	maps->mappings = MAP_FAILED;
	if (!err)
		maps->mappings = mmap(NULL, VMOP_BPF_MAX_MAPPINGS * sizeof(*maps->mappings),
				      PROT_READ | PROT_WRITE, MAP_SHARED, fds->mappings, 0);
	if (!err && maps->mappings == MAP_FAILED)
		err = vmop_error_os(errno, "mapping a BPF map");
	if (err) {
		vmop_unwind_maps_destroy(maps);
		return err;
	}
	*ret = maps;
	return NULL;
}

void vmop_unwind_maps_destroy(struct vmop_unwind_maps *maps)
{
	if (!maps)
		return;
	if (maps->mappings != MAP_FAILED)
		munmap(maps->mappings, VMOP_BPF_MAX_MAPPINGS * sizeof(*maps->mappings));
	vmop_ranges_deinit(&maps->ranges);
	pthread_mutex_destroy(&maps->lock);
	free(maps);
}

/*
 * Replace the pages that count for a table by n. With a limit: only if the sum stays below the
 * bound.
 */
static bool account(struct vmop_unwind_maps *maps, uint32_t table, uint32_t n, bool has_limit)
{
	pthread_mutex_lock(&maps->lock);
	struct vmop_unwind_maps_facts *facts = &maps->facts;
	size_t bytes = facts->table_bytes - (size_t)maps->n_pages[table] * VMOP_BPF_PAGE_BYTES +
		       (size_t)n * VMOP_BPF_PAGE_BYTES;
	bool fits = !has_limit || bytes <= MAX_TABLE_BYTES;
	if (fits) {
		facts->n_tables += (n != 0) - (maps->n_pages[table] != 0);
		facts->table_bytes = bytes;
		maps->n_pages[table] = n;
	}
	pthread_mutex_unlock(&maps->lock);
	return fits;
}

static bool refuse(struct vmop_unwind_maps *maps)
{
	pthread_mutex_lock(&maps->lock);
	maps->facts.n_refused++;
	pthread_mutex_unlock(&maps->lock);
	return false;
}

/* Make a map of pages. Return its descriptor, or -1. */
static int make_table(const union vmop_bpf_page *pages, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vmop_table", sizeof(uint32_t), sizeof(*pages),
				n, &opts);
	for (uint32_t i = 0; fd >= 0 && i < n; i++) {
		if (bpf_map_update_elem(fd, &i, &pages[i], BPF_ANY) < 0) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

bool vmop_unwind_maps_put_table(struct vmop_unwind_maps *maps, uint32_t table,
				const struct vmop_unwind_table *content)
{
	size_t n;
	if (table >= VMOP_BPF_MAX_TABLES)
		return refuse(maps);
	_cleanup_free_ union vmop_bpf_page *pages = vmop_bpf_pages_pack(content, &n);
	bool is_done = false;
	if (pages && account(maps, table, (uint32_t)n, true)) {
		int fd = make_table(pages, (uint32_t)n);
		is_done = fd >= 0 && bpf_map_update_elem(maps->fds.tables, &table, &fd, 0) == 0;
		if (fd >= 0)
			close(fd);
	}
	if (is_done)
		return true;
	/* An earlier table of that number would be wrong for its new mappings. */
	vmop_unwind_maps_remove_table(maps, table);
	return refuse(maps);
}

void vmop_unwind_maps_remove_table(struct vmop_unwind_maps *maps, uint32_t table)
{
	if (table >= VMOP_BPF_MAX_TABLES)
		return;
	bpf_map_delete_elem(maps->fds.tables, &table);
	account(maps, table, 0, false);
}

/* Count a process more or less, and the mappings in use. */
static void count_process(struct vmop_unwind_maps *maps, bool was_here, bool is_here)
{
	pthread_mutex_lock(&maps->lock);
	maps->facts.n_processes += is_here - was_here;
	maps->facts.n_mappings = maps->ranges.used;
	pthread_mutex_unlock(&maps->lock);
}

bool vmop_unwind_maps_put_process(struct vmop_unwind_maps *maps, uint32_t pid, uint64_t generation,
				  const struct vmop_unwind_mapping *mappings, size_t n)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_bpf_process before = {0}, process = {.generation = generation};
	bool was_here = bpf_map_lookup_elem(maps->fds.processes, &pid, &before) == 0;
	bool is_good = n <= VMOP_BPF_MAX_MAPPINGS;
	process.n = (uint32_t)n;
	if (is_good && n)
		is_good = vmop_ranges_take(&maps->ranges, process.n, now_ns, &process.first);
	if (!is_good) {
		vmop_unwind_maps_remove_process(maps, pid);
		return refuse(maps);
	}
	if (n)
		memcpy(maps->mappings + process.first, mappings, n * sizeof(*mappings));
	/* The system call orders the mappings before the process that refers to them. */
	if (bpf_map_update_elem(maps->fds.processes, &pid, &process, BPF_ANY) < 0) {
		vmop_ranges_free(&maps->ranges, process.first, process.n, now_ns);
		vmop_unwind_maps_remove_process(maps, pid);
		return refuse(maps);
	}
	if (was_here)
		vmop_ranges_free(&maps->ranges, before.first, before.n, now_ns);
	count_process(maps, was_here, true);
	return true;
}

void vmop_unwind_maps_remove_process(struct vmop_unwind_maps *maps, uint32_t pid)
{
	struct vmop_bpf_process before;
	if (bpf_map_lookup_elem(maps->fds.processes, &pid, &before) < 0 ||
	    bpf_map_delete_elem(maps->fds.processes, &pid) < 0)
		return;
	vmop_ranges_free(&maps->ranges, before.first, before.n, vmop_clock_ns(CLOCK_MONOTONIC));
	count_process(maps, true, false);
}

void vmop_unwind_maps_facts(const struct vmop_unwind_maps *maps, struct vmop_unwind_maps_facts *ret)
{
	struct vmop_unwind_maps *own = (struct vmop_unwind_maps *)maps;
	pthread_mutex_lock(&own->lock);
	*ret = maps->facts;
	pthread_mutex_unlock(&own->lock);
	uint64_t outcomes[VMOP_BPF_N_OUTCOMES];
	vmop_unwind_maps_outcomes(maps, outcomes);
	ret->n_unwound = outcomes[VMOP_BPF_UNWOUND] + outcomes[VMOP_BPF_RING_FULL];
	for (size_t i = 0; i < VMOP_BPF_N_OUTCOMES; i++)
		ret->n_copied += outcomes[i];
	ret->n_copied -= ret->n_unwound;
}

void vmop_unwind_maps_outcomes(const struct vmop_unwind_maps *maps,
			       uint64_t ret[VMOP_BPF_N_OUTCOMES])
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *counts = calloc(n_cpus > 0 ? (size_t)n_cpus : 1, sizeof(*counts));
	memset(ret, 0, VMOP_BPF_N_OUTCOMES * sizeof(*ret));
	for (uint32_t i = 0; counts && i < VMOP_BPF_N_OUTCOMES; i++) {
		if (bpf_map_lookup_elem(maps->fds.outcomes, &i, counts) < 0)
			continue;
		for (int cpu = 0; cpu < n_cpus; cpu++)
			ret[i] += counts[cpu];
	}
}
