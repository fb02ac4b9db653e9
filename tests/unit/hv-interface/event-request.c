// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <string.h>

#include "hv-interface/source.h"

static void good_text_is_accepted(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct {
			const char *name;
			uint64_t period_events, frequency_hz;
			const char *unit_mask;
			bool kernel, user, host, guest;
			unsigned precise;
		} request;
	} table[] = {
		{"default", {"default", 0, 0, NULL, true, true, true, true, 0}},
		{"cycles:100003", {"cycles", 100003, 0, NULL, true, true, true, true, 0}},
		{"cycles:4000Hz", {"cycles", 0, 4000, NULL, true, true, true, true, 0}},
		{"cycles:4kHz", {"cycles", 0, 4000, NULL, true, true, true, true, 0}},
		{"cycles:50hz", {"cycles", 0, 50, NULL, true, true, true, true, 0}},
		{"a:1:0x0f", {"a", 1, 0, "0x0f", true, true, true, true, 0}},
		{"a:1:any:1:0", {"a", 1, 0, "any", true, false, true, true, 0}},
		{"a:::0", {"a", 0, 0, NULL, false, true, true, true, 0}},
		{"a:::::1:0", {"a", 0, 0, NULL, true, true, true, false, 0}},
		{"a:7::::0:1", {"a", 7, 0, NULL, true, true, false, true, 0}},
		{"skl::INST_RETIRED:6000:ANY",
		 {"skl::INST_RETIRED", 6000, 0, "ANY", true, true, true, true, 0}},
		{"a::0x1", {"a", 0, 0, "0x1", true, true, true, true, 0}},
		{"sched:sched_switch",
		 {"sched:sched_switch", 0, 0, NULL, true, true, true, true, 0}},
		{"sched:sched_switch:7::1:0",
		 {"sched:sched_switch", 7, 0, NULL, true, false, true, true, 0}},
		{"9p:9p_client_req", {"9p:9p_client_req", 0, 0, NULL, true, true, true, true, 0}},
		{"9p:9p_client_req:7::1:0",
		 {"9p:9p_client_req", 7, 0, NULL, true, false, true, true, 0}},
		{"cpu/config=1,any/", {"cpu/config=1,any/", 0, 0, NULL, true, true, true, true, 0}},
		{"cpu/a:b/:99Hz", {"cpu/a:b/", 0, 99, NULL, true, true, true, true, 0}},
		{"a:p", {"a", 0, 0, NULL, true, true, true, true, 1}},
		{"a:pp:500::0", {"a", 500, 0, NULL, false, true, true, true, 2}},
		{"skl::B:ppp:6000:ANY", {"skl::B", 6000, 0, "ANY", true, true, true, true, 3}},
		{"cpu/x/:p", {"cpu/x/", 0, 0, NULL, true, true, true, true, 1}},
		{"a:9223372036854775807", {"a", INT64_MAX, 0, NULL, true, true, true, true, 0}},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const __typeof__(table[0].request) *want = &table[i].request;
		struct vmop_event_request got;
		struct vmop_error *err = vmop_event_request_parse(table[i].text, &got);
		if (err)
			fail_msg("%s", err->message);
		assert_string_equal(got.name, want->name);
		assert_true(got.period_events == want->period_events);
		assert_true(got.frequency_hz == want->frequency_hz);
		assert_int_equal(!got.unit_mask, !want->unit_mask);
		if (want->unit_mask)
			assert_string_equal(got.unit_mask, want->unit_mask);
		assert_int_equal(got.kernel, want->kernel);
		assert_int_equal(got.user, want->user);
		assert_int_equal(got.host, want->host);
		assert_int_equal(got.guest, want->guest);
		assert_int_equal(got.precise, want->precise);
		vmop_event_request_deinit(&got);
		assert_null(got.name);
	}
}

static void braces_make_groups(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name;
		uint64_t period_events;
		bool begins, ends;
	} table[] = {
		{"{cycles", "cycles", 0, true, false},
		{"{cycles:6007::0:1", "cycles", 6007, true, false},
		{"instructions}", "instructions", 0, false, true},
		{"instructions:9973}", "instructions", 9973, false, true},
		{"cpu/event=1,umask=2/}", "cpu/event=1,umask=2/", 0, false, true},
		{"{cycles}", "cycles", 0, true, true},
		{"cycles", "cycles", 0, false, false},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_event_request got;
		struct vmop_error *err = vmop_event_request_parse(table[i].text, &got);
		if (err)
			fail_msg("%s", err->message);
		assert_string_equal(got.name, table[i].name);
		assert_true(got.period_events == table[i].period_events);
		assert_int_equal(got.begins_group, table[i].begins);
		assert_int_equal(got.ends_group, table[i].ends);
		vmop_event_request_deinit(&got);
	}
}

static void a_refusal_names_the_bad_part(void **state)
{
	(void)state;
	static const struct {
		const char *text, *named;
	} table[] = {
		{"", "no name"},
		{"{", "no name"},
		{"{}", "no name"},
		{"instructions}:u", "nothing stands before '{' or behind '}'"},
		{"a{b", "a group is {EVENT,EVENT,...}"},
		{"{{a", "a group is {EVENT,EVENT,...}"},
		{":100", "no name"},
		{"a:0", "'0' is not a count"},
		{"a:-5", "'-5' is not a count"},
		{"a: 5", "' 5' is not a count"},
		{"a:5ms", "'5ms' is not a count"},
		{"a:0Hz", "'0Hz' is not a count"},
		{"a:0x10", "'0x10' is not a count"},
		{"a:9223372036854775808", "is not a count"},
		{"a:9223372036854775807kHz", "is not a count"},
		{"a:99999999999999999999999999999999", "is not a count"},
		{"a:1::2", "KERNEL must be 0 or 1, not '2'"},
		{"a:1::1:x", "USER must be 0 or 1, not 'x'"},
		{"a:1::1:1:10", "HOST must be 0 or 1, not '10'"},
		{"a:1::1:1:1:y", "GUEST must be 0 or 1, not 'y'"},
		{"a:1::0:0", "KERNEL and USER are both 0"},
		{"a:1::1:1:0:0", "HOST and GUEST are both 0"},
		{"a:1::1:1:1:1:1", "too many fields"},
		{"cpu/x/p", "too many fields"},
		{"a:p:p", "'p' is not a count"},
		{"s:t:often", "'often' is not a count"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_event_request got;
		struct vmop_error *err = vmop_event_request_parse(table[i].text, &got);
		if (!err)
			fail_msg("'%s' was accepted", table[i].text);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		if (!strstr(err->message, table[i].named))
			fail_msg("'%s' lacks '%s'", err->message, table[i].named);
		vmop_error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_text_is_accepted),
		cmocka_unit_test(braces_make_groups),
		cmocka_unit_test(a_refusal_names_the_bad_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
