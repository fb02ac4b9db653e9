// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/setup.h"

static void words_are_printed_as_they_are_set(void **state)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	_cleanup_free_ char *by_host = NULL, *by_guest = NULL;
	(void)state;
	assert_null(vmop_setup_init(&setup));
	assert_false(setup.active_samples_by_host);
	assert_null(vmop_setup_set(&setup, "active-samples", "host", false));
	assert_true(setup.active_samples_by_host);
	assert_null(vmop_setup_format(&setup, &by_host));
	assert_non_null(strstr(by_host, "active-samples = host\n"));
	assert_null(vmop_setup_set(&setup, "active-samples", "guest", false));
	assert_false(setup.active_samples_by_host);
	assert_null(vmop_setup_format(&setup, &by_guest));
	assert_null(strstr(by_guest, "active-samples"));
}

static void other_words_are_refused(void **state)
{
	static const char *const values[] = {"", "on", "Host", "host,guest"};
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	(void)state;
	assert_null(vmop_setup_init(&setup));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct vmop_error *err = vmop_setup_set(&setup, "active-samples", values[i], false);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		assert_non_null(strstr(err->message, "guest, host"));
		vmop_error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_printed_as_they_are_set),
		cmocka_unit_test(other_words_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
