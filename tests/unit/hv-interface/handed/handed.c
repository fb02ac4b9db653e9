// SPDX-License-Identifier: GPL-2.0-or-later
/* The handed source, over records of tasks from this test in the place of perf's. */
#include "hv-interface/handed/handed.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/handed/feed.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"
#include "vmop/guest-frame.h"

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
static struct vmop_stack_capture stacks[64]; /* of got; their frames: */
static uint64_t kernel_frames[64][VMOP_STACK_FRAMES_MAX + 1],
	user_frames[64][VMOP_STACK_FRAMES_MAX + 1];
static bool have_stacks[64];

static int begin_with(const char *text)
{
	band = calloc(1, sizeof(*band));
	band->base.ops = &ops;
	base_ns = vmop_clock_ns(CLOCK_MONOTONIC) - VMOP_NS_PER_S;
	n_got = 0;
	assert_ok(vmop_handed_feed_create(text, &feed));
	assert_ok(vmop_handed_open_over(&band->base, feed, 2, &source));
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with("host 1000000:0:ns:cpu-clock");
}

static int begin_with_stacks(void **state)
{
	(void)state;
	return begin_with("host stacks 1000000:0:ns:cpu-clock");
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

/* Hand over samples at these times, in us. frames: of their stacks; NULL: a batch without. */
static bool hand_stacks(const struct vmop_active_sample *samples, size_t n, const uint64_t *frames,
			uint64_t complete_us, uint64_t n_lost)
{
	struct vmop_active_sample host[8];
	const struct vmop_active_batch batch = {.complete_ns =
							base_ns + complete_us * 1000 + HOST_NS,
						.n_lost = n_lost,
						.n = n,
						.is_extended = frames != NULL};
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	size_t len;
	for (size_t i = 0; i < n; i++) {
		host[i] = samples[i];
		host[i].time_ns = base_ns + samples[i].time_ns * 1000 + HOST_NS;
	}
	assert_int_equal(vmop_active_batch_encode(&batch, host, frames, bytes, &len), n);
	return vmop_handed_feed_batch(feed, bytes, len);
}

static bool hand(const struct vmop_active_sample *samples, size_t n, uint64_t complete_us,
		 uint64_t n_lost)
{
	return hand_stacks(samples, n, NULL, complete_us, n_lost);
}

static void take(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)arg;
	assert_true(n_got < sizeof(got) / sizeof(got[0]));
	assert_true(!n_got || record->time_ns >= got[n_got - 1].time_ns);
	have_stacks[n_got] = stack != NULL;
	if (stack) {
		stacks[n_got] = *stack;
		memcpy(kernel_frames[n_got], stack->kernel_frames,
		       stack->n_kernel_frames * sizeof(uint64_t));
		memcpy(user_frames[n_got], stack->user_frames,
		       stack->n_user_frames * sizeof(uint64_t));
	}
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

static void assert_stack(size_t i, const uint64_t *kernel, size_t n_kernel, const uint64_t *user,
			 size_t n_user, enum vmop_stack_end end)
{
	assert_true(have_stacks[i]);
	assert_int_equal(stacks[i].n_kernel_frames, n_kernel);
	assert_int_equal(stacks[i].n_user_frames, n_user);
	if (n_kernel)
		assert_memory_equal(kernel_frames[i], kernel, n_kernel * sizeof(*kernel));
	if (n_user)
		assert_memory_equal(user_frames[i], user, n_user * sizeof(*user));
	assert_int_equal(stacks[i].user_end, end);
	assert_int_equal(stacks[i].user_generation, 0);
	assert_null(stacks[i].user_regs);
	assert_null(stacks[i].guest);
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
	for (size_t i = 0; i < n_got; i++)
		assert_false(have_stacks[i]);
	assert_int_equal(vmop_source_stacks(source, NULL)->mode, VMOP_STACKS_OFF);
}

/*
 * A sample has its callers as the kernel would give them: itself first, and return addresses. The
 * address of an interrupted caller is one more, because one byte before is looked up; except that
 * of the instruction that entered the kernel.
 */
static void samples_have_their_callers(void **state)
{
	const uint64_t in_kernel = UINT64_C(0xffffffff81000000);
	const uint64_t frames[] = {
		in_kernel + 0x100,
		vmop_guest_frame_pack(in_kernel + 0x200, true),
		vmop_guest_frame_pack(0x401100, true),
		0x401200,
		vmop_guest_frame_pack(0x401300, true),
	};
	const struct vmop_active_sample samples[] = {
		{.time_ns = 120,
		 .address = in_kernel,
		 .is_kernel = true,
		 .has_stack = true,
		 .n_frames = 5,
		 .stack_end = VMOP_STACK_COMPLETE},
		{.time_ns = 130,
		 .address = 0x401000,
		 .has_stack = true,
		 .is_stack_likely = true,
		 .first_frame = 3,
		 .n_frames = 2,
		 .stack_end = VMOP_STACK_TORN},
		{.time_ns = 140,
		 .address = 0x401000,
		 .has_stack = true,
		 .stack_end = VMOP_STACK_UNREADABLE},
		{.time_ns = 150, .address = 0x401000},
	};
	const uint64_t kernel[] = {in_kernel, in_kernel + 0x100, in_kernel + 0x201};
	const uint64_t user[] = {0x401100, 0x401200, 0x401301};
	const uint64_t others[] = {0x401000, 0x401200, 0x401301};
	(void)state;
	assert_int_equal(vmop_source_stacks(source, NULL)->mode, VMOP_STACKS_HANDED);
	record_switch(100, 10, false);
	record_switch(300, 10, true);
	set_clock(0);
	set_clock(400);
	assert_true(hand_stacks(samples, 4, frames, 400, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 4);
	assert_sample(0, 10, in_kernel);
	assert_stack(0, kernel, 3, user, 3, VMOP_STACK_COMPLETE);
	assert_int_equal(got[0].sample.flags, VMOP_SAMPLE_KERNEL);
	assert_stack(1, NULL, 0, others, 3, VMOP_STACK_TORN);
	assert_int_equal(got[1].sample.flags, VMOP_SAMPLE_USER | VMOP_SAMPLE_STACK_LIKELY);
	assert_stack(2, NULL, 0, others, 1, VMOP_STACK_UNREADABLE);
	assert_false(have_stacks[3]);
}

/* The code of a guest that this guest runs: the task is a thread of its VMM. */
static void samples_of_nested_guests(void **state)
{
	static const uint64_t no_frames;
	static const struct vmop_active_sample samples[] = {
		{.time_ns = 120, .address = 0x401000, .is_nested = true},
		{.time_ns = 130,
		 .address = UINT64_C(0xffffffff81000000),
		 .is_kernel = true,
		 .is_nested = true},
		{.time_ns = 140, .address = 0x401000, .vcpu = 1, .is_nested = true},
	};
	(void)state;
	record_switch(100, 10, false);
	record_switch(300, 10, true);
	set_clock(0);
	set_clock(400);
	assert_true(hand_stacks(samples, 3, &no_frames, 400, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 3);
	assert_sample(0, 10, 0x401000);
	assert_int_equal(got[0].sample.flags,
			 VMOP_SAMPLE_USER | VMOP_SAMPLE_GUEST | VMOP_SAMPLE_MODE_KNOWN);
	assert_int_equal(got[0].sample.tid, 10);
	assert_int_equal(got[1].sample.flags,
			 VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_GUEST | VMOP_SAMPLE_MODE_KNOWN);
	/* No task is known: no code of this guest has that address. */
	assert_sample(2, VMOP_PID_NO_TASK, 0x401000);
	assert_int_equal(got[2].sample.flags, VMOP_SAMPLE_USER | VMOP_SAMPLE_NO_IP);
}

/* It is not known whose code the user frames of such samples are. */
static void samples_without_a_task_have_no_user_frames(void **state)
{
	const uint64_t in_kernel = UINT64_C(0xffffffff81000000);
	const uint64_t frames[] = {in_kernel + 0x100, 0x401100};
	const struct vmop_active_sample samples[] = {
		{.time_ns = 103,
		 .address = in_kernel,
		 .is_kernel = true,
		 .has_stack = true,
		 .n_frames = 2,
		 .stack_end = VMOP_STACK_COMPLETE},
		{.time_ns = 150,
		 .address = 0x401000,
		 .vcpu = 1,
		 .has_stack = true,
		 .n_frames = 1,
		 .first_frame = 1,
		 .stack_end = VMOP_STACK_COMPLETE},
		{.time_ns = 151,
		 .address = in_kernel,
		 .vcpu = 1,
		 .is_kernel = true,
		 .has_stack = true,
		 .n_frames = 1,
		 .stack_end = VMOP_STACK_COMPLETE},
	};
	const uint64_t kernel[] = {in_kernel, in_kernel + 0x100};
	(void)state;
	record_switch(100, 10, true);
	record_switch(106, 20, false);
	set_clock(0);
	set_clock(400);
	assert_true(hand_stacks(samples, 3, frames, 400, 0));
	drain_source(base_ns + VMOP_NS_PER_S);
	assert_int_equal(n_got, 3);
	assert_sample(0, VMOP_PID_SWITCHING, in_kernel);
	assert_stack(0, kernel, 2, NULL, 0, VMOP_STACK_NOT_RECORDED);
	assert_sample(1, VMOP_PID_NO_TASK, 0x401000);
	assert_stack(1, NULL, 0, NULL, 0, VMOP_STACK_NOT_RECORDED);
	assert_stack(2, kernel, 2, NULL, 0, VMOP_STACK_COMPLETE);
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
		TEST(samples_have_the_task_that_ran),
		TEST(records_wait_for_samples),
		TEST(records_do_not_wait_for_a_silent_host),
		TEST(the_end_waits_for_nothing),
		TEST(losses_of_the_host_are_delivered_once),
		TEST(samples_of_nested_guests),
		cmocka_unit_test_setup_teardown(samples_have_their_callers, begin_with_stacks, end),
		cmocka_unit_test_setup_teardown(samples_without_a_task_have_no_user_frames,
						begin_with_stacks, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
