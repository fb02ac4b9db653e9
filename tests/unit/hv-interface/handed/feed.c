// SPDX-License-Identifier: GPL-2.0-or-later
/* Batches and answers from the host, as the guest accepts them. */
#include "hv-interface/handed/feed.h"

#include <cmocka.h>
#include <stdlib.h>

#include "tests/unit/ok.h"

static struct vmop_handed_feed *feed;

static int begin(void **state)
{
	(void)state;
	assert_ok(vmop_handed_feed_create("host 1000000:0:ns:cpu-clock", &feed));
	return 0;
}

static int begin_with_stacks(void **state)
{
	(void)state;
	assert_ok(vmop_handed_feed_create("host stacks 1000000:0:ns:cpu-clock", &feed));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_handed_feed_destroy(feed);
	return 0;
}

static bool hand_stacks(const struct vmop_active_sample *samples, size_t n, const uint64_t *frames,
			uint64_t complete_ns, uint64_t n_lost)
{
	const struct vmop_active_batch batch = {.complete_ns = complete_ns,
						.n_lost = n_lost,
						.n = n,
						.is_extended = frames != NULL};
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	size_t len;
	assert_int_equal(vmop_active_batch_encode(&batch, samples, frames, bytes, &len), n);
	return vmop_handed_feed_batch(feed, bytes, len);
}

static bool hand(const struct vmop_active_sample *samples, size_t n, uint64_t complete_ns,
		 uint64_t n_lost)
{
	return hand_stacks(samples, n, NULL, complete_ns, n_lost);
}

static void samples_leave_in_their_order(void **state)
{
	static const struct vmop_active_sample samples[] = {
		{.time_ns = 1, .address = 10}, {.time_ns = 1, .address = 20}, {.time_ns = 5}};
	(void)state;
	assert_null(vmop_handed_feed_peek(feed));
	assert_true(hand(samples, 3, 7, 2));
	assert_int_equal(feed->complete_ns, 7);
	assert_int_equal(feed->n_lost, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(vmop_handed_feed_peek(feed)->address, samples[i].address);
		vmop_handed_feed_take(feed);
	}
	assert_null(vmop_handed_feed_peek(feed));
}

/* Numbered samples: those that were handed over, and those of them that were taken. */
struct numbered {
	unsigned n_handed, n_taken;
};

/* Hand over n samples, and take so many that n_waiting are left. */
static void pass(struct numbered *numbered, unsigned n, unsigned n_waiting)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned number = numbered->n_handed++;
		const struct vmop_active_sample sample = {.time_ns = number, .address = number};
		assert_true(hand(&sample, 1, number, 0));
	}
	while (numbered->n_handed - numbered->n_taken > n_waiting) {
		assert_int_equal(vmop_handed_feed_peek(feed)->address, numbered->n_taken++);
		vmop_handed_feed_take(feed);
	}
}

static void samples_that_wait_keep_their_order(void **state)
{
	struct numbered numbered = {0};
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		pass(&numbered, 500, i % 300);
	/* Nearly full, so that the ring wraps around. */
	pass(&numbered, VMOP_HANDED_SAMPLES_MAX - 300, VMOP_HANDED_SAMPLES_MAX - 600);
	for (unsigned i = 0; i < 300; i++)
		pass(&numbered, 500, VMOP_HANDED_SAMPLES_MAX - 600 - i % 7);
	for (unsigned i = 0; i < 300; i++)
		pass(&numbered, 500, VMOP_HANDED_SAMPLES_MAX / 8 * 5);
	for (unsigned i = 0; i < 100; i++)
		pass(&numbered, 500, 100);
	pass(&numbered, 1, 0);
	assert_null(vmop_handed_feed_peek(feed));
	assert_int_equal(feed->counts.n_dropped, 0);
}

static void samples_without_room_are_counted(void **state)
{
	struct vmop_active_sample sample = {.address = 0x401000};
	(void)state;
	for (unsigned i = 0; i < VMOP_HANDED_SAMPLES_MAX + 3; i++) {
		sample.time_ns = i;
		assert_true(hand(&sample, 1, i, 0));
	}
	assert_int_equal(feed->counts.n_received, VMOP_HANDED_SAMPLES_MAX + 3);
	assert_int_equal(feed->counts.n_dropped, 3);
}

static void batches_against_the_order_are_refused(void **state)
{
	const struct vmop_active_sample sample = {.time_ns = 110, .address = 0x401000};
	const struct vmop_active_sample earlier = {.time_ns = 109, .address = 0x401000};
	const struct vmop_active_sample unknown = {.time_ns = 300, .event = 1};
	(void)state;
	assert_true(hand(&sample, 1, 200, 9));
	assert_false(hand(&sample, 1, 199, 9));	 /* it is repeated, and ends before */
	assert_false(hand(&earlier, 1, 200, 9)); /* its time goes back */
	assert_false(hand(NULL, 0, 199, 9));	 /* an earlier batch */
	assert_false(hand(NULL, 0, 200, 8));	 /* fewer losses than before */
	assert_false(hand(&unknown, 1, 400, 9)); /* an event that OPEN did not name */
}

static void stacks_leave_with_their_samples(void **state)
{
	static const uint64_t frames[] = {0x401000, 0x402000, 0x403000};
	static const struct vmop_active_sample samples[] = {
		{.time_ns = 1, .has_stack = true, .n_frames = 2, .stack_end = VMOP_STACK_TORN},
		{.time_ns = 2},
		{.time_ns = 3, .has_stack = true, .n_frames = 1, .first_frame = 2},
	};
	(void)state;
	for (uint64_t round = 0; round < 3; round++) {
		struct vmop_active_sample now[3];
		for (unsigned i = 0; i < 3; i++) {
			now[i] = samples[i];
			now[i].time_ns += round * 10;
		}
		assert_true(hand_stacks(now, 3, frames, round * 10 + 5, 0));
		const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
		assert_true(next->has_stack);
		assert_int_equal(next->n_frames, 2);
		assert_int_equal(next->stack_end, VMOP_STACK_TORN);
		assert_int_equal(vmop_handed_feed_frame(feed, next, 0), 0x401000);
		assert_int_equal(vmop_handed_feed_frame(feed, next, 1), 0x402000);
		vmop_handed_feed_take(feed);
		assert_false(vmop_handed_feed_peek(feed)->has_stack);
		vmop_handed_feed_take(feed);
		next = vmop_handed_feed_peek(feed);
		assert_int_equal(vmop_handed_feed_frame(feed, next, 0), 0x403000);
		vmop_handed_feed_take(feed);
	}
	/* A host may also send the form without stacks. */
	assert_true(hand(NULL, 0, 100, 0));
}

static void stacks_without_room_are_counted(void **state)
{
	enum { DEPTH = 100, N = VMOP_HANDED_FRAMES_MAX / DEPTH };
	uint64_t frames[DEPTH];
	struct vmop_active_sample sample = {.has_stack = true, .n_frames = DEPTH};
	(void)state;
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = 0x401000 + i;
	for (unsigned i = 0; i < N + 3; i++) {
		sample.time_ns = i;
		assert_true(hand_stacks(&sample, 1, frames, i, 0));
	}
	assert_int_equal(feed->n_stacks_dropped, 3);
	assert_int_equal(feed->counts.n_dropped, 0);
	for (unsigned i = 0; i < N + 3; i++) {
		const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
		assert_int_equal(next->n_frames, i < N ? DEPTH : 0);
		assert_int_equal(next->stack_end, i < N ? 0 : VMOP_STACK_TOO_MANY);
		assert_true(next->has_stack);
		vmop_handed_feed_take(feed);
	}
	/* With room again. */
	sample.time_ns = N + 3;
	assert_true(hand_stacks(&sample, 1, frames, N + 3, 0));
	assert_int_equal(vmop_handed_feed_peek(feed)->n_frames, DEPTH);
}

/* A host must not send stacks if its OPEN did not announce them. */
static void stacks_that_were_not_announced_are_refused(void **state)
{
	static const uint64_t frame = 0x401000;
	static const struct vmop_active_sample sample = {.has_stack = true, .n_frames = 1};
	(void)state;
	assert_false(hand_stacks(&sample, 1, &frame, 1, 0));
	assert_int_equal(feed->counts.n_received, 0);
}

static void a_question_is_answered_once(void **state)
{
	uint8_t question[VMOP_ACTIVE_ASK_BYTES], bytes[VMOP_ACTIVE_CLOCK_BYTES];
	struct vmop_active_ask ask;
	(void)state;
	vmop_handed_feed_ask(feed, question);
	assert_true(vmop_active_ask_decode(question, &ask));
	const struct vmop_active_clock clock = {.asked_ns = ask.asked_ns, .host_ns = 1000};
	vmop_active_clock_encode(&clock, bytes);
	assert_true(vmop_handed_feed_clock(feed, bytes));
	assert_false(vmop_handed_feed_clock(feed, bytes));
	vmop_handed_feed_ask(feed, question);
	assert_true(vmop_active_ask_decode(question, &ask));
	assert_true(ask.error_ns > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_leave_in_their_order),
		TEST(samples_that_wait_keep_their_order),
		TEST(samples_without_room_are_counted),
		TEST(batches_against_the_order_are_refused),
		cmocka_unit_test_setup_teardown(stacks_leave_with_their_samples, begin_with_stacks,
						end),
		cmocka_unit_test_setup_teardown(stacks_without_room_are_counted, begin_with_stacks,
						end),
		TEST(stacks_that_were_not_announced_are_refused),
		TEST(a_question_is_answered_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
