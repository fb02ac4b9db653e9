// SPDX-License-Identifier: GPL-2.0-or-later
/* The queue of held samples: its order, its bounds, and the frames of samples that stay. */
#include "daemon/guest/held-samples.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "vmop/stack.h"

static struct vmop_held_samples held;

static int reserve(void **state)
{
	(void)state;
	assert_true(vmop_held_samples_reserve(&held, 4, 3, 8));
	return 0;
}

static int clear(void **state)
{
	(void)state;
	vmop_held_samples_deinit(&held);
	return 0;
}

/* Add the sample `ip` with a context or without, with the frames ip + 1, ip + 2, ... */
static bool add_to(uint64_t ip, uint32_t n_frames, bool has_context)
{
	uint64_t frames[16];
	for (uint32_t i = 0; i < n_frames; i++)
		frames[i] = ip + 1 + i;
	const struct vmop_held_sample sample = {
		.ip = ip, .n_frames = n_frames, .stack_end = VMOP_STACK_COMPLETE};
	const struct vmop_held_context context = {.gpa = ip + 7};
	return vmop_held_samples_add(&held, &sample, has_context ? &context : NULL,
				     n_frames ? frames : NULL);
}

static bool add(uint64_t ip, uint32_t n_frames)
{
	return add_to(ip, n_frames, false);
}

/* Release the samples of even address, and check the frames and the context of each. */
static bool release_even(void *arg, const struct vmop_held_sample *sample,
			 const struct vmop_held_context *context, const uint64_t *frames)
{
	assert_int_equal(context != NULL, sample->context != VMOP_HELD_NO_CONTEXT);
	if (context)
		assert_int_equal(context->gpa, sample->ip + 7);
	for (uint32_t i = 0; i < sample->n_frames; i++)
		assert_int_equal(frames[i], sample->ip + 1 + i);
	if (!sample->n_frames)
		assert_null(frames);
	if (sample->ip % 2)
		return false;
	uint64_t *sum = arg;
	*sum = *sum * 1000 + sample->ip;
	return true;
}

static void samples_are_released_in_order(void **state)
{
	uint64_t sum = 0;
	(void)state;
	assert_true(add(100, 0));
	assert_true(add(200, 3));
	assert_true(add(300, 2));
	vmop_held_samples_release(&held, release_even, &sum);
	assert_int_equal(sum, 100200300);
	assert_int_equal(held.n, 0);
	assert_int_equal(held.n_frames, 0);
}

static void what_stays_keeps_its_order_and_frames(void **state)
{
	uint64_t sum = 0;
	(void)state;
	assert_true(add(100, 3));
	assert_true(add(201, 2));
	assert_true(add(300, 0));
	assert_true(add(401, 3));
	vmop_held_samples_release(&held, release_even, &sum);
	assert_int_equal(sum, 100300);
	assert_int_equal(held.n, 2);
	assert_int_equal(held.at[0].ip, 201);
	assert_int_equal(held.at[1].ip, 401);
	assert_int_equal(held.n_frames, 5);
	vmop_held_samples_release(&held, release_even, &sum); /* checks the frames again */
	assert_int_equal(held.n, 2);
	assert_true(add(500, 3)); /* the room of the released frames is free again */
}

static void a_full_queue_takes_nothing(void **state)
{
	(void)state;
	assert_true(add(1, 8));
	assert_true(add(3, 1)); /* no room for its frame */
	assert_int_equal(held.at[1].n_frames, 0);
	assert_int_equal(held.at[1].stack_end, VMOP_STACK_TOO_MANY);
	assert_int_equal(held.n, 2);
	assert_true(add(5, 0));
	assert_true(add(7, 0));
	while (held.n < held.capacity)
		assert_true(add(9, 0));
	assert_false(add(11, 0));
	assert_true(vmop_held_samples_reserve(&held, held.capacity + 1, 0, 0));
	assert_true(add(11, 0));
	assert_int_equal(held.at[0].ip, 1);
}

static void what_stays_keeps_its_context(void **state)
{
	uint64_t sum = 0;
	(void)state;
	assert_true(add_to(100, 1, true));
	assert_true(add_to(201, 1, true));
	assert_true(add_to(301, 0, false));
	vmop_held_samples_release(&held, release_even, &sum);
	assert_int_equal(held.n_contexts, 1);
	assert_int_equal(held.at[0].context, 0);
	vmop_held_samples_release(&held, release_even, &sum); /* checks the context again */
	while (held.n_contexts < held.context_capacity) {
		vmop_held_samples_reserve(&held, held.n + 1, 0, 0);
		assert_true(add_to(403, 0, true));
	}
	vmop_held_samples_reserve(&held, held.n + 1, 0, 0);
	assert_false(add_to(505, 0, true)); /* no room for its context */
	assert_true(add_to(505, 0, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_are_released_in_order, reserve, clear),
		cmocka_unit_test_setup_teardown(what_stays_keeps_its_order_and_frames, reserve,
						clear),
		cmocka_unit_test_setup_teardown(a_full_queue_takes_nothing, reserve, clear),
		cmocka_unit_test_setup_teardown(what_stays_keeps_its_context, reserve, clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
