// SPDX-License-Identifier: GPL-2.0-or-later
/* The conversion of a host's times to this guest's, over a simulated channel. */
#include "hv-interface/handed/clock.h"

#include <cmocka.h>
#include <stdlib.h>

#include "libutil/clock.h"

/* A guest's clock: CLOCK_MONOTONIC of the guest at a time of the host, and its counter there. */
struct world {
	uint64_t difference_ns;
	double rate;	 /* ns of the guest in one of the host */
	uint64_t now_ns; /* the host's */
	bool has_tsc;
	struct vmop_handed_clock clock;
};

#define TICKS_A_NS 2

static uint64_t guest_ns(const struct world *world, uint64_t host_ns)
{
	return host_ns + world->difference_ns +
	       (uint64_t)(int64_t)((world->rate - 1) * (double)host_ns);
}

static struct vmop_tsc_pair pair(const struct world *world)
{
	return (struct vmop_tsc_pair){.tsc = TICKS_A_NS * world->now_ns,
				      .time_ns = guest_ns(world, world->now_ns),
				      .width_ticks = 100};
}

/* Ask, and get the answer after two delays. */
static bool exchange(struct world *world, uint64_t there_ns, uint64_t back_ns)
{
	struct vmop_tsc_pair now = pair(world);
	struct vmop_active_clock answer = {
		.asked_ns = vmop_handed_clock_ask(&world->clock, &now, world->has_tsc)};
	world->now_ns += there_ns;
	answer.host_ns = world->now_ns;
	answer.guest_tsc = world->has_tsc ? TICKS_A_NS * world->now_ns : 0;
	answer.error_ns = 50;
	world->now_ns += back_ns;
	now = pair(world);
	return vmop_handed_clock_answer(&world->clock, &answer, &now);
}

/* Check that a time is converted within the error that the clock claims, of at most max_ns. */
static void check(const struct world *world, uint64_t host_ns, uint64_t max_ns)
{
	uint64_t ns, error_ns, right_ns = guest_ns(world, host_ns);
	assert_true(vmop_handed_clock_convert(&world->clock, host_ns, &ns, &error_ns));
	assert_true((ns > right_ns ? ns - right_ns : right_ns - ns) <= error_ns);
	assert_true(error_ns <= max_ns);
}

static struct world make_world(bool has_tsc)
{
	return (struct world){.difference_ns = (uint64_t)-77 * VMOP_NS_PER_S,
			      .rate = 1.0001,
			      .now_ns = 1000 * VMOP_NS_PER_S,
			      .has_tsc = has_tsc};
}

static void without_an_answer_no_time_is_known(void **state)
{
	struct world world = make_world(true);
	uint64_t ns, error_ns;
	(void)state;
	assert_false(vmop_handed_clock_convert(&world.clock, 1, &ns, &error_ns));
	assert_int_equal(vmop_handed_clock_known_ns(&world.clock), 0);
}

/* Long delays, and a drift of 100 ppm between the clocks, cost no accuracy. */
static void the_counter_gives_the_time_within_less_than_a_us(void **state)
{
	struct world world = make_world(true);
	(void)state;
	uint64_t begun_ns = world.now_ns;
	for (unsigned i = 0; i < 200; i++) {
		assert_true(exchange(&world, (uint64_t)rand() % 100000000,
				     (uint64_t)rand() % 100000000));
		world.now_ns += 150 * VMOP_NS_PER_MS;
		uint64_t known_ns = vmop_handed_clock_known_ns(&world.clock);
		for (uint64_t back_ns = 1; back_ns < VMOP_NS_PER_S; back_ns *= 3)
			if (known_ns - back_ns > begun_ns + 2 * VMOP_NS_PER_S)
				check(&world, known_ns - back_ns, 500);
	}
	/* Beyond the last answer it is less certain. */
	check(&world, world.now_ns + VMOP_NS_PER_S, VMOP_NS_PER_MS);
}

static void round_trips_bound_the_time(void **state)
{
	struct world world = make_world(false);
	uint64_t ns, error_ns = 0;
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_true(exchange(&world, 300000 + (uint64_t)rand() % 20000000,
				     300000 + (uint64_t)rand() % 20000000));
		world.now_ns += 50 * VMOP_NS_PER_MS;
		check(&world, vmop_handed_clock_known_ns(&world.clock), 20 * VMOP_NS_PER_MS);
	}
	assert_true(vmop_handed_clock_convert(
		&world.clock, vmop_handed_clock_known_ns(&world.clock), &ns, &error_ns));
	/* The bounds of many round trips are narrower than those of one. */
	assert_true(error_ns < 6 * VMOP_NS_PER_MS);
}

/* A counter that is not this guest's lies outside of the question and its answer. */
static void a_wrong_counter_is_not_used(void **state)
{
	struct world world = make_world(true);
	struct vmop_tsc_pair now = pair(&world);
	(void)state;
	const struct vmop_active_clock answer = {
		.asked_ns = vmop_handed_clock_ask(&world.clock, &now, true),
		.host_ns = world.now_ns + 10000,
		.guest_tsc = 12345};
	world.now_ns += 20000;
	now = pair(&world);
	assert_true(vmop_handed_clock_answer(&world.clock, &answer, &now));
	check(&world, answer.host_ns, 11000);
}

static void a_jump_of_a_clock_is_an_error(void **state)
{
	struct world world = make_world(true);
	uint64_t ns, error_ns;
	(void)state;
	assert_true(exchange(&world, 1000, 1000));
	uint64_t first_ns = vmop_handed_clock_known_ns(&world.clock);
	world.now_ns += VMOP_NS_PER_S;
	world.difference_ns += VMOP_NS_PER_S;
	assert_true(exchange(&world, 1000, 1000));
	assert_true(vmop_handed_clock_convert(&world.clock, first_ns + 1000, &ns, &error_ns));
	assert_true(error_ns >= VMOP_NS_PER_S);
}

static void answers_that_fit_no_question_are_refused(void **state)
{
	struct world world = make_world(true);
	struct vmop_tsc_pair now = pair(&world);
	struct vmop_active_clock answer = {.asked_ns = now.time_ns, .host_ns = world.now_ns};
	(void)state;
	assert_false(vmop_handed_clock_answer(&world.clock, &answer, &now)); /* not asked */
	vmop_handed_clock_ask(&world.clock, &now, true);
	answer.asked_ns++;
	assert_false(vmop_handed_clock_answer(&world.clock, &answer, &now));
	answer.asked_ns--;
	assert_true(vmop_handed_clock_answer(&world.clock, &answer, &now));
	assert_false(vmop_handed_clock_answer(&world.clock, &answer, &now)); /* repeated */
	vmop_handed_clock_ask(&world.clock, &now, true);
	answer.host_ns--; /* the host's time goes back */
	assert_false(vmop_handed_clock_answer(&world.clock, &answer, &now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_answer_no_time_is_known),
		cmocka_unit_test(the_counter_gives_the_time_within_less_than_a_us),
		cmocka_unit_test(round_trips_bound_the_time),
		cmocka_unit_test(a_wrong_counter_is_not_used),
		cmocka_unit_test(a_jump_of_a_clock_is_an_error),
		cmocka_unit_test(answers_that_fit_no_question_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
