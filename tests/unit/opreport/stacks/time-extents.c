// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/time-extents.h"

#include <cmocka.h>

static void check(const struct vmop_time_extents *extents, size_t span, uint64_t from_ns,
		  uint64_t to_ns)
{
	assert_int_equal(extents->spans[span].from_ns, from_ns);
	assert_int_equal(extents->spans[span].to_ns, to_ns);
}

/* A span has the time of all of its intervals; one that ends before it begins is damage. */
static void intervals_add_up(void **state)
{
	(void)state;
	struct vmop_time_extents extents = {0};
	vmop_time_extents_add(&extents, 1, 110, 220);
	vmop_time_extents_add(&extents, 1, 120, 230);
	vmop_time_extents_add(&extents, 1, 100, 150);
	vmop_time_extents_add(&extents, 2, UINT64_MAX - 5, 5);
	check(&extents, 0, 0, 0);
	check(&extents, 1, 100, 230);
	check(&extents, 2, 0, 0);
}

static void spans_are_merged_in_pairs(void **state)
{
	(void)state;
	struct vmop_time_extents extents = {0};
	vmop_time_extents_add(&extents, 0, 0, 120);
	vmop_time_extents_add(&extents, 1, 120, 240);
	vmop_time_extents_add(&extents, 3, 360, 480);
	vmop_time_extents_add(&extents, 4, 480, 500);
	vmop_time_extents_halve(&extents, 5);
	check(&extents, 0, 0, 240);
	check(&extents, 1, 360, 480);
	check(&extents, 2, 480, 500);
	check(&extents, 3, 0, 0);
	check(&extents, 4, 0, 0);
}

/* Intervals of one session follow each other, and stay as they are, across an empty span, too. */
static void a_session_has_nothing_to_part(void **state)
{
	(void)state;
	struct vmop_time_extents extents = {0};
	vmop_time_extents_add(&extents, 0, 1000, 1120);
	vmop_time_extents_add(&extents, 1, 1120, 1240);
	vmop_time_extents_add(&extents, 3, 1290, 1410);
	vmop_time_extents_part(&extents, 5, 1000, 100);
	check(&extents, 0, 1000, 1120);
	check(&extents, 1, 1120, 1240);
	check(&extents, 2, 0, 0);
	check(&extents, 3, 1290, 1410);
}

/* Extents of two sessions are parted at the bound, or where the earlier extent ends. */
static void sessions_are_parted(void **state)
{
	(void)state;
	struct vmop_time_extents extents = {0};
	vmop_time_extents_add(&extents, 0, 1000, 1130);
	vmop_time_extents_add(&extents, 1, 1060, 1190);
	vmop_time_extents_add(&extents, 2, 1180, 1320);
	vmop_time_extents_add(&extents, 3, 1310, 1400);
	vmop_time_extents_part(&extents, 4, 1000, 100);
	check(&extents, 0, 1000, 1100);
	check(&extents, 1, 1100, 1190);
	check(&extents, 2, 1190, 1310);
	check(&extents, 3, 1310, 1400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_add_up),
		cmocka_unit_test(spans_are_merged_in_pairs),
		cmocka_unit_test(a_session_has_nothing_to_part),
		cmocka_unit_test(sessions_are_parted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
