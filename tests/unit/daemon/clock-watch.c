// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include "daemon/clock-watch.h"
#include "libutil/clock.h"

#define HOUR_NS (3600 * VMOP_NS_PER_S)
#define YEAR_NS (365 * 24 * HOUR_NS)
#define BEGUN_NS (UINT64_C(1795471200) * VMOP_NS_PER_S)

/* A machine with a session that begins at once. */
struct machine {
	struct vmop_clock_reading now;
	struct vmop_clock_watch watch;
	uint64_t session_ns, last_session_ns;
	unsigned files;
};

static struct machine begin(void)
{
	struct machine machine = {
		.now = {.real_ns = BEGUN_NS, .monotonic_ns = HOUR_NS, .boot_ns = 2 * HOUR_NS},
		.session_ns = BEGUN_NS,
		.files = 1,
	};
	vmop_clock_watch_init(&machine.watch, &machine.now);
	return machine;
}

/* Let time pass, then end an interval as the session does. */
static void run(struct machine *machine, uint64_t ns)
{
	uint64_t forward_ns;
	machine->now.real_ns += ns;
	machine->now.monotonic_ns += ns;
	machine->now.boot_ns += ns;
	machine->session_ns += ns;
	uint64_t before_ns = machine->session_ns;
	bool is_stepped = vmop_clock_watch_check(&machine->watch, &machine->now,
						 machine->session_ns, &forward_ns);
	machine->session_ns += forward_ns;
	assert_true(machine->session_ns >= before_ns); /* never backwards within a file */
	if (!is_stepped)
		return;
	machine->files++;
	if (vmop_clock_is_other_time(machine->now.real_ns, machine->session_ns))
		machine->session_ns = machine->now.real_ns;
}

static void suspend(struct machine *machine, uint64_t ns)
{
	machine->now.real_ns += ns;
	machine->now.boot_ns += ns;
}

static void clocks_that_agree(void **state)
{
	(void)state;
	struct machine machine = begin();
	for (unsigned i = 0; i < 10000; i++)
		run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.session_ns, machine.now.real_ns);
	assert_int_equal(machine.files, 1);
}

static void suspends(void **state)
{
	(void)state;
	struct machine machine = begin();
	const uint64_t lengths_ns[] = {5 * VMOP_NS_PER_S, HOUR_NS, 8 * HOUR_NS, 30 * 24 * HOUR_NS};
	for (unsigned i = 0; i < 4; i++) {
		run(&machine, VMOP_NS_PER_S);
		suspend(&machine, lengths_ns[i]);
		run(&machine, VMOP_NS_PER_S);
		assert_int_equal(machine.session_ns, machine.now.real_ns);
		/* A suspend is no step: saved sessions grow older. */
		assert_int_equal(vmop_clock_watch_cautious_ns(&machine.watch, &machine.now),
				 machine.now.real_ns);
	}
	assert_int_equal(machine.files, 1);
}

static void small_steps_and_leap_seconds(void **state)
{
	(void)state;
	struct machine machine = begin();
	run(&machine, VMOP_NS_PER_S);
	machine.now.real_ns += 90 * VMOP_NS_PER_S;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.session_ns, machine.now.real_ns);
	/* A leap second repeats a second: the session is ahead, and not for long behind. */
	machine.now.real_ns -= VMOP_NS_PER_S;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.session_ns, machine.now.real_ns + VMOP_NS_PER_S);
	machine.now.real_ns -= 59 * 60 * VMOP_NS_PER_S;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.files, 1);
	assert_true(machine.session_ns > machine.now.real_ns);
}

static void a_year_either_way(void **state)
{
	(void)state;
	struct machine machine = begin();
	run(&machine, VMOP_NS_PER_S);
	machine.now.real_ns += YEAR_NS;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.files, 2);
	assert_int_equal(machine.session_ns, machine.now.real_ns);
	/* By a clock that was set forward, no saved session is too old. */
	assert_int_equal(vmop_clock_watch_cautious_ns(&machine.watch, &machine.now),
			 BEGUN_NS + 2 * VMOP_NS_PER_S);
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.files, 2);
	machine.now.real_ns -= 2 * YEAR_NS;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.files, 3);
	assert_int_equal(machine.session_ns, machine.now.real_ns);
	assert_int_equal(vmop_clock_watch_cautious_ns(&machine.watch, &machine.now),
			 machine.now.real_ns);
	/* Stepped while suspended. */
	suspend(&machine, HOUR_NS);
	machine.now.real_ns += YEAR_NS;
	run(&machine, VMOP_NS_PER_S);
	assert_int_equal(machine.files, 4);
	assert_int_equal(machine.session_ns, machine.now.real_ns);
}

static void clocks_of_this_machine(void **state)
{
	(void)state;
	struct vmop_clock_watch watch;
	struct vmop_clock_reading now = vmop_clock_watch_read();
	uint64_t forward_ns;
	vmop_clock_watch_init(&watch, &now);
	assert_false(vmop_clock_watch_check(&watch, &now, now.real_ns, &forward_ns));
	assert_int_equal(forward_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_agree),
		cmocka_unit_test(suspends),
		cmocka_unit_test(small_steps_and_leap_seconds),
		cmocka_unit_test(a_year_either_way),
		cmocka_unit_test(clocks_of_this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
