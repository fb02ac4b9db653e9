// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/setup.h"

static void words_are_printed_as_they_are_set(void **state)
{
	(void)state;
	static const struct {
		const char *value, *line;
		enum vmop_setup_context choice;
	} table[] = {
		{"on", "guest-context = on\n", VMOP_SETUP_CONTEXT_ON},
		{"off", "guest-context = off\n", VMOP_SETUP_CONTEXT_OFF},
		{"auto", NULL, VMOP_SETUP_CONTEXT_AUTO},
	};
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	assert_int_equal(setup.guest_context, VMOP_SETUP_CONTEXT_AUTO);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		_cleanup_free_ char *text = NULL;
		assert_null(vmop_setup_set(&setup, "guest-context", table[i].value, false));
		assert_int_equal(setup.guest_context, table[i].choice);
		assert_null(vmop_setup_format(&setup, &text));
		if (table[i].line)
			assert_non_null(strstr(text, table[i].line));
		else
			assert_null(strstr(text, "guest-context"));
	}
}

static void other_words_are_refused(void **state)
{
	(void)state;
	static const char *const values[] = {"", "yes", "1", "on,off", "ON"};
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct vmop_error *err = vmop_setup_set(&setup, "guest-context", values[i], false);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		assert_non_null(strstr(err->message, "on, off, auto"));
		vmop_error_destroy(err);
	}
}

static bool wants(const char *text)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	assert_null(vmop_setup_parse(&setup, "t.conf", text));
	return vmop_setup_wants_guest_context(&setup);
}

static void the_default_follows_the_guests(void **state)
{
	(void)state;
	assert_true(wants(""));
	assert_true(wants("passive-domains = web"));
	assert_false(wants("passive-domains = none"));
	assert_false(wants("guest-cpu = 0"));
	assert_false(wants("guest-context = off"));
	assert_true(wants("guest-context = on\npassive-domains = none"));
}

static void contexts_need_the_guests_memory(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	assert_null(vmop_setup_parse(&setup, "t.conf", "guest-cpu = 0\n"));
	assert_null(vmop_setup_check(&setup));
	assert_null(vmop_setup_set(&setup, "guest-context", "on", false));
	struct vmop_error *err = vmop_setup_check(&setup);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, "guest-cpu"));
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_printed_as_they_are_set),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(the_default_follows_the_guests),
		cmocka_unit_test(contexts_need_the_guests_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
