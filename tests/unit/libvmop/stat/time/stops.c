// SPDX-License-Identifier: GPL-2.0-or-later
/* Stops of the machine: what explains a late wait, and what doesn't. */
#include "libvmop/stat/time/stops.h"

#include <cmocka.h>
#include <unistd.h>

#include "libutil/clock.h"

#define MS VMOP_NS_PER_MS
#define STOP (5000 * MS)

/* Two CPUs, one of which is busy. */
static const struct vmop_stat_accounts before = {
	.now_ns = 100000 * MS,
	.delay_ns = 300 * MS,
	.machine = {.busy_ns = 90000 * MS,
		    .steal_ns = 10000 * MS,
		    .idle_ns = 100000 * MS,
		    .n_cpus = 2},
};

/* Return `before`, but as long later. */
static struct vmop_stat_accounts later(uint64_t real_ns, uint64_t busy_ns, uint64_t idle_ns)
{
	struct vmop_stat_accounts ret = before;
	ret.now_ns += real_ns;
	ret.machine.busy_ns += busy_ns;
	ret.machine.idle_ns += idle_ns;
	return ret;
}

static void nothing_between_usual_waits(void **state)
{
	(void)state;
	struct vmop_stat_accounts after = later(500 * MS, 500 * MS, 500 * MS);
	assert_int_equal(vmop_stat_stop_between(&before, &after, 0), 0);
	assert_int_equal(vmop_stat_stop_between(&before, &after, 100 * MS), 0);
}

/* While this program waits for its timer, and a busy CPU is not idle. */
static void stop_while_asleep(void **state)
{
	(void)state;
	struct vmop_stat_accounts after = later(500 * MS + STOP, 500 * MS, 500 * MS + STOP);
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), STOP);
	/* The kernel has the time of idle CPUs as idle: nothing is missing, but the wait is late.
	 */
	after = later(500 * MS + STOP, 0, 2 * (500 * MS + STOP));
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), STOP);
}

/* This program's own wait for a CPU has the whole stop; a CPU was busy. */
static void stop_while_it_waits_for_a_cpu(void **state)
{
	(void)state;
	struct vmop_stat_accounts after = later(500 * MS + STOP, 500 * MS, 500 * MS + STOP);
	after.delay_ns += STOP + 3 * MS;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), STOP);
	/* Both CPUs were busy: the machine stood still once. */
	after = later(500 * MS + STOP, 1000 * MS, 0);
	after.delay_ns += STOP + 3 * MS;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), STOP);
}

static void explained_waits(void **state)
{
	(void)state;
	/* Others have the CPUs. */
	struct vmop_stat_accounts after = later(500 * MS + STOP, 2 * (500 * MS + STOP), 0);
	after.delay_ns += STOP;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), 0);
	/* Another guest has them. */
	after = later(500 * MS + STOP, 1000 * MS, 0);
	after.machine.steal_ns += 2 * STOP;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), 0);
	/* Ticks were lost, but this program's wait ended in time. */
	after = later(500 * MS, 0, 0);
	assert_int_equal(vmop_stat_stop_between(&before, &after, 0), 0);
}

static void hot_plugged_cpu_hides_nothing_else(void **state)
{
	(void)state;
	struct vmop_stat_accounts after = later(500 * MS + STOP, 500 * MS, 500 * MS);
	after.machine.n_cpus = 1;
	after.delay_ns += STOP;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), 0);
	after.delay_ns = before.delay_ns;
	assert_int_equal(vmop_stat_stop_between(&before, &after, STOP), STOP);
}

/* The machine's own accounts explain all of the time. */
static void this_machine_runs(void **state)
{
	(void)state;
	struct vmop_stat_accounts first, second;
	if (!vmop_stat_accounts_read(&first)) {
		print_message("no /proc/self/schedstat\n");
		skip();
	}
	usleep(200000);
	assert_true(vmop_stat_accounts_read(&second));
	assert_true(second.now_ns > first.now_ns);
	/* As if it had been due at once. */
	assert_int_equal(
		vmop_stat_stop_between(&first, &second, second.now_ns - first.now_ns - 200 * MS),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_between_usual_waits),
		cmocka_unit_test(stop_while_asleep),
		cmocka_unit_test(stop_while_it_waits_for_a_cpu),
		cmocka_unit_test(explained_waits),
		cmocka_unit_test(hot_plugged_cpu_hides_nothing_else),
		cmocka_unit_test(this_machine_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
