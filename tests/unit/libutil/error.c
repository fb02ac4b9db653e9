// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <errno.h>

#include "libutil/error.h"

static void message_and_status(void **state)
{
	(void)state;
	struct vmop_error *err = vmop_error_new(VMOP_ERROR_USAGE, "event '%s'", "x");
	assert_string_equal(err->message, "event 'x'");
	assert_int_equal(vmop_error_exit_status(err), VMOP_EXIT_USAGE);
	err = vmop_error_prefix(err, "line %d", 3);
	assert_string_equal(err->message, "line 3: event 'x'");
	vmop_error_destroy(err);
}

static void refusals_are_cant(void **state)
{
	(void)state;
	struct vmop_error *err = vmop_error_os(EPERM, "/x");
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_int_equal(err->os_errno, EPERM);
	assert_string_equal(err->message, "/x: Operation not permitted");
	vmop_error_destroy(err);
}

static void no_memory_is_static(void **state)
{
	(void)state;
	struct vmop_error *err = vmop_error_os(ENOMEM, "/x");
	assert_ptr_equal(err, &vmop_error_no_memory);
	assert_ptr_equal(vmop_error_prefix(err, "more"), &vmop_error_no_memory);
	vmop_error_destroy(err);
	assert_int_equal(vmop_error_exit_status(NULL), VMOP_EXIT_DONE);
}

static void the_first_of_two_stays(void **state)
{
	(void)state;
	struct vmop_error *first = vmop_error_new(VMOP_ERROR_CANT, "first");
	assert_null(vmop_error_first(NULL, NULL));
	assert_ptr_equal(vmop_error_first(NULL, first), first);
	assert_ptr_equal(vmop_error_first(first, NULL), first);
	assert_ptr_equal(vmop_error_first(first, vmop_error_new(VMOP_ERROR_LIMIT, "next")), first);
	assert_string_equal(first->message, "first");
	vmop_error_destroy(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_and_status),
		cmocka_unit_test(refusals_are_cant),
		cmocka_unit_test(no_memory_is_static),
		cmocka_unit_test(the_first_of_two_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
