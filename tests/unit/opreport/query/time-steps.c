// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/time-steps.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opreport/series/series-options.h"
#include "tests/unit/ok.h"

#define SECOND UINT64_C(1000000000)
#define NOON (UINT64_C(1700049600) * SECOND) /* 2023-11-15 12:00 UTC */

enum { SPANS_MAX = 2000 };

static struct vmop_span spans[SPANS_MAX];

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static uint32_t slot_of(const struct vmop_time_slots *slots, const struct vmop_span *span)
{
	const struct vmop_db_interval interval = {.start_ns = span->from_ns,
						  .len_ns = span->to_ns - span->from_ns};
	return vmop_time_steps_find(slots, &interval);
}

static void seconds_are_summed_in_minutes(void **state)
{
	(void)state;
	struct vmop_time_slots slots;
	use_zone("UTC");
	for (size_t i = 0; i < 150; i++)
		spans[i] = (struct vmop_span){NOON + i * SECOND, NOON + (i + 1) * SECOND};
	assert_ok(vmop_time_steps_make(&slots, spans, 150, 60));
	assert_int_equal(slots.n, 3);
	assert_int_equal(slots.items[0].recorded_ns, 60 * SECOND);
	assert_int_equal(slots.items[2].recorded_ns, 30 * SECOND);
	assert_int_equal(slots.items[2].longest_ns, SECOND);
	assert_int_equal(slot_of(&slots, &spans[59]), 0);
	assert_int_equal(slot_of(&slots, &spans[60]), 1);
	vmop_time_slots_deinit(&slots);
}

/* An hour by steps of ten minutes is one slot, though it began some seconds after the hour. */
static void long_intervals_join_steps(void **state)
{
	(void)state;
	const uint64_t minute = 60 * SECOND;
	struct vmop_time_slots slots;
	use_zone("UTC");
	spans[0] = (struct vmop_span){NOON + 3 * SECOND, NOON + 60 * minute + 3 * SECOND};
	spans[1] = (struct vmop_span){NOON + 60 * minute + 3 * SECOND, NOON + 61 * minute};
	spans[2] = (struct vmop_span){NOON + 85 * minute, NOON + 86 * minute};
	assert_ok(vmop_time_steps_make(&slots, spans, 3, 600));
	assert_int_equal(slots.n, 3);
	assert_int_equal(slots.items[0].from_ns, NOON);
	assert_int_equal(slots.items[0].to_ns, NOON + 60 * minute);
	assert_int_equal(slots.items[0].longest_ns, 60 * minute);
	assert_int_equal(slots.items[1].to_ns, NOON + 70 * minute);
	assert_int_equal(slots.items[2].from_ns, NOON + 80 * minute); /* and a gap before it */
	vmop_time_slots_deinit(&slots);
}

/* Intervals of any length, also overlapping and backwards: slots never are, and lose nothing. */
static void slots_partition_the_intervals(void **state)
{
	(void)state;
	static const char *const zones[] = {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "Asia/Kolkata",
					    "LHST-10:30LHDT-11,M10.1.0,M4.1.0"};
	static const uint64_t steps[] = {1, 10, 600, 3600, 6 * 3600, 86400, 7 * 86400};
	uint64_t random = 5;
	for (int round = 0; round < 400; round++) {
		uint64_t at_ns = NOON + (uint64_t)(round % 50) * 7 * 86400 * SECOND, sum_ns = 0;
		size_t n = 1 + (size_t)round % 300;
		struct vmop_time_slots slots;
		use_zone(zones[round % 4]);
		for (size_t i = 0; i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			uint64_t len_ns =
				(random >> 33) % (random >> 60 ? 2 * SECOND : 7200 * SECOND);
			if (random >> 40 & 7)
				at_ns += len_ns;
			else
				at_ns -= len_ns / 2; /* the clock was set back */
			spans[i] = (struct vmop_span){at_ns, at_ns + len_ns + 1};
			sum_ns += len_ns + 1;
		}
		assert_ok(vmop_time_steps_make(&slots, spans, n, steps[round % 7]));
		for (size_t i = 1; i < slots.n; i++)
			assert_true(slots.items[i].from_ns >= slots.items[i - 1].to_ns);
		for (size_t i = 0; i < slots.n; i++) {
			assert_true(slots.items[i].from_ns < slots.items[i].to_ns);
			sum_ns -= slots.items[i].recorded_ns;
		}
		assert_int_equal(sum_ns, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_not_equal(slot_of(&slots, &spans[i]), VMOP_NO_TIME_SLOT);
		vmop_time_slots_deinit(&slots);
	}
}

static void too_many_steps(void **state)
{
	(void)state;
	struct vmop_time_slots slots;
	size_t n = VMOP_TIME_SLOTS_MAX + 1;
	struct vmop_span *many = calloc(n, sizeof(*many));
	assert_non_null(many);
	for (size_t i = 0; i < n; i++)
		many[i] = (struct vmop_span){NOON + i * SECOND, NOON + (i + 1) * SECOND};
	struct vmop_error *err = vmop_time_steps_make(&slots, many, n, 1);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	vmop_time_slots_deinit(&slots);
	assert_ok(vmop_time_steps_make(&slots, many, n, 2));
	vmop_time_slots_deinit(&slots);
	free(many);
}

static void steps_are_chosen(void **state)
{
	(void)state;
	assert_int_equal(vmop_time_steps_choose(0), 1);
	assert_int_equal(vmop_time_steps_choose(3600 * SECOND), 120);
	assert_int_equal(vmop_time_steps_choose(86400 * SECOND), 1800);
	assert_int_equal(vmop_time_steps_choose(30 * 86400 * SECOND), 86400);
	assert_int_equal(vmop_time_steps_choose(UINT64_MAX), 30 * 86400);
}

static void options(void **state)
{
	(void)state;
	static const char *const refused[] = {"",	    "tim",	 "time:",
					      "time:0s",    "time:-1s",	 "time:7s",
					      "time:0.5s",  "time:367d", "time:1000000000000s",
					      "time:1h,1m", "symbol"};
	struct vmop_series_options series = {0};
	assert_ok(vmop_series_parse("time", &series));
	assert_true(series.is_wanted && !series.step_s);
	assert_ok(vmop_series_parse("time:7d", &series));
	assert_int_equal(series.step_s, 7 * 86400);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct vmop_error *err = vmop_series_parse(refused[i], &series);
		if (!err)
			fail_msg("accepted: %s", refused[i]);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		vmop_error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_summed_in_minutes),
		cmocka_unit_test(long_intervals_join_steps),
		cmocka_unit_test(slots_partition_the_intervals),
		cmocka_unit_test(too_many_steps),
		cmocka_unit_test(steps_are_chosen),
		cmocka_unit_test(options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
