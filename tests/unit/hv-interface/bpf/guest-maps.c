// SPDX-License-Identifier: GPL-2.0-or-later
/* The user's side of the guests' maps, over maps of the running kernel. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/maps.h"

enum { ROOM = 4 };

static struct vmop_guest_maps_fds fds;
static struct vmop_guest_maps *maps;

static int create(void **state)
{
	(void)state;
	fds.guests = bpf_map_create(BPF_MAP_TYPE_HASH, "guests", sizeof(uint32_t),
				    sizeof(struct vmop_bpf_guest_value), ROOM, NULL);
	fds.counts = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counts", sizeof(uint32_t),
				    sizeof(struct vmop_bpf_guest_counts), 1, NULL);
	fds.vmm_filter = bpf_map_create(BPF_MAP_TYPE_ARRAY, "filter", sizeof(uint32_t),
					sizeof(struct vmop_bpf_vmm_filter), 1, NULL);
	return fds.guests < 0 || fds.counts < 0 || fds.vmm_filter < 0 ||
	       vmop_guest_maps_create(&fds, "SVM", &maps);
}

static int destroy(void **state)
{
	(void)state;
	vmop_guest_maps_destroy(maps);
	close(fds.guests);
	close(fds.counts);
	close(fds.vmm_filter);
	return 0;
}

static uint32_t n_guests(void)
{
	struct vmop_guest_maps_facts facts;
	vmop_guest_maps_facts(maps, &facts);
	return facts.n_guests;
}

/* Return the generation of a guest in the kernel's map, or 0. */
static uint64_t generation_of(uint32_t pid)
{
	struct vmop_bpf_guest_value value = {0};
	return bpf_map_lookup_elem(fds.guests, &pid, &value) < 0 ? 0 : value.numbers.generation;
}

static void numbers_replace_earlier_ones(void **state)
{
	struct vmop_guest_numbers numbers = {.generation = 1};
	(void)state;
	assert_int_equal(n_guests(), 0);
	assert_true(vmop_guest_maps_put(maps, 10, &numbers));
	assert_int_equal(generation_of(10), 1);
	numbers.generation = 2;
	assert_true(vmop_guest_maps_put(maps, 10, &numbers));
	assert_int_equal(generation_of(10), 2);
	assert_int_equal(n_guests(), 1);
	vmop_guest_maps_remove(maps, 11);
	assert_int_equal(n_guests(), 1);
	vmop_guest_maps_remove(maps, 10);
	vmop_guest_maps_remove(maps, 10);
	assert_int_equal(generation_of(10), 0);
	assert_int_equal(n_guests(), 0);
}

/* Return the number of bits in the kernel's filter, and whether that of a pid is among them. */
static int n_filtered(uint32_t pid, bool *ret_has_pid)
{
	struct vmop_bpf_vmm_filter filter;
	uint32_t zero = 0;
	int n = 0;
	assert_int_equal(bpf_map_lookup_elem(fds.vmm_filter, &zero, &filter), 0);
	for (size_t i = 0; i < VMOP_BPF_VMM_BITS / 64; i++)
		n += __builtin_popcountll(filter.words[i]);
	*ret_has_pid = filter.words[pid % VMOP_BPF_VMM_BITS / 64] >> pid % 64 & 1;
	return n;
}

static void the_filter_has_the_guests_that_are_known(void **state)
{
	const struct vmop_guest_numbers numbers = {.generation = 1};
	uint32_t pid = 4321, same_bit = pid + VMOP_BPF_VMM_BITS;
	bool has_pid;
	(void)state;
	assert_int_equal(n_filtered(pid, &has_pid), 0);
	assert_true(vmop_guest_maps_put(maps, pid, &numbers));
	assert_true(vmop_guest_maps_put(maps, pid, &numbers));
	assert_true(vmop_guest_maps_put(maps, same_bit, &numbers));
	assert_true(vmop_guest_maps_put(maps, pid + 1, &numbers));
	assert_int_equal(n_filtered(pid, &has_pid), 2);
	assert_true(has_pid);
	vmop_guest_maps_remove(maps, pid);
	vmop_guest_maps_remove(maps, pid);
	vmop_guest_maps_remove(maps, pid + 1);
	assert_int_equal(n_filtered(pid, &has_pid), 1);
	assert_true(has_pid);
	vmop_guest_maps_remove(maps, same_bit);
	assert_int_equal(n_filtered(pid, &has_pid), 0);
}

static struct vmop_bpf_spans spans_of(const struct vmop_guest_numbers *numbers)
{
	struct vmop_bpf_guest_value value = {0};
	uint32_t pid = 10;
	assert_true(vmop_guest_maps_put(maps, pid, numbers));
	assert_int_equal(bpf_map_lookup_elem(fds.guests, &pid, &value), 0);
	return value.spans;
}

static void assert_span(struct vmop_bpf_span span, uint32_t first, uint32_t bytes)
{
	assert_int_equal(span.first, first);
	assert_int_equal(span.bytes, bytes);
}

static void members_near_each_other_have_a_span(void **state)
{
	struct vmop_guest_numbers numbers = {
		.generation = 1,
		.task_mm = VMOP_GUEST_NO_OFFSET,
		.task_pid = 1264,
		.task_tgid = 1268,
		.task_group_leader = 1328,
		.task_start_time = 1552,
		.task_comm = 1752,
		.page_compound_head = 8,
		.page_mapping = 24,
		.page_index = 32,
		.inode_superblock = 40,
		.inode_number = 64,
		.inode_generation = 124,
	};
	(void)state;
	struct vmop_bpf_spans spans = spans_of(&numbers);
	assert_span(spans.task, 1264, 1752 + 16 - 1264);
	assert_span(spans.page, 8, 32);
	assert_span(spans.inode, 40, 124 + 8 - 40);
	numbers.task_mm = 1136;
	assert_span(spans_of(&numbers).task, 1136, 1752 + 16 - 1136);
	numbers.task_comm = 1136 + VMOP_BPF_SPAN_MAX - 16;
	numbers.page_compound_head = VMOP_GUEST_NO_OFFSET; /* there are no folios */
	numbers.inode_generation = 126;
	spans = spans_of(&numbers);
	assert_span(spans.task, 1136, VMOP_BPF_SPAN_MAX);
	assert_span(spans.page, 24, 16);
	assert_span(spans.inode, 0, 0); /* not aligned */
	numbers.task_comm += 4;
	numbers.page_index = VMOP_GUEST_NO_OFFSET;
	spans = spans_of(&numbers);
	assert_span(spans.task, 0, 0);
	assert_span(spans.page, 0, 0);
}

static void guests_beyond_the_room_are_refused(void **state)
{
	struct vmop_guest_numbers numbers = {.generation = 1};
	(void)state;
	for (uint32_t pid = 1; pid <= ROOM; pid++)
		assert_true(vmop_guest_maps_put(maps, pid, &numbers));
	assert_false(vmop_guest_maps_put(maps, ROOM + 1, &numbers));
	assert_int_equal(n_guests(), ROOM);
	numbers.generation = 3;
	assert_true(vmop_guest_maps_put(maps, ROOM, &numbers));
	assert_int_equal(generation_of(ROOM), 3);
	vmop_guest_maps_remove(maps, 1);
	assert_true(vmop_guest_maps_put(maps, ROOM + 1, &numbers));
}

static bool is_multiple(const void *arg, uint32_t vmm_pid)
{
	return vmm_pid % *(const uint32_t *)arg == 0;
}

static void guests_that_are_not_retained_are_forgotten(void **state)
{
	struct vmop_guest_numbers numbers = {.generation = 5};
	uint32_t divisor = 2;
	(void)state;
	vmop_guest_maps_retain(maps, is_multiple, &divisor);
	assert_int_equal(n_guests(), 0);
	for (uint32_t pid = 1; pid <= ROOM; pid++)
		assert_true(vmop_guest_maps_put(maps, pid, &numbers));
	vmop_guest_maps_retain(maps, is_multiple, &divisor);
	assert_int_equal(n_guests(), ROOM / 2);
	for (uint32_t pid = 1; pid <= ROOM; pid++)
		assert_int_equal(generation_of(pid), pid % 2 ? 0 : 5);
	divisor = 1000;
	vmop_guest_maps_retain(maps, is_multiple, &divisor);
	assert_int_equal(n_guests(), 0);
	assert_int_equal(generation_of(2), 0);
}

static void facts_are_the_sum_of_all_cpus(void **state)
{
	int n_cpus = libbpf_num_possible_cpus();
	struct vmop_bpf_guest_counts *counts = calloc((size_t)n_cpus, sizeof(*counts));
	struct vmop_guest_maps_facts facts;
	uint32_t zero = 0;
	(void)state;
	for (int cpu = 0; cpu < n_cpus; cpu++)
		counts[cpu] = (struct vmop_bpf_guest_counts){
			.n_samples = 10,
			.n_contexts = 7,
			.n_exited = 5,
			.n_switching = 6,
			.n_ring_full = 3,
			.gaps[VMOP_GUEST_GAP_ABSENT] = 2,
			.cost_ns = 1000 + (uint64_t)cpu,
		};
	assert_int_equal(bpf_map_update_elem(fds.counts, &zero, counts, BPF_ANY), 0);
	vmop_guest_maps_facts(maps, &facts);
	uint64_t n = (uint64_t)n_cpus;
	assert_int_equal(facts.n_samples, 10 * n);
	assert_int_equal(facts.n_contexts, 7 * n);
	assert_int_equal(facts.n_exited, 5 * n);
	assert_int_equal(facts.n_switching, 6 * n);
	assert_int_equal(facts.n_ring_full, 3 * n);
	assert_int_equal(facts.gaps[VMOP_GUEST_GAP_ABSENT], 2 * n);
	assert_int_equal(facts.gaps[VMOP_GUEST_GAP_NO_TASK], 0);
	assert_int_equal(facts.cost_ns, 1000 * n + n * (n - 1) / 2);
	assert_string_equal(facts.virtualisation, "SVM");
	free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_replace_earlier_ones, create, destroy),
		cmocka_unit_test_setup_teardown(members_near_each_other_have_a_span, create,
						destroy),
		cmocka_unit_test_setup_teardown(guests_beyond_the_room_are_refused, create,
						destroy),
		cmocka_unit_test_setup_teardown(guests_that_are_not_retained_are_forgotten, create,
						destroy),
		cmocka_unit_test_setup_teardown(the_filter_has_the_guests_that_are_known, create,
						destroy),
		cmocka_unit_test_setup_teardown(facts_are_the_sum_of_all_cpus, create, destroy),
	};
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL);
	if (fd < 0) {
		puts("skipped: bpf() makes no maps here");
		return 77;
	}
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
