// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/dwarf/range-map.h"

static struct vmop_sym_budget budget;

static void set_up(struct vmop_range_map *map, const struct vmop_range *ranges, size_t n)
{
	vmop_sym_budget_init(&budget);
	*map = (struct vmop_range_map){0};
	for (size_t i = 0; i < n; i++)
		assert_true(vmop_range_map_add(map, &budget, &ranges[i]));
	assert_true(vmop_range_map_finish(map, &budget));
}

static void tear_down(struct vmop_range_map *map)
{
	vmop_range_map_deinit(map, &budget);
	assert_int_equal(budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
}

static void the_innermost_range_is_found(void **state)
{
	(void)state;
	static const struct vmop_range ranges[] = {
		{.low = 130, .high = 140, .depth = 2, .value = 3},
		{.low = 100, .high = 200, .depth = 0, .value = 1},
		{.low = 120, .high = 150, .depth = 1, .value = 2},
		{.low = 150, .high = 160, .depth = 1, .value = 4},
		{.low = 200, .high = 210, .depth = 0, .value = 5},
		{.low = 300, .high = 310, .depth = 0, .value = 6},
		{.low = 300, .high = 310, .depth = 1, .value = 7},
		{.low = 400, .high = 400, .depth = 0, .value = 8},
		{.low = 401, .high = 400, .depth = 0, .value = 8},
	};
	static const struct {
		uint64_t address;
		uint32_t value;
	} expected[] = {
		{0, VMOP_RANGE_NONE},
		{99, VMOP_RANGE_NONE},
		{100, 1},
		{119, 1},
		{120, 2},
		{129, 2},
		{130, 3},
		{139, 3},
		{140, 2},
		{149, 2},
		{150, 4},
		{159, 4},
		{160, 1},
		{199, 1},
		{200, 5},
		{209, 5},
		{210, VMOP_RANGE_NONE},
		{300, 7},
		{309, 7},
		{310, VMOP_RANGE_NONE},
		{400, VMOP_RANGE_NONE},
		{UINT64_MAX, VMOP_RANGE_NONE},
	};
	struct vmop_range_map map;
	set_up(&map, ranges, sizeof(ranges) / sizeof(*ranges));
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(vmop_range_map_find(&map, expected[i].address), expected[i].value);
	tear_down(&map);
}

static void an_empty_map_has_nothing(void **state)
{
	(void)state;
	struct vmop_range_map map;
	set_up(&map, NULL, 0);
	assert_int_equal(vmop_range_map_find(&map, 5), VMOP_RANGE_NONE);
	tear_down(&map);
}

/* Whatever the ranges are, steps ascend, and each address is in a range of its value. */
static void ranges_that_do_not_nest_are_cut(void **state)
{
	(void)state;
	enum { N = 50, END = 100 };
	srand(1);
	for (int round = 0; round < 200; round++) {
		struct vmop_range ranges[N];
		struct vmop_range_map map;
		for (uint32_t i = 0; i < N; i++)
			ranges[i] = (struct vmop_range){.low = (uint64_t)rand() % END,
							.high = (uint64_t)rand() % END,
							.depth = (uint32_t)rand() % 4,
							.value = i};
		set_up(&map, ranges, N);
		for (size_t i = 1; i < map.n_steps; i++)
			assert_true(map.steps[i - 1].start < map.steps[i].start);
		for (uint64_t address = 0; address < END; address++) {
			uint32_t value = vmop_range_map_find(&map, address);
			assert_true(value == VMOP_RANGE_NONE ||
				    (ranges[value].low <= address && address < ranges[value].high));
		}
		tear_down(&map);
	}
}

static void memory_is_bounded(void **state)
{
	(void)state;
	struct vmop_range_map map = {0};
	vmop_sym_budget_init(&budget);
	budget.memory_left_bytes = 10000;
	struct vmop_range range = {.low = 1, .high = 2, .value = 1};
	size_t n = 0;
	for (; n < 10000 && vmop_range_map_add(&map, &budget, &range); n++)
		;
	assert_true(n > 100 && n < 1000);
	assert_int_equal(budget.spent, VMOP_SYM_COST_MEMORY);
	vmop_range_map_deinit(&map, &budget);
	assert_int_equal(budget.memory_left_bytes, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_range_is_found),
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(ranges_that_do_not_nest_are_cut),
		cmocka_unit_test(memory_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
