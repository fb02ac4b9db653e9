// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller of the rate, with a daemon whose cost follows the rate, in part or not at all. */
#include <cmocka.h>

#include "daemon/overhead.h"
#include "libutil/clock.h"

/* A daemon that uses fixed + by_rate / divisor of one CPU, in ns a second. */
struct simulated {
	struct vmop_overhead overhead;
	uint64_t now_ns, cpu_ns;
	uint64_t fixed_ns, by_rate_ns;
	unsigned changes;
};

static struct simulated begin(unsigned limit_permyriad, uint64_t fixed_ns, uint64_t by_rate_ns)
{
	struct simulated simulated = {
		.now_ns = 1000 * VMOP_NS_PER_S, .fixed_ns = fixed_ns, .by_rate_ns = by_rate_ns};
	vmop_overhead_init(&simulated.overhead, limit_permyriad, VMOP_NS_PER_S);
	return simulated;
}

/* Let time pass, with a check each second, on two CPUs. */
static void run(struct simulated *simulated, unsigned seconds)
{
	struct vmop_overhead *overhead = &simulated->overhead;
	for (unsigned i = 0; i < seconds; i++) {
		unsigned before = overhead->divisor;
		bool changed =
			vmop_overhead_check(overhead, simulated->now_ns, simulated->cpu_ns, 2);
		assert_int_equal(changed, before != overhead->divisor);
		assert_true(overhead->divisor <= 4 * before && before <= 2 * overhead->divisor);
		simulated->changes += changed;
		simulated->now_ns += VMOP_NS_PER_S;
		simulated->cpu_ns +=
			simulated->fixed_ns + simulated->by_rate_ns / overhead->divisor;
	}
}

static void rate_follows_cost(void **state)
{
	(void)state;
	/* 4 % of one CPU are 2 % of two; the limit is 0.5 % of them. */
	struct simulated simulated = begin(50, 0, 40 * VMOP_NS_PER_MS);
	run(&simulated, 10);
	assert_int_equal(simulated.overhead.divisor, 1); /* the first window is not judged */
	run(&simulated, 10);
	assert_int_equal(simulated.overhead.divisor, 4);
	/* 0.5 % is not above the limit, and leaves no room: the rate stays. */
	run(&simulated, 1000);
	assert_int_equal(simulated.overhead.divisor, 4);
	assert_int_equal(simulated.changes, 1);
	assert_true(simulated.overhead.used_permyriad > 49 &&
		    simulated.overhead.used_permyriad < 51);
	/* The load is gone: the rate is raised by steps, not before half a minute. */
	simulated.by_rate_ns = 1 * VMOP_NS_PER_MS;
	run(&simulated, 25);
	assert_int_equal(simulated.overhead.divisor, 4);
	run(&simulated, 20);
	assert_int_equal(simulated.overhead.divisor, 2);
	run(&simulated, 60);
	assert_int_equal(simulated.overhead.divisor, 1);
	assert_int_equal(simulated.changes, 3);
}

static void rate_does_not_swing(void **state)
{
	(void)state;
	/* At any cost the rate settles: an hour has few changes. */
	for (uint64_t cost_ms = 1; cost_ms < 1000; cost_ms = cost_ms * 5 / 4 + 1) {
		struct simulated simulated = begin(50, 0, cost_ms * VMOP_NS_PER_MS);
		run(&simulated, 3600);
		assert_true(simulated.changes <= 4);
		assert_true(simulated.overhead.used_permyriad <= 50 ||
			    simulated.overhead.is_beyond);
	}
}

static void cost_that_no_rate_lowers(void **state)
{
	(void)state;
	struct simulated simulated = begin(50, 100 * VMOP_NS_PER_MS, 0);
	run(&simulated, 100);
	assert_int_equal(simulated.overhead.divisor, VMOP_OVERHEAD_MOST_DIVISOR);
	assert_true(simulated.overhead.is_beyond);
	simulated.fixed_ns = 0;
	run(&simulated, 10);
	assert_false(simulated.overhead.is_beyond);
}

static void no_limit(void **state)
{
	(void)state;
	struct simulated simulated = begin(0, VMOP_NS_PER_S, 0);
	assert_true(simulated.overhead.used_permyriad < 0);
	run(&simulated, 100);
	assert_int_equal(simulated.overhead.divisor, 1);
	assert_int_equal((int)simulated.overhead.used_permyriad, 5000);
	/* A clock that counts fewer CPUs or less time, as after a resume, is no cost. */
	simulated.cpu_ns = 0;
	run(&simulated, 6);
	assert_true(simulated.overhead.used_permyriad >= 0);
	assert_false(vmop_overhead_check(&simulated.overhead, simulated.now_ns + VMOP_NS_PER_S * 60,
					 simulated.cpu_ns, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_follows_cost),
		cmocka_unit_test(rate_does_not_swing),
		cmocka_unit_test(cost_that_no_rate_lowers),
		cmocka_unit_test(no_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
