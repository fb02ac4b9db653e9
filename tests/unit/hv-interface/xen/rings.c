// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings over plain memory, written as kernel-module/ring.c does, and their reader and decoder. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/records.h"

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

/* Write one record as the module does. */
static void put_record(struct fixture *fixture, unsigned i, const struct vmop_xendev_record *record)
{
	struct vmop_xendev_ring *ring = ring_of(fixture, i);
	struct vmop_xendev_record *records = (void *)((uint8_t *)ring + PAGE_BYTES);
	if (ring->head - ring->tail >= N_RECORDS) {
		ring->lost++;
		return;
	}
	records[ring->head % N_RECORDS] = *record;
	ring->head++;
}

static void put(struct fixture *fixture, unsigned i, uint64_t time_ns, uint64_t eip)
{
	const struct vmop_xendev_record record = {
		.time_ns = time_ns, .eip = eip, .cpu = i, .type = VMOP_XENDEV_ENTRY};
	put_record(fixture, i, &record);
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
	/* Records that arrive meanwhile appear in order after a refresh. */
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
	/* Room is given back only on request: the last record may still be in use. */
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
	/* Skipped records do not count as fill. */
	assert_int_equal(vmop_xen_rings_percent_used(&fixture->rings), 0);
	vmop_xen_rings_free(&fixture->rings);
	assert_int_equal(ring_of(fixture, 1)->tail, N_RECORDS + 1);
}

static void test_a_count_of_lost_ones_that_goes_back(void **state)
{
	struct fixture *fixture = *state;
	ring_of(fixture, 1)->lost = 7;
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 7);
	ring_of(fixture, 1)->lost = 3;
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 0);
	assert_int_equal(fixture->rings.malformed, 1);
	ring_of(fixture, 1)->lost = 5;
	assert_int_equal(vmop_xen_rings_take_lost(&fixture->rings), 2);
}

/* ---- their records: xen/records.h ------------------------------------------------------------ */

enum { DOMAIN = 3 };

struct seen {
	char text[256]; /* s or c and the address, for each sample and caller; L for losses */
	struct vmop_xen_entry last;
};

static void note_entry(void *arg, const struct vmop_xen_entry *entry)
{
	struct seen *seen = arg;
	size_t len = strlen(seen->text);
	snprintf(seen->text + len, sizeof(seen->text) - len, "%c%u ", entry->is_caller ? 'c' : 's',
		 (unsigned)entry->ip);
	seen->last = *entry;
}

static void note_lost(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n)
{
	struct seen *seen = arg;
	size_t len = strlen(seen->text);
	snprintf(seen->text + len, sizeof(seen->text) - len, "L%x:%u:%u ", domain, vcpu,
		 (unsigned)n);
}

static void put_entry(struct fixture *fixture, uint64_t time_ns, uint16_t vcpu, uint64_t eip)
{
	const struct vmop_xendev_record record = {
		.time_ns = time_ns,
		.eip = eip,
		.domid = DOMAIN,
		.vcpu = vcpu,
		.type = VMOP_XENDEV_ENTRY,
		.event = eip == VMOP_XENOPROF_ESCAPE ? VMOP_XENOPROF_ESCAPE_TRACE : 0,
	};
	put_record(fixture, N_RINGS - 1, &record);
}

static void expect_drained(struct fixture *fixture, struct vmop_xen_records *records,
			   uint64_t up_to_ns, const char *text)
{
	struct seen seen = {0};
	const struct vmop_xen_entry_sink sink = {note_entry, note_lost, &seen};
	vmop_xen_records_drain(records, &fixture->rings, up_to_ns, &sink);
	assert_string_equal(seen.text, text);
}

static void test_callers(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xen_records records = {0};
	assert_null(vmop_xen_records_add(&records, VMOP_XEN_DOMID_SELF, 1));
	assert_null(vmop_xen_records_add(&records, DOMAIN, 2));
	/* Two vCPUs at the same time; one is in the middle of a backtrace at the end of a drain. */
	put_entry(fixture, 1, 0, VMOP_XENOPROF_ESCAPE);
	put_entry(fixture, 2, 1, VMOP_XENOPROF_ESCAPE);
	put_entry(fixture, 3, 0, 10);
	put_entry(fixture, 4, 0, 11);
	put_entry(fixture, 5, 1, 20);
	expect_drained(fixture, &records, UINT64_MAX, "s10 c11 s20 ");
	put_entry(fixture, 6, 1, 21);
	put_entry(fixture, 7, 0, VMOP_XENOPROF_ESCAPE);
	expect_drained(fixture, &records, UINT64_MAX, "c21 ");
	put_entry(fixture, 8, 0, 12);
	expect_drained(fixture, &records, UINT64_MAX, "s12 ");
	/* A vCPU that was not added has only samples. */
	put_entry(fixture, 9, 2, VMOP_XENOPROF_ESCAPE);
	put_entry(fixture, 10, 2, 30);
	put_entry(fixture, 11, 2, 31);
	expect_drained(fixture, &records, UINT64_MAX, "s30 s31 ");
	vmop_xen_records_deinit(&records);
	assert_int_equal(records.n_domains, 0);
}

static void test_samples_and_their_words(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xen_records records = {0};
	struct seen seen = {0};
	const struct vmop_xen_entry_sink sink = {note_entry, note_lost, &seen};
	const struct vmop_xendev_record record = {.time_ns = 5,
						  .eip = 77,
						  .pid = 8,
						  .tid = 9,
						  .cpu = 1,
						  .domid = VMOP_XEN_DOMID_SELF,
						  .vcpu = 1,
						  .type = VMOP_XENDEV_ENTRY,
						  .mode = 2,
						  .event = 3};
	put_record(fixture, 1, &record);
	put_entry(fixture, 6, 0, 78);
	vmop_xen_records_drain(&records, &fixture->rings, 6, &sink);
	assert_string_equal(seen.text, "s77 ");
	assert_int_equal(seen.last.time_ns, 5);
	assert_int_equal(seen.last.pid, 8);
	assert_int_equal(seen.last.tid, 9);
	assert_int_equal(seen.last.cpu, 1);
	assert_int_equal(seen.last.domain, VMOP_XEN_DOMID_SELF);
	assert_int_equal(seen.last.vcpu, 1);
	assert_int_equal(seen.last.mode, 2);
	assert_int_equal(seen.last.event, 3);
	expect_drained(fixture, &records, UINT64_MAX, "s78 ");
}

static void test_losses_are_reported(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xen_records records = {0};
	const struct vmop_xendev_record lost = {
		.time_ns = 1, .eip = 5, .domid = DOMAIN, .vcpu = 1, .type = VMOP_XENDEV_LOST};
	put_record(fixture, 2, &lost);
	ring_of(fixture, 0)->lost = 4;
	expect_drained(fixture, &records, UINT64_MAX, "L3:1:5 L7ff0:0:4 ");
}

/* It would overflow before the limit reaches it. */
static void test_a_full_ring_is_emptied(void **state)
{
	struct fixture *fixture = *state;
	struct vmop_xen_records records = {0};
	struct seen seen = {0};
	const struct vmop_xen_entry_sink sink = {note_entry, note_lost, &seen};
	for (unsigned i = 0; i < N_RECORDS / 4 * 3; i++)
		put(fixture, 1, 1000 + i, i);
	vmop_xen_records_drain(&records, &fixture->rings, 1000, &sink);
	assert_int_equal(ring_of(fixture, 1)->tail, 0);
	for (unsigned i = 0; i < N_RECORDS / 8; i++)
		put(fixture, 1, 2000 + i, i);
	vmop_xen_records_drain(&records, &fixture->rings, 1000, &sink);
	assert_int_equal(ring_of(fixture, 1)->tail, N_RECORDS / 8 * 7);
}

/* ---- the module's description of its rings -------------------------------------------------- */

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
		cmocka_unit_test_setup_teardown(test_a_count_of_lost_ones_that_goes_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_callers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples_and_their_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_losses_are_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_full_ring_is_emptied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sizes_that_do_not_fit, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
