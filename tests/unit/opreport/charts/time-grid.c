// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/time-grid.h"

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ok.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define START (1700000000 * SECOND)
#define SLOTS_MAX 20000

static struct vmop_time_slot items[SLOTS_MAX];

/* Return n slots of len_ns one after another, from after_ns on, behind n_before others. */
static struct vmop_time_slots make(size_t n_before, uint64_t after_ns, size_t n, uint64_t len_ns)
{
	for (size_t i = 0; i < n; i++)
		items[n_before + i] =
			(struct vmop_time_slot){.from_ns = START + after_ns + i * len_ns,
						.to_ns = START + after_ns + (i + 1) * len_ns,
						.longest_ns = len_ns};
	return (struct vmop_time_slots){.items = items, .n = n_before + n};
}

static void assert_heat(uint64_t len_ns, size_t n, uint64_t step_ns, size_t per_column)
{
	struct vmop_time_slots slots = make(0, 0, n, len_ns);
	struct vmop_time_grid grid;
	assert_ok(vmop_time_grid_init(&grid, &slots, START, 0, 0, true));
	assert_int_equal(grid.step_ns, step_ns);
	assert_int_equal(grid.steps_per_column, per_column);
	assert_true(grid.n_steps * step_ns >= n * len_ns);
	assert_null(vmop_time_grid_note(&grid));
	vmop_time_grid_deinit(&grid);
}

static void heat_maps_are_as_fine_as_the_store(void **state)
{
	(void)state;
	assert_heat(100 * MS, 600, 100 * MS, 10);
	assert_heat(SECOND, 300, SECOND, 10);
	assert_heat(SECOND, 3600, SECOND, 60);
	assert_heat(SECOND + 3 * MS, 3600, SECOND, 60); /* a little late each time */
	assert_heat(MINUTE, 60, MINUTE, 10);
	assert_heat(MINUTE, 1440, MINUTE, 60);
	assert_heat(HOUR, 48, HOUR, 24);
	assert_heat(SECOND, 18000, 10 * SECOND, 60); /* too long for a page of seconds */
}

static void timelines_have_round_steps(void **state)
{
	(void)state;
	struct vmop_time_slots slots = make(0, 0, 3600, SECOND);
	struct vmop_time_grid grid;
	assert_ok(vmop_time_grid_init(&grid, &slots, START, 0, 0, false));
	assert_int_equal(grid.step_ns, 30 * SECOND);
	assert_int_equal(grid.n_steps, 120);
	vmop_time_grid_deinit(&grid);
}

static double sum_of(const double *values, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

static void values_are_spread_by_time_and_kept(void **state)
{
	(void)state;
	struct vmop_time_slots slots = make(0, 0, 100, SECOND);
	slots = make(100, 100 * SECOND, 1, MINUTE);
	struct vmop_time_grid grid;
	assert_ok(vmop_time_grid_init(&grid, &slots, START, 0, 0, true));
	double *values = calloc(grid.n_steps, sizeof(*values));
	assert_non_null(values);
	for (size_t i = 0; i < slots.n; i++)
		vmop_time_grid_spread(&grid, &slots.items[i], 600, values);
	assert_true(fabs(sum_of(values, grid.n_steps) - 600 * 101) < 1e-6);
	assert_true(fabs(values[5] - 600) < 1e-9 && fabs(values[130] - 10) < 1e-9);
	assert_false(grid.is_coarse[99]);
	assert_true(grid.is_coarse[100] && grid.is_coarse[159]);
	assert_non_null(strstr(vmop_time_grid_note(&grid), "up to 1m"));
	for (size_t i = 0; i < grid.n_steps; i++)
		assert_true(fabs(grid.covered_ns[i] - (double)SECOND) < 1);
	free(values);
	vmop_time_grid_deinit(&grid);
}

static void gaps_are_not_covered(void **state)
{
	(void)state;
	struct vmop_time_slots slots = make(0, 0, 10, SECOND);
	slots = make(10, 20 * SECOND, 10, SECOND);
	struct vmop_time_grid grid;
	assert_ok(vmop_time_grid_init(&grid, &slots, START, 0, 0, true));
	assert_true(grid.covered_ns[9] > 0 && grid.covered_ns[20] > 0);
	for (size_t i = 10; i < 20; i++)
		assert_true(grid.covered_ns[i] == 0);
	vmop_time_grid_deinit(&grid);
}

static void parts_of_sessions_begin_at_whole_columns(void **state)
{
	(void)state;
	struct vmop_time_slots slots = make(0, 125 * SECOND, 100, SECOND);
	struct vmop_time_grid grid;
	assert_ok(vmop_time_grid_init(&grid, &slots, START, START + 125 * SECOND,
				      START + 150 * SECOND, true));
	assert_int_equal(grid.start_ns, START + 120 * SECOND);
	assert_int_equal(grid.n_steps, 30);
	vmop_time_grid_deinit(&grid);
}

/* A damaged file can have any times. */
static void impossible_times_are_refused(void **state)
{
	(void)state;
	struct vmop_time_slots none = {0};
	struct vmop_time_grid grid;
	struct vmop_error *err = vmop_time_grid_init(&grid, &none, START, 0, 0, true);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
	vmop_time_grid_deinit(&grid);
	items[0] = (struct vmop_time_slot){.to_ns = 1, .longest_ns = 1};
	items[1] = (struct vmop_time_slot){
		.from_ns = UINT64_MAX - 1, .to_ns = UINT64_MAX, .longest_ns = 1};
	struct vmop_time_slots wide = {.items = items, .n = 2};
	for (int is_heat = 0; is_heat < 2; is_heat++) {
		err = vmop_time_grid_init(&grid, &wide, START, 0, 0, is_heat);
		if (err)
			assert_int_equal(err->code, VMOP_ERROR_LIMIT);
		vmop_error_destroy(err);
		vmop_time_grid_deinit(&grid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heat_maps_are_as_fine_as_the_store),
		cmocka_unit_test(timelines_have_round_steps),
		cmocka_unit_test(values_are_spread_by_time_and_kept),
		cmocka_unit_test(gaps_are_not_covered),
		cmocka_unit_test(parts_of_sessions_begin_at_whole_columns),
		cmocka_unit_test(impossible_times_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
