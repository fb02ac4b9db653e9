// SPDX-License-Identifier: GPL-2.0-or-later
/* Waiting stacks: copies in their order, within a fixed room. */
#include "daemon/stack/waiting.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ok.h"

enum { STACK_BYTES = 1001, FRAMES = 3 };

/* Add a stack whose content is made of seed. */
static bool add(struct vmop_waiting_stacks *waiting, uint32_t seed)
{
	uint64_t kernel[FRAMES], user[FRAMES], regs[VMOP_USER_REGS];
	uint8_t stack[STACK_BYTES];
	for (uint64_t i = 0; i < FRAMES; i++) {
		kernel[i] = seed + i;
		user[i] = seed + 100 + i;
	}
	for (uint64_t i = 0; i < VMOP_USER_REGS; i++)
		regs[i] = seed + 200 + i;
	memset(stack, (int)seed, sizeof(stack));
	bool has_user = seed % 2;
	const struct vmop_waiting_stack item = {
		.sample = {.offset = seed, .weight_events = 7},
		.pid = seed,
		.is_kernel = !has_user,
		.capture = {.kernel_frames = kernel,
			    .n_kernel_frames = has_user ? 0 : FRAMES,
			    .user_frames = user,
			    .n_user_frames = has_user ? FRAMES : 0,
			    .user_regs = has_user ? regs : NULL,
			    .user_stack = has_user ? stack : NULL,
			    .user_stack_bytes = has_user ? STACK_BYTES - seed % 8 : 0},
	};
	return vmop_waiting_stacks_add(waiting, &item);
}

struct wanted {
	uint32_t next, step; /* seeds that are expected */
	uint32_t keep;	     /* those that are divisible by it stay; 0: none */
	uint32_t n;
};

static void check(const struct vmop_waiting_stack *stack, uint32_t seed)
{
	const struct vmop_stack_capture *capture = &stack->capture;
	assert_int_equal(stack->pid, seed);
	assert_int_equal(stack->sample.offset, seed);
	for (uint32_t i = 0; i < capture->n_kernel_frames; i++)
		assert_int_equal(capture->kernel_frames[i], seed + i);
	for (uint32_t i = 0; i < capture->n_user_frames; i++)
		assert_int_equal(capture->user_frames[i], seed + 100 + i);
	if (!(seed % 2)) {
		assert_null(capture->user_regs);
		assert_null(capture->user_stack);
		assert_int_equal(capture->n_kernel_frames, FRAMES);
		return;
	}
	assert_int_equal(capture->n_user_frames, FRAMES);
	for (uint32_t i = 0; i < VMOP_USER_REGS; i++)
		assert_int_equal(capture->user_regs[i], seed + 200 + i);
	assert_int_equal(capture->user_stack_bytes, STACK_BYTES - seed % 8);
	for (size_t i = 0; i < capture->user_stack_bytes; i++)
		assert_int_equal(capture->user_stack[i], (uint8_t)seed);
}

static bool release(void *arg, struct vmop_waiting_stack *stack)
{
	struct wanted *wanted = arg;
	check(stack, wanted->next);
	wanted->next += wanted->step;
	wanted->n++;
	return !wanted->keep || stack->pid % wanted->keep;
}

static void copies_come_in_order(void **state)
{
	struct vmop_waiting_stacks *waiting;
	struct wanted wanted = {.next = 1, .step = 1, .keep = 3};
	(void)state;
	assert_ok(vmop_waiting_stacks_create(1 << 20, &waiting));
	for (uint32_t i = 1; i <= 30; i++)
		assert_true(add(waiting, i));
	assert_int_equal(vmop_waiting_stacks_n(waiting), 30);
	vmop_waiting_stacks_release(waiting, release, &wanted);
	assert_int_equal(wanted.n, 30);
	assert_int_equal(vmop_waiting_stacks_n(waiting), 10);
	assert_true(add(waiting, 33));
	wanted = (struct wanted){.next = 3, .step = 3};
	vmop_waiting_stacks_release(waiting, release, &wanted);
	assert_int_equal(wanted.n, 11);
	assert_int_equal(vmop_waiting_stacks_n(waiting), 0);
	vmop_waiting_stacks_destroy(waiting);
}

static void a_full_queue_refuses(void **state)
{
	struct vmop_waiting_stacks *waiting;
	uint32_t n = 0;
	(void)state;
	assert_ok(vmop_waiting_stacks_create(64 << 10, &waiting));
	while (add(waiting, n + 1))
		n++;
	assert_in_range(n, 32, 128);
	for (int again = 0; again < 2; again++) {
		struct wanted wanted = {.next = 1, .step = 1};
		vmop_waiting_stacks_release(waiting, release, &wanted);
		assert_int_equal(wanted.n, n);
		for (uint32_t i = 1; i <= n; i++)
			assert_true(add(waiting, i));
		assert_false(add(waiting, n + 1));
	}
	vmop_waiting_stacks_destroy(waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_come_in_order),
		cmocka_unit_test(a_full_queue_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
