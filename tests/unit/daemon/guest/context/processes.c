// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that contexts showed: their identity, their bounds, and when they are dropped. */
#include "daemon/guest/context/processes.h"

#include <cmocka.h>

static struct vmop_guest_processes processes;
static struct vmop_images images;

static int begin(void **state)
{
	(void)state;
	assert_null(vmop_images_init(&images, 64));
	assert_true(vmop_guest_processes_init(&processes));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_guest_processes_deinit(&processes, &images);
	vmop_images_deinit(&images);
	return 0;
}

static void a_reused_pid_is_another_process(void **state)
{
	(void)state;
	struct vmop_guest_seen *first = vmop_guest_processes_get(&processes, 100, 5000);
	first->state = VMOP_GUEST_SEEN_PENDING;
	assert_ptr_equal(vmop_guest_processes_get(&processes, 100, 5000), first);
	assert_null(vmop_guest_processes_find(&processes, 100, 5001));
	assert_int_equal(vmop_guest_processes_get(&processes, 100, 5001)->state,
			 VMOP_GUEST_SEEN_NEW);
	assert_int_equal(processes.n, 2);
}

static void a_process_that_was_gone_has_no_mappings(void **state)
{
	(void)state;
	struct vmop_guest_seen *seen = vmop_guest_processes_get(&processes, 100, 5000);
	vmop_guest_seen_take(seen, NULL);
	assert_int_equal(seen->state, VMOP_GUEST_SEEN_NONE);
	assert_null(seen->process);
}

static void a_storm_of_processes_is_bounded(void **state)
{
	(void)state;
	uint32_t pid = 1;
	while (vmop_guest_processes_get(&processes, pid, pid * 1000))
		pid++;
	assert_true(processes.n <= VMOP_GUEST_SEEN_SLOTS / 4 * 3);
	assert_true(processes.n > VMOP_GUEST_SEEN_SLOTS / 2);
	assert_non_null(vmop_guest_processes_get(&processes, 1, 1000));
	struct vmop_image *code = vmop_images_new(&images, (struct vmop_domain_id){1},
						  VMOP_IMAGE_ANON, "[anon:a]", 0, 0);
	struct vmop_guest_seen *kept = vmop_guest_processes_find(&processes, 1, 1000);
	kept->generated = vmop_image_ref(code);
	for (unsigned i = 0; i < 3; i++) {
		assert_non_null(vmop_guest_processes_get(&processes, 2, 2000));
		vmop_guest_processes_next_interval(&processes, &images);
	}
	assert_non_null(vmop_guest_processes_find(&processes, 2, 2000));
	assert_null(vmop_guest_processes_find(&processes, 1, 1000));
	assert_int_equal(code->refs, 1);
	assert_int_equal(processes.n, 1);
	vmop_image_unref(&images, code);
}

static void without_memory_no_process_is_known(void **state)
{
	struct vmop_guest_processes none = {0};
	(void)state;
	assert_null(vmop_guest_processes_get(&none, 1, 1));
	assert_null(vmop_guest_processes_find(&none, 1, 1));
	vmop_guest_processes_next_interval(&none, &images);
	vmop_guest_processes_deinit(&none, &images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reused_pid_is_another_process, begin, end),
		cmocka_unit_test_setup_teardown(a_process_that_was_gone_has_no_mappings, begin,
						end),
		cmocka_unit_test_setup_teardown(a_storm_of_processes_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(without_memory_no_process_is_known, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
