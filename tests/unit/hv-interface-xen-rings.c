// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings over plain memory, written to as kernel-module/ring.c does, and read. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen-rings.h"

enum {
	PAGE_BYTES = 4096,
	N_RINGS = 3,
	N_RECORDS = 256,
	DATA_BYTES = (N_RECORDS * 40 + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES,
	RING_BYTES = PAGE_BYTES + DATA_BYTES,
	MAP_BYTES = PAGE_BYTES + N_RINGS * RING_BYTES,
};

struct fixture {
	uint8_t *map;
	struct vmop_xendev_map *head;
	struct vmop_xen_rings rings;
};

static struct vmop_xendev_ring *ring_of(struct fixture *fixture, unsigned i)
{
	return (void *)(fixture->map + PAGE_BYTES + i * RING_BYTES);
}

/* What the module does for one record. */
static void put(struct fixture *fixture, unsigned i, uint64_t time_ns, uint64_t eip)
{
	struct vmop_xendev_ring *ring = ring_of(fixture, i);
	struct vmop_xendev_record *records = (void *)((uint8_t *)ring + PAGE_BYTES);
	if (ring->head - ring->tail >= N_RECORDS) {
		ring->lost++;
		return;
	}
	records[ring->head % N_RECORDS] = (struct vmop_xendev_record){
		.time_ns = time_ns, .eip = eip, .cpu = i, .type = VMOP_XENDEV_ENTRY};
	ring->head++;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	fixture->map = aligned_alloc(PAGE_BYTES, MAP_BYTES);
	memset(fixture->map, 0, MAP_BYTES);
	fixture->head = (void *)fixture->map;
	*fixture->head = (struct vmop_xendev_map){
		.magic = VMOP_XENDEV_MAGIC,
		.abi = VMOP_XENDEV_ABI,
		.n_rings = N_RINGS,
		.record_bytes = sizeof(struct vmop_xendev_record),
		.ring_records = N_RECORDS,
		.ring_bytes = RING_BYTES,
		.first_offset = PAGE_BYTES,
		.data_offset = PAGE_BYTES,
	};
	assert_null(vmop_xen_rings_init(&fixture->rings, fixture->map, MAP_BYTES));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	vmop_xen_rings_deinit(&fixture->rings);
	free(fixture->map);
	free(fixture);
	return 0;
}

static void expect_next(struct fixture *fixture, uint64_t up_to_ns, uint64_t eip)
{
	const struct vmop_xendev_record *record = vmop_xen_rings_next(&fixture->rings, up_to_ns);
	assert_non_null(record);
	assert_int_equal(record->eip, eip);
}

static void expect_none(struct fixture *fixture, uint64_t up_to_ns)
{
	assert_null(vmop_xen_rings_next(&fixture->rings, up_to_ns));
}

static void test_empty(void **state)
{
	struct fixture *fixture = *state;
	vmop_xen_rings_refresh(&fixture->rings);
	expect_none(fixture, UINT64_MAX);
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 0);
	assert_int_equal(vmop_xen_rings_percent_used(&fixture->rings), 0);
}

static void test_merged_by_time(void **state)
{
	struct fixture *fixture = *state;
	put(fixture, 0, 10, 1);
	put(fixture, 0, 40, 4);
	put(fixture, 1, 20, 2);
	put(fixture, 1, 60, 6);
	put(fixture, 2, 30, 3);
	put(fixture, 2, 50, 5);
	vmop_xen_rings_refresh(&fixture->rings);
	for (uint64_t eip = 1; eip <= 6; eip++)
		expect_next(fixture, UINT64_MAX, eip);
	expect_none(fixture, UINT64_MAX);
}

static void test_up_to(void **state)
{
	struct fixture *fixture = *state;
	put(fixture, 0, 10, 1);
	put(fixture, 1, 20, 2);
	put(fixture, 0, 30, 3);
	vmop_xen_rings_refresh(&fixture->rings);
	expect_next(fixture, 20, 1);
	expect_none(fixture, 20);
	expect_next(fixture, 21, 2);
	expect_none(fixture, 30);
	/* What comes meanwhile is seen after a refresh, in its place. */
	put(fixture, 2, 25, 9);
	vmop_xen_rings_refresh(&fixture->rings);
	expect_next(fixture, UINT64_MAX, 9);
	expect_next(fixture, UINT64_MAX, 3);
}

static void test_only_what_was_there(void **state)
{
	struct fixture *fixture = *state;
	put(fixture, 0, 10, 1);
	vmop_xen_rings_refresh(&fixture->rings);
	put(fixture, 0, 20, 2);
	expect_next(fixture, UINT64_MAX, 1);
	expect_none(fixture, UINT64_MAX);
}

static void test_room_is_given_back(void **state)
{
	struct fixture *fixture = *state;
	for (unsigned i = 0; i < N_RECORDS; i++)
		put(fixture, 1, i, i);
	vmop_xen_rings_refresh(&fixture->rings);
	assert_int_equal(vmop_xen_rings_percent_used(&fixture->rings), 100);
	for (unsigned i = 0; i < N_RECORDS; i++)
		expect_next(fixture, UINT64_MAX, i);
	/* Not before it is said: the last record may still be looked at. */
	assert_int_equal(ring_of(fixture, 1)->tail, 0);
	vmop_xen_rings_free(&fixture->rings);
	assert_int_equal(ring_of(fixture, 1)->tail, N_RECORDS);
	/* Around the end. */
	for (unsigned lap = 1; lap < 5; lap++) {
		for (unsigned i = 0; i < N_RECORDS - 7; i++)
			put(fixture, 1, 1000 * lap + i, i);
		vmop_xen_rings_refresh(&fixture->rings);
		for (unsigned i = 0; i < N_RECORDS - 7; i++)
			expect_next(fixture, UINT64_MAX, i);
		expect_none(fixture, UINT64_MAX);
		vmop_xen_rings_free(&fixture->rings);
	}
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 0);
}

static void test_lost(void **state)
{
	struct fixture *fixture = *state;
	for (unsigned i = 0; i < N_RECORDS + 5; i++)
		put(fixture, 2, i, i);
	put(fixture, 0, 1, 1);
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 5);
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 0);
	put(fixture, 2, 1, 1);
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 1);
}

static void test_counts_that_can_not_be(void **state)
{
	struct fixture *fixture = *state;
	put(fixture, 0, 10, 1);
	ring_of(fixture, 1)->head = N_RECORDS + 1;
	ring_of(fixture, 2)->head = UINT64_MAX;
	vmop_xen_rings_refresh(&fixture->rings);
	assert_int_equal(fixture->rings.malformed, 2);
	expect_next(fixture, UINT64_MAX, 1);
	expect_none(fixture, UINT64_MAX);
	vmop_xen_rings_free(&fixture->rings);
	assert_int_equal(ring_of(fixture, 1)->tail, N_RECORDS + 1);
}

static void expect_refused(struct fixture *fixture, const struct vmop_xendev_map *head,
			   size_t len_bytes, enum vmop_error_code code)
{
	struct vmop_xen_rings rings;
	*fixture->head = *head;
	struct vmop_error *err = vmop_xen_rings_init(&rings, fixture->map, len_bytes);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	vmop_error_destroy(err);
	vmop_xen_rings_deinit(&rings);
}

static void test_another_version(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xendev_map good = *fixture->head, bad = good;
	bad.abi++;
	expect_refused(fixture, &bad, MAP_BYTES, VMOP_ERROR_CANT);
	bad = good;
	bad.magic = 0;
	expect_refused(fixture, &bad, MAP_BYTES, VMOP_ERROR_CANT);
	bad = good;
	bad.record_bytes = 48;
	expect_refused(fixture, &bad, MAP_BYTES, VMOP_ERROR_CANT);
	*fixture->head = good;
}

static void test_sizes_that_do_not_fit(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xendev_map good = *fixture->head;
	struct vmop_xendev_map bad[12];
	for (size_t i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].n_rings = 0;
	bad[1].n_rings = N_RINGS + 1;
	bad[2].n_rings = UINT32_MAX;
	bad[3].ring_records = 0;
	bad[4].ring_records = 255;
	bad[5].ring_records = 1u << 31;
	bad[6].ring_bytes = RING_BYTES + 64;
	bad[7].ring_bytes = 1;
	bad[8].ring_bytes = 0;
	bad[9].data_offset = PAGE_BYTES * 4;
	bad[10].first_offset = UINT64_MAX - 63;
	bad[11].data_offset = 0;
	for (size_t i = 0; i < 12; i++)
		expect_refused(fixture, &bad[i], MAP_BYTES, VMOP_ERROR_CORRUPT);
	expect_refused(fixture, &good, MAP_BYTES - 1, VMOP_ERROR_CORRUPT);
	expect_refused(fixture, &good, 8, VMOP_ERROR_CANT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_merged_by_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_up_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_what_was_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_room_is_given_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_counts_that_can_not_be, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sizes_that_do_not_fit, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
