// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/guest-maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/maps.h"
#include "libutil/cleanup.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

struct vmop_guest_maps {
	struct vmop_guest_maps_fds fds;
	const char *virtualisation;
	pthread_mutex_t lock; /* orders puts and removals, so that the number is right */
	uint32_t n_guests;
	/* The number of guests' VMMs of each bit of the filter, and the filter as it is in the map.
	 */
	uint16_t n_vmms[VMOP_BPF_VMM_BITS];
	struct vmop_bpf_vmm_filter filter;
};

_Static_assert(VMOP_GUEST_MAPS_MAX <= UINT16_MAX, "they may all have one bit");

struct vmop_error *vmop_guest_maps_create(const struct vmop_guest_maps_fds *fds,
					  const char *virtualisation, struct vmop_guest_maps **ret)
{
	struct vmop_guest_maps *maps = calloc(1, sizeof(*maps));
	*ret = maps;
	if (!maps)
		return &vmop_error_no_memory;
	maps->fds = *fds;
	maps->virtualisation = virtualisation;
	pthread_mutex_init(&maps->lock, NULL);
	return NULL;
}

void vmop_guest_maps_destroy(struct vmop_guest_maps *maps)
{
	if (!maps)
		return;
	pthread_mutex_destroy(&maps->lock);
	free(maps);
}

/* Return the span of n members of up to 8 bytes at offsets; the last one has last_bytes. */
static struct vmop_bpf_span span_of(const uint32_t *offsets, size_t n, uint32_t last_bytes)
{
	uint32_t first = UINT32_MAX, end = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t bytes = i + 1 == n ? last_bytes : 8;
		if (offsets[i] % 4 || offsets[i] > INT32_MAX)
			return (struct vmop_bpf_span){0};
		if (offsets[i] < first)
			first = offsets[i];
		if (offsets[i] + bytes > end)
			end = offsets[i] + bytes;
	}
	return end - first > VMOP_BPF_SPAN_MAX ? (struct vmop_bpf_span){0}
					       : (struct vmop_bpf_span){first, end - first};
}

static struct vmop_bpf_spans find_spans(const struct vmop_guest_numbers *numbers)
{
	bool has_mm = numbers->task_mm != VMOP_GUEST_NO_OFFSET;
	const uint32_t task[] = {numbers->task_pid,
				 numbers->task_tgid,
				 numbers->task_group_leader,
				 numbers->task_start_time,
				 has_mm ? numbers->task_mm : numbers->task_pid,
				 numbers->task_comm};
	const uint32_t page[] = {numbers->page_mapping, numbers->page_index,
				 numbers->page_compound_head};
	const uint32_t inode[] = {numbers->inode_superblock, numbers->inode_number,
				  numbers->inode_generation};
	bool has_folios = numbers->page_compound_head != VMOP_GUEST_NO_OFFSET;
	return (struct vmop_bpf_spans){
		.task = span_of(task, N_OF(task), sizeof(((struct vmop_guest_context *)0)->comm)),
		.page = span_of(page, N_OF(page) - !has_folios, 8),
		.inode = span_of(inode, N_OF(inode), 8),
	};
}

/* Count a guest that came or went, with the lock held. */
static void count_guest(struct vmop_guest_maps *maps, uint32_t vmm_pid, bool is_new)
{
	uint32_t bit = vmm_pid % VMOP_BPF_VMM_BITS, zero = 0;
	uint64_t mask = UINT64_C(1) << bit % 64;
	if (is_new) {
		maps->n_guests++;
		maps->n_vmms[bit]++;
	} else {
		maps->n_guests--;
		maps->n_vmms[bit]--;
	}
	maps->filter.words[bit / 64] &= ~mask;
	maps->filter.words[bit / 64] |= maps->n_vmms[bit] ? mask : 0;
	bpf_map_update_elem(maps->fds.vmm_filter, &zero, &maps->filter, BPF_ANY);
}

bool vmop_guest_maps_put(struct vmop_guest_maps *maps, uint32_t vmm_pid,
			 const struct vmop_guest_numbers *numbers)
{
	const struct vmop_bpf_guest_value value = {.numbers = *numbers,
						   .spans = find_spans(numbers)};
	pthread_mutex_lock(&maps->lock);
	bool is_new = bpf_map_update_elem(maps->fds.guests, &vmm_pid, &value, BPF_NOEXIST) == 0;
	if (is_new)
		count_guest(maps, vmm_pid, true);
	bool is_put =
		is_new || bpf_map_update_elem(maps->fds.guests, &vmm_pid, &value, BPF_EXIST) == 0;
	pthread_mutex_unlock(&maps->lock);
	return is_put;
}

void vmop_guest_maps_remove(struct vmop_guest_maps *maps, uint32_t vmm_pid)
{
	pthread_mutex_lock(&maps->lock);
	if (bpf_map_delete_elem(maps->fds.guests, &vmm_pid) == 0)
		count_guest(maps, vmm_pid, false);
	pthread_mutex_unlock(&maps->lock);
}

/* Set ret to the VMMs of at most VMOP_GUEST_MAPS_MAX guests. Return their number. */
static size_t list_guests(const struct vmop_guest_maps *maps, uint32_t *ret)
{
	size_t n = 0;
	uint32_t *before = NULL;
	while (n < VMOP_GUEST_MAPS_MAX &&
	       bpf_map_get_next_key(maps->fds.guests, before, &ret[n]) == 0)
		before = &ret[n++];
	return n;
}

void vmop_guest_maps_retain(struct vmop_guest_maps *maps,
			    bool (*is_kept)(const void *arg, uint32_t vmm_pid), const void *arg)
{
	_cleanup_free_ uint32_t *vmm_pids = malloc(VMOP_GUEST_MAPS_MAX * sizeof(*vmm_pids));
	size_t n = vmm_pids ? list_guests(maps, vmm_pids) : 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_kept(arg, vmm_pids[i]))
			vmop_guest_maps_remove(maps, vmm_pids[i]);
	}
}

/* Add one CPU's counters, which are words alike. */
static void add(struct vmop_bpf_guest_counts *sum, const struct vmop_bpf_guest_counts *counts)
{
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)counts)[i];
}

_Static_assert(sizeof(struct vmop_bpf_guest_counts) % sizeof(uint64_t) == 0, "words alone");

void vmop_guest_maps_facts(const struct vmop_guest_maps *maps, struct vmop_guest_maps_facts *ret)
{
	struct vmop_guest_maps *own = (struct vmop_guest_maps *)maps;
	struct vmop_bpf_guest_counts sum = {0};
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct vmop_bpf_guest_counts *counts =
		calloc(n_cpus > 0 ? (size_t)n_cpus : 1, sizeof(*counts));
	uint32_t zero = 0;
	if (counts && bpf_map_lookup_elem(maps->fds.counts, &zero, counts) == 0) {
		for (int cpu = 0; cpu < n_cpus; cpu++)
			add(&sum, &counts[cpu]);
	}
	*ret = (struct vmop_guest_maps_facts){
		.n_samples = sum.n_samples,
		.n_contexts = sum.n_contexts,
		.n_exited = sum.n_exited,
		.n_ring_full = sum.n_ring_full,
		.n_switching = sum.n_switching,
		.cost_ns = sum.cost_ns,
		.virtualisation = maps->virtualisation,
	};
	memcpy(ret->gaps, sum.gaps, sizeof(ret->gaps));
	pthread_mutex_lock(&own->lock);
	ret->n_guests = maps->n_guests;
	pthread_mutex_unlock(&own->lock);
}
