// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings over plain memory, written as the kernel writes them, and merged. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/merge.h"

enum { RING_BYTES = 4096, N_RINGS = 5, SAMPLE_BYTES = 48 };

static const uint64_t ids[] = {1};
static const uint8_t wanted[] = {0xf};

/* A CPU's ring and the kernel's side of it. */
struct fake {
	struct perf_event_mmap_page page;
	uint64_t data[RING_BYTES / 8];
	struct vmop_perf_cursor cursor;
};

struct fixture {
	struct fake rings[N_RINGS];
	struct vmop_perf_cursor *cursors[N_RINGS];
	struct vmop_perf_merge merge;
	struct vmop_source_stats stats;
	/* the delivered records */
	uint64_t times[1024], ips[1024];
	uint32_t cpus[1024];
	size_t n;
	uint64_t lost;
	char comm[256];
};

static int set_up(void **state)
{
	struct fixture *fixture = aligned_alloc(64, (sizeof(*fixture) + 63) & ~(size_t)63);
	memset(fixture, 0, sizeof(*fixture));
	for (uint32_t i = 0; i < N_RINGS; i++) {
		struct fake *fake = &fixture->rings[i];
		assert_null(vmop_perf_ring_init(&fake->cursor.ring, &fake->page,
						(const uint8_t *)fake->data, RING_BYTES));
		fake->cursor.decoder = (struct vmop_perf_decoder){
			.ids = ids, .wanted = wanted, .n_events = 1, .cpu = i};
		fixture->cursors[i] = &fake->cursor;
	}
	assert_null(vmop_perf_merge_reserve(&fixture->merge, N_RINGS));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	for (size_t i = 0; i < N_RINGS; i++)
		vmop_perf_ring_deinit(&fixture->rings[i].cursor.ring);
	vmop_perf_merge_deinit(&fixture->merge);
	free(fixture);
	return 0;
}

/* Write a record as the kernel does, byte by byte around the end. Return false without room. */
static bool write_record(struct fake *fake, const void *data, size_t n)
{
	if (fake->page.data_head + n - fake->page.data_tail > RING_BYTES)
		return false;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)fake->data)[(fake->page.data_head + i) % RING_BYTES] =
			((const uint8_t *)data)[i];
	fake->page.data_head += n;
	return true;
}

static bool write_sample(struct fake *fake, uint64_t time_ns, uint64_t ip)
{
	const struct {
		struct perf_event_header header;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period;
	} sample = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, SAMPLE_BYTES},
		    ip,
		    1,
		    1,
		    time_ns,
		    fake->cursor.decoder.cpu,
		    0,
		    1};
	_Static_assert(sizeof(sample) == SAMPLE_BYTES, "perf's layout");
	return write_record(fake, &sample, sizeof(sample));
}

static void write_comm(struct fake *fake, uint64_t time_ns, const char *text)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char text[200];
		uint32_t id_pid, id_tid;
		uint64_t time, cpu;
	} comm = {.header = {PERF_RECORD_COMM, 0, sizeof(comm)}, .time = time_ns};
	strcpy(comm.text, text);
	assert_true(write_record(fake, &comm, sizeof(comm)));
}

static void write_lost(struct fake *fake, uint64_t time_ns, uint64_t lost)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t id_pid, id_tid;
		uint64_t time, cpu;
	} record = {{PERF_RECORD_LOST, 0, sizeof(record)}, 1, lost, 0, 0, time_ns, 0};
	assert_true(write_record(fake, &record, sizeof(record)));
}

static void take(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct fixture *fixture = arg;
	assert_true(fixture->n < 1024);
	fixture->times[fixture->n] = record->time_ns;
	fixture->ips[fixture->n] = record->sample.ip;
	fixture->cpus[fixture->n] = record->sample.cpu;
	fixture->n++;
	if (record->type == VMOP_RECORD_COMM)
		strcpy(fixture->comm, record->comm.comm);
	if (record->type == VMOP_RECORD_LOST)
		fixture->lost += record->lost.lost_records;
}

static void drain(struct fixture *fixture, uint64_t up_to_ns)
{
	const struct vmop_sink sink = {take, fixture};
	vmop_perf_merge_drain(&fixture->merge, fixture->cursors, N_RINGS, up_to_ns, &sink,
			      &fixture->stats);
}

static void rings_are_merged_by_time(void **state)
{
	struct fixture *fixture = *state;
	/* Times 0 to 199, spread unevenly: runs of several lengths, one ring empty. */
	for (uint64_t i = 0; i < 200; i++)
		assert_true(write_sample(&fixture->rings[(i * i / 5 + i) % (N_RINGS - 1)], i, i));
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 200);
	for (uint64_t i = 0; i < 200; i++) {
		assert_int_equal(fixture->times[i], i);
		assert_int_equal(fixture->ips[i], i);
		assert_int_equal(fixture->cpus[i], (i * i / 5 + i) % (N_RINGS - 1));
	}
	assert_int_equal(fixture->stats.samples, 200);
	assert_int_equal(fixture->stats.bytes, 200 * SAMPLE_BYTES);
	assert_int_equal(fixture->stats.first_ns, 0);
	for (size_t i = 0; i < N_RINGS; i++) /* all room was given back */
		assert_int_equal(fixture->rings[i].page.data_tail,
				 fixture->rings[i].page.data_head);
}

static void records_after_the_horizon_stay_in_the_ring(void **state)
{
	struct fixture *fixture = *state;
	for (uint64_t i = 0; i < 20; i++)
		write_sample(&fixture->rings[i % 2], i, i);
	drain(fixture, 10);
	assert_int_equal(fixture->n, 10);
	assert_int_equal(fixture->rings[0].page.data_tail, 5 * SAMPLE_BYTES);
	drain(fixture, 10);
	assert_int_equal(fixture->n, 10);
	drain(fixture, 11);
	assert_int_equal(fixture->n, 11);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 20);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(fixture->times[i], i);
}

static void a_full_ring_does_not_hold_back(void **state)
{
	struct fixture *fixture = *state;
	uint64_t n = 0;
	while (write_sample(&fixture->rings[1], 100 + n, n))
		n++;
	write_sample(&fixture->rings[2], 150, 0);
	drain(fixture, 10);
	assert_int_equal(fixture->n, n + 1);
	assert_int_equal(fixture->rings[1].page.data_tail, n * SAMPLE_BYTES);
}

/*
 * 48 does not divide 4096, so samples wrap at many places. Text that wraps must come in one piece.
 */
static void records_that_wrap_are_whole(void **state)
{
	struct fixture *fixture = *state;
	char text[100];
	memset(text, 'x', sizeof(text));
	text[99] = '\0';
	uint64_t time_ns = 1;
	unsigned n_wrapped = 0;
	for (unsigned round = 0; round < 200; round++) {
		struct fake *fake = &fixture->rings[3];
		for (unsigned i = 0; i < 3; i++, time_ns++)
			assert_true(write_sample(fake, time_ns, time_ns * 7));
		uint64_t at = fake->page.data_head % RING_BYTES;
		text[0] = (char)('a' + round % 26);
		write_comm(fake, time_ns++, text);
		n_wrapped += fake->page.data_head % RING_BYTES < at;
		fixture->n = 0;
		drain(fixture, UINT64_MAX);
		assert_int_equal(fixture->n, 4);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(fixture->ips[i], fixture->times[i] * 7);
		assert_string_equal(fixture->comm, text);
	}
	assert_true(n_wrapped > 10);
	assert_int_equal(fixture->stats.malformed_records, 0);
}

/* An interrupt's record comes before the older record that it interrupted. */
static void an_older_record_behind_takes_the_newer_time(void **state)
{
	struct fixture *fixture = *state;
	write_sample(&fixture->rings[0], 100, 1);
	write_comm(&fixture->rings[0], 90, "mapped");
	write_sample(&fixture->rings[1], 95, 2);
	write_sample(&fixture->rings[1], 101, 3);
	drain(fixture, UINT64_MAX);
	static const uint64_t times[] = {95, 100, 100, 101};
	assert_int_equal(fixture->n, 4);
	assert_memory_equal(fixture->times, times, sizeof(times));
	/* The same between two drains. */
	write_sample(&fixture->rings[2], 50, 4);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->times[4], 101);
}

static void a_bad_size_costs_the_rest_of_the_ring_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	static const uint16_t sizes[] = {0, 4, 7, 12, 49, SAMPLE_BYTES * 2, 65528, 65535};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fake *fake = &fixture->rings[0];
		const struct {
			struct perf_event_header header;
			uint64_t body[5];
		} bad = {.header = {PERF_RECORD_SAMPLE, 0, sizes[i]}};
		fixture->n = 0;
		write_sample(fake, 1, 1);
		write_record(fake, &bad, sizeof(bad));
		write_sample(&fixture->rings[1], 2, 2);
		drain(fixture, UINT64_MAX);
		assert_int_equal(fixture->n, 2);
		assert_int_equal(fixture->stats.malformed_records, i + 1);
		assert_int_equal(fake->page.data_tail, fake->page.data_head);
		write_sample(fake, 3, 3);
		drain(fixture, UINT64_MAX);
		assert_int_equal(fixture->n, 3);
	}
}

static void a_head_that_cannot_be_is_survived(void **state)
{
	struct fixture *fixture = *state;
	struct fake *fake = &fixture->rings[0];
	fake->page.data_head = RING_BYTES + 8; /* more than the ring has room for */
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 0);
	assert_int_equal(fixture->stats.malformed_records, 1);
	fake->page.data_head = RING_BYTES + 8 + 3; /* not a multiple of 8 */
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->stats.malformed_records, 2);
	fake->page.data_head = 0; /* the head went back */
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->stats.malformed_records, 3);
	assert_int_equal(fixture->n, 0);
	write_sample(fake, 3, 3);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 1);
}

static void a_malformed_record_is_stepped_over(void **state)
{
	struct fixture *fixture = *state;
	const struct {
		struct perf_event_header header;
		uint64_t body[2];
	} tiny = {.header = {PERF_RECORD_SAMPLE, 0, sizeof(tiny)}};
	write_sample(&fixture->rings[0], 1, 1);
	write_record(&fixture->rings[0], &tiny, sizeof(tiny));
	write_sample(&fixture->rings[0], 2, 2);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 2);
	assert_int_equal(fixture->stats.malformed_records, 1);
	assert_int_equal(fixture->stats.samples, 2);
}

static void a_loss_is_reported_once(void **state)
{
	struct fixture *fixture = *state;
	write_lost(&fixture->rings[0], 5, 10);
	drain(fixture, 5); /* after the limit: must not count yet */
	assert_int_equal(fixture->stats.lost_records, 0);
	drain(fixture, 6);
	assert_int_equal(fixture->lost, 10);
	/*
	 * The events' own counts have reported 7 more losses than the rings, which then report 5
	 * and 4.
	 */
	fixture->rings[0].cursor.lost_reported = 17;
	write_lost(&fixture->rings[0], 7, 5);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->lost, 10);
	assert_int_equal(fixture->n, 1);
	write_lost(&fixture->rings[0], 8, 4);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->lost, 12);
	assert_int_equal(fixture->stats.lost_records, 12);
}

static void a_time_at_the_end_of_the_world_is_taken(void **state)
{
	struct fixture *fixture = *state;
	write_sample(&fixture->rings[0], UINT64_MAX, 1);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rings_are_merged_by_time),
		TEST(records_after_the_horizon_stay_in_the_ring),
		TEST(a_full_ring_does_not_hold_back),
		TEST(records_that_wrap_are_whole),
		TEST(an_older_record_behind_takes_the_newer_time),
		TEST(a_bad_size_costs_the_rest_of_the_ring_and_no_more),
		TEST(a_head_that_cannot_be_is_survived),
		TEST(a_malformed_record_is_stepped_over),
		TEST(a_loss_is_reported_once),
		TEST(a_time_at_the_end_of_the_world_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
