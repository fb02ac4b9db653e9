// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdint.h>
#include <stdlib.h>

#include "libutil/array.h"

static void items_survive_growth(void **state)
{
	(void)state;
	uint32_t *items = NULL;
	size_t capacity = 0, times = 0, before = 0;
	for (uint32_t n = 0; n < 1000; n++) {
		assert_true(vmop_array_reserve(items, capacity, n + 1));
		assert_true(capacity > n);
		times += capacity != before;
		before = capacity;
		items[n] = n;
	}
	for (uint32_t n = 0; n < 1000; n++)
		assert_int_equal(items[n], n);
	assert_int_equal(times, 8); /* 8, 16, ..., 1024 */
	free(items);
}

static void without_memory_nothing_changes(void **state)
{
	(void)state;
	uint64_t *items = NULL;
	size_t capacity = 0;
	assert_true(vmop_array_reserve(items, capacity, 3));
	items[2] = 7;
	assert_false(vmop_array_reserve(items, capacity, SIZE_MAX / 16));
	assert_false(vmop_array_reserve(items, capacity, SIZE_MAX));
	assert_int_equal(capacity, 8);
	assert_int_equal(items[2], 7);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_survive_growth),
		cmocka_unit_test(without_memory_nothing_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
