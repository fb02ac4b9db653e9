// SPDX-License-Identifier: GPL-2.0-or-later
/* Batches of blocked threads, up to their bounds. */
#include "daemon/guest/off-cpu/batch.h"

#include <cmocka.h>
#include <stdlib.h>

static const uint64_t frames[VMOP_STACK_FRAMES_MAX] = {11, 22, 33};
static const struct vmop_blocked_time once = {.n_samples = 1, .ns = 100};

static struct vmop_blocked_thread thread_of(uint32_t pid, uint32_t n_frames)
{
	return (struct vmop_blocked_thread){.pid = pid,
					    .pgd_gpa = 4096,
					    .frames = frames,
					    .n_frames = n_frames,
					    .n_kernel = 1,
					    .end = VMOP_STACK_COMPLETE};
}

static void threads_are_copied_and_extended(void **state)
{
	(void)state;
	struct vmop_blocked_batch *batch = vmop_blocked_batch_create();
	struct vmop_blocked_thread thread = thread_of(1, 2), got;
	struct vmop_blocked_time time;
	size_t first, second;
	assert_true(vmop_blocked_batch_add(batch, &thread, once, &first));
	thread = thread_of(2, 3);
	assert_true(vmop_blocked_batch_add(batch, &thread, once, &second));
	vmop_blocked_batch_extend(batch, first, once);
	assert_int_equal(vmop_blocked_batch_n(batch), 2);
	vmop_blocked_batch_get(batch, first, &got, &time);
	assert_int_equal(got.pid, 1);
	assert_int_equal(got.n_frames, 2);
	assert_memory_equal(got.frames, frames, 2 * sizeof(*frames));
	assert_ptr_not_equal(got.frames, frames);
	assert_int_equal(time.n_samples, 2);
	assert_int_equal(time.ns, 200);
	vmop_blocked_batch_get(batch, second, &got, &time);
	assert_int_equal(got.pid, 2);
	assert_memory_equal(got.frames, frames, 3 * sizeof(*frames));
	assert_int_equal(time.ns, 100);
	vmop_blocked_batch_destroy(batch);
	vmop_blocked_batch_destroy(NULL);
}

static void bounds(void **state)
{
	(void)state;
	struct vmop_blocked_batch *batch = vmop_blocked_batch_create();
	const struct vmop_blocked_thread small = thread_of(1, 1);
	const struct vmop_blocked_thread large = thread_of(2, VMOP_STACK_FRAMES_MAX);
	size_t at, n = 0;
	while (vmop_blocked_batch_add(batch, &large, once, &at))
		n++;
	assert_int_equal(n, VMOP_BLOCKED_FRAMES_MAX / VMOP_STACK_FRAMES_MAX);
	vmop_blocked_batch_destroy(batch);
	batch = vmop_blocked_batch_create();
	for (n = 0; vmop_blocked_batch_add(batch, &small, once, &at); n++)
		;
	assert_int_equal(n, VMOP_BLOCKED_STACKS_MAX);
	vmop_blocked_batch_destroy(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_copied_and_extended),
		cmocka_unit_test(bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
