// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/readings.h"

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"
#include "tests/unit/ok.h"

static void add(struct vmop_readings *readings, uint64_t identity, const char *object,
		const char *counter, uint64_t value)
{
	const struct vmop_reading reading = {
		.identity = identity, .object = object, .counter = counter, .value = value};
	assert_ok(vmop_readings_add(readings, &reading));
}

struct world {
	struct vmop_readings before, now;
	struct vmop_readings_row *rows;
	size_t n;
};

static void begin(struct world *world)
{
	vmop_readings_begin(&world->before);
	vmop_readings_begin(&world->now);
}

/* Compare; the readings are two seconds apart. */
static void compare(struct world *world)
{
	vmop_readings_end(&world->before);
	vmop_readings_end(&world->now);
	world->now.time_ns = world->before.time_ns + 2 * VMOP_NS_PER_S;
	free(world->rows);
	assert_ok(vmop_readings_rows(&world->before, &world->now, &world->rows, &world->n));
}

static const struct vmop_stat_row *row_of(const struct world *world, const char *name)
{
	for (size_t i = 0; i < world->n; i++) {
		if (!strcmp(world->rows[i].row.name, name))
			return &world->rows[i].row;
	}
	fail_msg("there is no row %s", name);
	return NULL;
}

static void has_value(const struct world *world, const char *name, double value, double ratio)
{
	const struct vmop_stat_row *row = row_of(world, name);
	if (row->reason)
		fail_msg("%s: %s", name, row->reason);
	assert_true(row->values.mean == value);
	assert_true(fabs(row->ratios.mean - ratio) < 1e-9);
}

static void has_reason(const struct world *world, const char *name, const char *reason)
{
	const struct vmop_stat_row *row = row_of(world, name);
	assert_non_null(row->reason);
	if (!strstr(row->reason, reason))
		fail_msg("%s: '%s', not '%s'", name, row->reason, reason);
	assert_int_equal(row->values.n, 0);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct world));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct world *world = *state;
	vmop_readings_deinit(&world->before);
	vmop_readings_deinit(&world->now);
	free(world->rows);
	free(world);
	return 0;
}

static void growth_and_rate(void **state)
{
	struct world *world = *state;
	begin(world);
	add(&world->before, 2, "eth0", "rx-bytes", 1000);
	add(&world->before, 1, "lo", "rx-bytes", UINT64_MAX - 5);
	add(&world->now, 1, "lo", "rx-bytes", UINT64_MAX);
	add(&world->now, 2, "renamed", "rx-bytes", 5000);
	const struct vmop_reading time = {
		.identity = 3, .object = "cpu0", .counter = "steal", .kind = VMOP_READING_NS};
	assert_ok(vmop_readings_add(&world->before, &time));
	struct vmop_reading later = time;
	later.value = VMOP_NS_PER_S;
	assert_ok(vmop_readings_add(&world->now, &later));
	compare(world);
	assert_int_equal(world->n, 3);
	has_value(world, "lo/rx-bytes", 5, 2.5);
	has_value(world, "renamed/rx-bytes", 4000, 2000);
	has_value(world, "cpu0/steal", 1e9, 50);
	assert_true(row_of(world, "cpu0/steal")->is_time);
	assert_string_equal(row_of(world, "cpu0/steal")->ratio_unit, "% of the time");
}

/* A counter below its old value shows a reset; the others of its object are lost with it. */
static void resets(void **state)
{
	struct world *world = *state;
	begin(world);
	add(&world->before, 1, "eth0", "rx-bytes", 1000);
	add(&world->before, 1, "eth0", "tx-bytes", 10);
	add(&world->before, 2, "eth1", "tx-bytes", 10);
	add(&world->now, 1, "eth0", "rx-bytes", 999);
	add(&world->now, 1, "eth0", "tx-bytes", 20);
	add(&world->now, 2, "eth1", "tx-bytes", 20);
	compare(world);
	has_reason(world, "eth0/rx-bytes", "it went from 1000 to 999: it was reset, or wrapped");
	has_reason(world, "eth0/tx-bytes", "rx-bytes went back: its counters were reset");
	has_value(world, "eth1/tx-bytes", 10, 5);
	/* A jump that no device makes, such as a driver's sum below zero. */
	begin(world);
	add(&world->before, 1, "eth0", "rx-bytes", 5);
	add(&world->now, 1, "eth0", "rx-bytes", UINT64_MAX - 5);
	compare(world);
	has_reason(world, "eth0/rx-bytes", "it went from 5 to 18446744073709551610");
}

static void objects_come_and_go(void **state)
{
	struct world *world = *state;
	begin(world);
	add(&world->before, 1, "tap0", "rx-bytes", 1000);
	add(&world->now, 7, "tap0", "rx-bytes", 2000); /* another one of that name */
	compare(world);
	assert_int_equal(world->n, 2);
	has_reason(world, "tap0/rx-bytes", "it disappeared");
	assert_string_equal(world->rows[1].row.reason, "it appeared meanwhile");
}

static void counters_that_stop_or_wait(void **state)
{
	struct world *world = *state;
	struct vmop_reading item = {
		.identity = 1, .object = "mlx5_0/1", .counter = "a", .stops_at = 255, .value = 250};
	begin(world);
	assert_ok(vmop_readings_add(&world->before, &item));
	item.value = 255;
	assert_ok(vmop_readings_add(&world->now, &item));
	item = (struct vmop_reading){
		.identity = 2, .object = "mlx5_0/hw", .counter = "b", .renewed_ms = 3000};
	assert_ok(vmop_readings_add(&world->before, &item));
	item.value = 5;
	assert_ok(vmop_readings_add(&world->now, &item));
	item = (struct vmop_reading){.identity = 3,
				     .object = "x",
				     .counter = "c",
				     .stops_at = 255,
				     .value = 300}; /* wider than its name implies */
	assert_ok(vmop_readings_add(&world->before, &item));
	item.value = 310;
	assert_ok(vmop_readings_add(&world->now, &item));
	item = (struct vmop_reading){.identity = 4,
				     .object = "x",
				     .counter = "d",
				     .flags = VMOP_READING_QUIET,
				     .value = 9};
	assert_ok(vmop_readings_add(&world->before, &item));
	assert_ok(vmop_readings_add(&world->now, &item));
	item = (struct vmop_reading){.identity = 5, .object = "x", .counter = "e", .reason = "why"};
	assert_ok(vmop_readings_add(&world->before, &item));
	assert_ok(vmop_readings_add(&world->now, &item));
	compare(world);
	has_reason(world, "mlx5_0/1/a", "it is at 255, where it stops");
	has_reason(world, "mlx5_0/hw/b", "its driver renews it only every 3000 ms");
	has_value(world, "x/c", 10, 5);
	has_reason(world, "x/e", "why");
	assert_int_equal(world->n, 4); /* no row of x/d, which is quiet */
}

/* A reset between the two readings is noted, although the last value is higher than the first. */
static void resets_in_between(void **state)
{
	struct world *world = *state;
	struct vmop_readings between = {0};
	begin(world);
	add(&world->before, 1, "eth0", "rx-bytes", 1000);
	add(&world->before, 1, "eth0", "tx-bytes", 1000);
	add(&world->before, 2, "gone", "rx-bytes", 1000);
	add(&world->before, 3, "eth3", "rx-bytes", 1000);
	vmop_readings_end(&world->before);
	struct vmop_readings first = {0};
	add(&first, 1, "eth0", "rx-bytes", 1000);
	add(&first, 1, "eth0", "tx-bytes", 1000);
	add(&first, 2, "gone", "rx-bytes", 1000);
	add(&first, 3, "eth3", "rx-bytes", 1000);
	vmop_readings_end(&first);
	add(&between, 1, "eth0", "rx-bytes", 10);
	add(&between, 1, "eth0", "tx-bytes", 1010);
	add(&between, 3, "eth3", "rx-bytes", 1010);
	vmop_readings_end(&between);
	assert_ok(vmop_readings_mark(&world->before, &first, &between));
	add(&world->now, 1, "eth0", "rx-bytes", 2000);
	add(&world->now, 1, "eth0", "tx-bytes", 2000);
	add(&world->now, 2, "gone", "rx-bytes", 2000);
	add(&world->now, 3, "eth3", "rx-bytes", 2000);
	compare(world);
	has_reason(world, "eth0/rx-bytes", "it went from 1000 to 10");
	has_reason(world, "eth0/tx-bytes", "its counters were reset");
	has_reason(world, "gone/rx-bytes", "it disappeared");
	has_value(world, "eth3/rx-bytes", 1000, 500);
	vmop_readings_deinit(&first);
	vmop_readings_deinit(&between);
}

/* An object is silent if none of its counters grew, and none has a reason. */
static void silent_objects(void **state)
{
	struct world *world = *state;
	const struct vmop_reading lost = {
		.identity = 3, .object = "eth3", .counter = "rx-bytes", .reason = "why"};
	begin(world);
	for (unsigned i = 1; i <= 3; i++) {
		const char *const names[] = {"eth1", "eth2", "eth3"};
		add(&world->before, i, names[i - 1], "tx-bytes", 7);
		add(&world->now, i, names[i - 1], "tx-bytes", 7);
	}
	add(&world->before, 2, "eth2", "rx-bytes", 1);
	add(&world->now, 2, "eth2", "rx-bytes", 2);
	assert_ok(vmop_readings_add(&world->before, &lost));
	assert_ok(vmop_readings_add(&world->now, &lost));
	compare(world);
	assert_int_equal(world->n, 5);
	for (size_t i = 0; i < world->n; i++)
		assert_int_equal(world->rows[i].is_silent,
				 strcmp(world->rows[i].object, "eth1") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(growth_and_rate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(resets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(objects_come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_that_stop_or_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(resets_in_between, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silent_objects, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
