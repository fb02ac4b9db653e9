// SPDX-License-Identifier: GPL-2.0-or-later
/* The handed source, over records of tasks from this test in the place of perf's. */
#include "hv-interface/handed/handed.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/handed/feed.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

/* ---- a side-band ------------------------------------------------------------------------- */

struct side_band {
	struct vmop_source base;
	struct vmop_record records[32]; /* in the order of time */
	size_t n, n_delivered;
};

static struct vmop_error *drain(struct vmop_source *source, uint64_t up_to_ns,
				const struct vmop_sink *sink, bool *ret_ended)
{
	struct side_band *band = (struct side_band *)source;
	*ret_ended = false;
	while (band->n_delivered < band->n && band->records[band->n_delivered].time_ns < up_to_ns)
		sink->record(sink->arg, &band->records[band->n_delivered++], NULL);
	return NULL;
}

static void close_band(struct vmop_source *source)
{
	free(source);
}

static void stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	(void)source;
	*ret = (struct vmop_source_stats){0};
}

static const struct vmop_source_ops ops = {.drain = drain, .close = close_band, .stats = stats};

/* ---- the scene ---------------------------------------------------------------------------- */

#define HOST_NS UINT64_C(5000000000) /* the host's clock minus this guest's */

static struct side_band *band;
static struct vmop_handed_feed *feed;
static struct vmop_source *source;
static uint64_t base_ns; /* this guest's time of the scene */
static struct vmop_record got[64];
static size_t n_got;

static int begin(void **state)
{
	(void)state;
	band = calloc(1, sizeof(*band));
	band->base.ops = &ops;
	base_ns = vmop_clock_ns(CLOCK_MONOTONIC) - VMOP_NS_PER_S;
	n_got = 0;
	assert_ok(vmop_handed_feed_create("host 1000000:0:ns:cpu-clock", &feed));
	assert_ok(vmop_handed_open_over(&band->base, feed, 2, &source));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_source_close(source);
	vmop_handed_feed_destroy(feed);
	return 0;
}

static void record_switch(uint64_t us, uint32_t pid, bool is_out)
{
	band->records[band->n++] = (struct vmop_record){
		.type = VMOP_RECORD_SWITCH,
		.time_ns = base_ns + us * 1000,
		.task_switch = {.cpu = 0, .pid = pid, .tid = pid, .is_out = is_out}};
}

static void record_comm(uint64_t us)
{
	band->records[band->n++] =
		(struct vmop_record){.type = VMOP_RECORD_COMM,
				     .time_ns = base_ns + us * 1000,
				     .comm = {.pid = 10, .tid = 10, .is_exec = 1, .comm = "next"}};
}

/* The host's clock at a time of this guest, with some error. */
static void set_clock(uint64_t us)
{
	const struct vmop_tsc_pair now = {.time_ns = base_ns + us * 1000};
	struct vmop_tsc_pair later = now;
	struct vmop_active_clock answer = {.host_ns = now.time_ns + HOST_NS + 500};
	later.time_ns += 1000;
	answer.asked_ns = vmop_handed_clock_ask(&feed->clock, &now, false);
	assert_true(vmop_handed_clock_answer(&feed->clock, &answer, &later));
}

/* Hand over samples at these times, in us, all of them user's but those of odd addresses. */
static bool hand(const struct vmop_active_sample *samples, size_t n, uint64_t complete_us,
		 uint64_t n_lost)
{
	struct vmop_active_sample host[8];
	const struct vmop_active_batch batch = {
		.complete_ns = base_ns + complete_us * 1000 + HOST_NS, .n_lost = n_lost, .n = n};
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	size_t len;
	for (size_t i = 0; i < n; i++) {
		host[i] = samples[i];
		host[i].time_ns = base_ns + samples[i].time_ns * 1000 + HOST_NS;
	}
	assert_int_equal(vmop_active_batch_encode(&batch, host, bytes, &len), n);
	return vmop_handed_feed_batch(feed, bytes, len);
}

static void take(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)arg;
	assert_null(stack);
	assert_true(n_got < sizeof(got) / sizeof(got[0]));
	assert_true(!n_got || record->time_ns >= got[n_got - 1].time_ns);
	got[n_got++] = *record;
}

static void drain_source(uint64_t up_to_ns)
{
	const struct vmop_sink sink = {.record = take};
	assert_ok(vmop_source_drain(source, up_to_ns, &sink, NULL));
}

static void assert_sample(size_t i, uint32_t pid, uint64_t address)
{
	assert_true(i < n_got);
	assert_int_equal(got[i].type, VMOP_RECORD_SAMPLE);
	assert_int_equal(got[i].sample.pid, pid);
	assert_int_equal(got[i].sample.ip, address);
}

/* ---- tests -------------------------------------------------------------------------------- */

/* Samples and records come in the order of time, each sample with the task that ran. */
static void samples_have_the_task_that_ran(void **state)
{
	static const struct vmop_active_sample samples[] = {
		{.time_ns = 50, .address = 0x401000, .weight_events = 7},
		{.time_ns = 103, .address = 0xffffffff81000000, .is_kernel = true},
		{.time_ns = 150, .address = 0x402000},
		{.time_ns = 250, .address = 0x403000, .vcpu = 1},
		{.time_ns = 260, .address = 0x404000, .vcpu = VMOP_ACTIVE_NO_VCPU},
	};
	(void)state;
	record_switch(100, 10, true);
	record_switch(106, 20, false);
	record_comm(120);
	record_switch(300, 20, true);
	set_clock(0);
	set_clock(400);
	assert_true(hand(samples, 5, 400, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 6);
	assert_sample(0, 10, 0x401000);
	assert_int_equal(got[0].sample.weight_events, 7);
	assert_int_equal(got[0].sample.flags, VMOP_SAMPLE_USER);
	assert_sample(1, VMOP_PID_SWITCHING, 0xffffffff81000000);
	assert_int_equal(got[1].sample.flags, VMOP_SAMPLE_KERNEL);
	assert_int_equal(got[2].type, VMOP_RECORD_COMM);
	assert_sample(3, 20, 0x402000);
	assert_sample(4, VMOP_PID_NO_TASK, 0x403000); /* no record of its CPU */
	assert_sample(5, VMOP_PID_NO_TASK, 0x404000);
	assert_int_equal(feed->counts.n_received, 5);
	assert_int_equal(feed->counts.n_switching, 1);
	assert_int_equal(feed->counts.n_unplaced, 2);
	assert_int_equal(feed->counts.n_ambiguous, 0);
}

/* A record waits until the host has sent all samples before it. */
static void records_wait_for_samples(void **state)
{
	static const struct vmop_active_sample sample = {.time_ns = 110, .address = 0x401000};
	(void)state;
	record_switch(100, 10, false);
	record_comm(120);
	set_clock(0);
	set_clock(200);
	assert_true(hand(NULL, 0, 90, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 0);
	assert_true(hand(&sample, 1, 200, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 2);
	assert_sample(0, 10, 0x401000);
	assert_int_equal(got[1].type, VMOP_RECORD_COMM);
}

/* A host that sends nothing does not hold this guest's records back for ever. */
static void records_do_not_wait_for_a_silent_host(void **state)
{
	(void)state;
	base_ns -= 10 * VMOP_NS_PER_S;
	record_comm(120);
	drain_source(base_ns + 20 * VMOP_NS_PER_S);
	assert_int_equal(n_got, 1);
}

/* The end delivers all records and samples, also a sample without a time. */
static void the_end_waits_for_nothing(void **state)
{
	static const struct vmop_active_sample sample = {.time_ns = 110, .address = 0x401000};
	(void)state;
	record_comm(120);
	assert_true(hand(&sample, 1, 115, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 0);
	drain_source(UINT64_MAX);
	assert_int_equal(n_got, 2);
	assert_int_equal(feed->counts.n_received, 1);
}

static void losses_of_the_host_are_delivered_once(void **state)
{
	struct vmop_source_stats source_stats;
	(void)state;
	set_clock(0);
	assert_true(hand(NULL, 0, 90, 5));
	drain_source(base_ns + VMOP_NS_PER_S);
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 1);
	assert_int_equal(got[0].type, VMOP_RECORD_LOST);
	assert_int_equal(got[0].lost.lost_records, 5);
	vmop_source_stats(source, &source_stats);
	assert_int_equal(source_stats.lost_records, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_have_the_task_that_ran),	     TEST(records_wait_for_samples),
		TEST(records_do_not_wait_for_a_silent_host), TEST(the_end_waits_for_nothing),
		TEST(losses_of_the_host_are_delivered_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
