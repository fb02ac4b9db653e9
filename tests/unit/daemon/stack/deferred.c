// SPDX-License-Identifier: GPL-2.0-or-later
/* User stacks that come after their samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/stack/deferred.h"
#include "vmop/stack.h"

/* A kernel's cookies: the number of a CPU above a counter. */
static uint64_t cookie_of(unsigned cpu, unsigned n)
{
	return (uint64_t)cpu << 48 | n;
}

static void test_find(void **state)
{
	struct vmop_deferred_stacks *deferred;
	const uint64_t frames[] = {1, 2, 3}, *found;
	(void)state;
	assert_null(vmop_deferred_stacks_create(1 << 20, &deferred));
	assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(1, 1), &found), 0);
	assert_true(vmop_deferred_stacks_add(deferred, cookie_of(1, 1), frames, 3));
	assert_true(vmop_deferred_stacks_add(deferred, cookie_of(0, 1), frames + 1, 2));
	assert_true(vmop_deferred_stacks_add(deferred, cookie_of(0, 2), frames, 0));
	assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(1, 1), &found), 3);
	assert_true(found[0] == 1 && found[2] == 3);
	assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(0, 1), &found), 2);
	assert_true(found[0] == 2);
	assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(0, 2), &found), 0);
	vmop_deferred_stacks_clear(deferred);
	assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(1, 1), &found), 0);
	vmop_deferred_stacks_destroy(deferred);
	vmop_deferred_stacks_destroy(NULL);
}

/* More stacks and more frames than there is room for. */
static void test_full(void **state)
{
	struct vmop_deferred_stacks *deferred;
	uint64_t frames[300] = {0};
	const uint64_t *found;
	unsigned n = 0;
	(void)state;
	assert_null(vmop_deferred_stacks_create(64 * sizeof(frames[0]), &deferred));
	assert_false(vmop_deferred_stacks_add(deferred, 1, frames, 300));
	assert_true(vmop_deferred_stacks_add(deferred, 1, frames, 60));
	assert_false(vmop_deferred_stacks_add(deferred, 2, frames, 5));
	vmop_deferred_stacks_destroy(deferred);

	assert_null(vmop_deferred_stacks_create(64 << 20, &deferred));
	while (n < 100000 && vmop_deferred_stacks_add(deferred, cookie_of(n % 7, n), frames, 1))
		n++;
	assert_in_range(n, 1000, 99999);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(vmop_deferred_stacks_find(deferred, cookie_of(i % 7, i), &found),
				 1);
	vmop_deferred_stacks_clear(deferred);
	assert_true(vmop_deferred_stacks_add(deferred, 1, frames, 300));
	assert_int_equal(vmop_deferred_stacks_find(deferred, 1, &found), VMOP_STACK_FRAMES_MAX);
	vmop_deferred_stacks_destroy(deferred);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
