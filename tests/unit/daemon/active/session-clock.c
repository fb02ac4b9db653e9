// SPDX-License-Identifier: GPL-2.0-or-later
/* Test how the host finds the distance of a guest's clock. */
#include "daemon/active/session-clock.h"

#include <cmocka.h>
#include <stdlib.h>
#define START_NS (UINT64_C(1600000000) * VMOP_NS_PER_S)
#define HOST_NS (UINT64_C(1700000000) * VMOP_NS_PER_S)
#define STEP_NS (100 * VMOP_NS_PER_MS)

/* A guest whose agent reports every STEP_NS. */
struct world {
	struct vmop_session_clock clock;
	uint64_t guest_ns, host_ns;
};

static struct world begin(void)
{
	return (struct world){.guest_ns = START_NS + VMOP_NS_PER_S, .host_ns = HOST_NS};
}

/* Let n reports come, each so late. Return how often the clock changed. */
static unsigned go_on(struct world *world, unsigned n, uint64_t late_ns)
{
	unsigned changes = 0;
	for (unsigned i = 0; i < n; i++) {
		world->guest_ns += STEP_NS;
		world->host_ns += STEP_NS;
		changes += vmop_session_clock_take(&world->clock, START_NS, world->guest_ns,
						   world->host_ns + late_ns);
	}
	return changes;
}

/* Let time pass, after which a report comes sooner than the ones before, but not before them. */
static void pass(struct world *world)
{
	world->guest_ns += 3 * VMOP_NS_PER_S;
	world->host_ns += 3 * VMOP_NS_PER_S;
}

static int64_t distance(const struct world *world)
{
	return (int64_t)(world->host_ns - world->guest_ns);
}

static const struct vmop_db_clock_part *last(const struct world *world)
{
	assert_in_range(world->clock.clock.n, 1, VMOP_DB_CLOCK_PARTS_MAX);
	return &world->clock.clock.parts[world->clock.clock.n - 1];
}

/* The quickest report has the best distance. */
static void the_way_takes_time(void **state)
{
	struct world world = begin();
	(void)state;
	assert_int_equal(go_on(&world, 1, 300 * VMOP_NS_PER_MS), 1);
	assert_int_equal(last(&world)->add_ns, distance(&world) + 300 * (int64_t)VMOP_NS_PER_MS);
	pass(&world);
	assert_int_equal(go_on(&world, 1, VMOP_NS_PER_MS), 1);
	assert_int_equal(go_on(&world, 100, 50 * VMOP_NS_PER_MS), 0);
	assert_int_equal(world.clock.clock.n, 1);
	assert_int_equal(last(&world)->session_ns, START_NS);
	assert_int_equal(last(&world)->add_ns, distance(&world) + (int64_t)VMOP_NS_PER_MS);
}

/* A busy host reads late for a while. */
static void a_delay(void **state)
{
	struct world world = begin();
	(void)state;
	go_on(&world, 10, 0);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(go_on(&world, 25, 2 * VMOP_NS_PER_S), 0);
		pass(&world);
		assert_int_equal(go_on(&world, 1, 0), 0);
	}
	assert_int_equal(world.clock.clock.n, 1);
	assert_int_equal(last(&world)->add_ns, distance(&world));
}

/* The guest is stopped for some seconds: its clocks stand still. */
static void a_stop(void **state)
{
	struct world world = begin();
	(void)state;
	go_on(&world, 10, 0);
	uint64_t stopped_ns = world.guest_ns;
	int64_t before_ns = distance(&world);
	world.host_ns += 8 * VMOP_NS_PER_S;
	assert_int_equal(go_on(&world, 60, 0), 1);
	assert_int_equal(world.clock.clock.n, 2);
	assert_int_equal(world.clock.clock.parts[0].add_ns, before_ns);
	assert_int_equal(last(&world)->add_ns, before_ns + 8 * (int64_t)VMOP_NS_PER_S);
	assert_int_equal(last(&world)->from_ns, stopped_ns + STEP_NS);
}

/* A service in the guest sets its clock forward, and the session's time follows. */
static void set_forward(void **state)
{
	struct world world = begin();
	(void)state;
	go_on(&world, 10, 0);
	int64_t before_ns = distance(&world);
	world.guest_ns += 1800 * VMOP_NS_PER_S;
	assert_int_equal(go_on(&world, 10, 0), 1);
	assert_int_equal(world.clock.clock.n, 2);
	assert_int_equal(last(&world)->add_ns, before_ns - 1800 * (int64_t)VMOP_NS_PER_S);
	assert_int_equal(last(&world)->from_ns, world.guest_ns - 9 * STEP_NS);
}

/* A line that is read twice changes nothing, and another session of the guest has its own part. */
static void other_sessions(void **state)
{
	struct world world = begin();
	(void)state;
	go_on(&world, 1, 0);
	assert_false(vmop_session_clock_take(&world.clock, START_NS, world.guest_ns - VMOP_NS_PER_S,
					     world.host_ns));
	assert_true(vmop_session_clock_take(&world.clock, START_NS + 5, world.guest_ns,
					    world.host_ns + 1));
	assert_int_equal(world.clock.clock.n, 2);
	assert_int_equal(last(&world)->session_ns, START_NS + 5);
	for (uint64_t i = 0; i < 100; i++)
		assert_true(vmop_session_clock_take(&world.clock, START_NS + 6 + i, world.guest_ns,
						    world.host_ns + 2 + i));
	assert_int_equal(world.clock.clock.n, VMOP_DB_CLOCK_PARTS_MAX);
	assert_int_equal(last(&world)->session_ns, START_NS + 105);
}

/* Return a number of any size. */
static uint64_t any_number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1;
	uint64_t number = *state ^ *state >> 32;
	return number >> (*state >> 40) % 64;
}

/* Whatever a guest reports, the clock has parts that can be stored. */
static void a_hostile_guest(void **state)
{
	struct vmop_session_clock clock = {0};
	uint64_t random = 1, host_ns = HOST_NS;
	(void)state;
	for (unsigned i = 0; i < 1000000; i++) {
		host_ns += any_number(&random) % VMOP_NS_PER_S;
		uint64_t start_ns = any_number(&random);
		vmop_session_clock_take(&clock, start_ns, any_number(&random), host_ns);
		assert_in_range(clock.clock.n, 0, VMOP_DB_CLOCK_PARTS_MAX);
		for (size_t j = 0; j < clock.clock.n; j++)
			assert_true(clock.clock.parts[j].from_ns <= INT64_MAX &&
				    clock.clock.parts[j].add_ns > -INT64_MAX / 2 - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way_takes_time),
		cmocka_unit_test(a_delay),
		cmocka_unit_test(a_stop),
		cmocka_unit_test(set_forward),
		cmocka_unit_test(other_sessions),
		cmocka_unit_test(a_hostile_guest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
