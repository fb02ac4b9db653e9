// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of a CPU belongs to the next sample of its thread, and to no other. */
#include "daemon/guest/context/states.h"

#include <cmocka.h>

static void a_state_belongs_to_one_sample(void **state)
{
	struct vmop_guest_states states = {0};
	(void)state;
	assert_null(vmop_guest_states_of(&states, 0));
	assert_null(vmop_guest_states_take(&states, 0, 7));
	vmop_guest_states_init(&states);
	assert_true(states.n > 0);
	assert_null(vmop_guest_states_of(&states, states.n));
	assert_null(vmop_guest_states_take(&states, states.n, 7));
	assert_null(vmop_guest_states_take(&states, 0, 0)); /* none was kept */

	struct vmop_guest_state *kept = vmop_guest_states_of(&states, 0);
	kept->is_kept = true;
	kept->tid = 7;
	assert_ptr_equal(vmop_guest_states_take(&states, 0, 7), kept);
	assert_null(vmop_guest_states_take(&states, 0, 7));

	kept->is_kept = true;
	assert_null(vmop_guest_states_take(&states, 0, 8)); /* another thread ran meanwhile */
	assert_null(vmop_guest_states_take(&states, 0, 7));
	vmop_guest_states_deinit(&states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_belongs_to_one_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
