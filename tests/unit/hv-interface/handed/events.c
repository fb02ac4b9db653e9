// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's events in the text of OPEN. */
#include "hv-interface/handed/events.h"

#include <cmocka.h>
#include <stdlib.h>

#include "tests/unit/ok.h"

static const struct vmop_event_info infos[] = {
	{.name = "cpu-clock", .unit = "ns", .period_events = 1000000},
	{.name = "cpu/event=0x3c/:u", .unit = "events", .frequency_hz = 4000},
};

static size_t n_events(const struct vmop_source *source)
{
	(void)source;
	return 2;
}

static const struct vmop_event_info *event(const struct vmop_source *source, size_t i)
{
	(void)source;
	return &infos[i];
}

static void events_are_read_as_they_were_written(void **state)
{
	static const struct vmop_source_ops ops = {.n_events = n_events, .event = event};
	const struct vmop_source source = {.ops = &ops};
	struct vmop_handed_events events;
	(void)state;
	char *text = vmop_handed_events_format(&source, false);
	assert_string_equal(text, "host 1000000:0:ns:cpu-clock 0:4000:events:cpu/event=0x3c/:u");
	assert_true(vmop_handed_events_are(text));
	assert_ok(vmop_handed_events_parse(text, &events));
	assert_int_equal(events.n, 2);
	assert_false(events.has_stacks);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(events.at[i].name, infos[i].name);
		assert_string_equal(events.at[i].unit, infos[i].unit);
		assert_int_equal(events.at[i].period_events, infos[i].period_events);
		assert_int_equal(events.at[i].frequency_hz, infos[i].frequency_hz);
	}
	vmop_handed_events_deinit(&events);
	free(text);
}

static void events_whose_samples_have_stacks(void **state)
{
	static const struct vmop_source_ops ops = {.n_events = n_events, .event = event};
	const struct vmop_source source = {.ops = &ops};
	struct vmop_handed_events events;
	(void)state;
	char *text = vmop_handed_events_format(&source, true);
	assert_string_equal(text,
			    "host stacks 1000000:0:ns:cpu-clock 0:4000:events:cpu/event=0x3c/:u");
	assert_true(vmop_handed_events_are(text));
	assert_ok(vmop_handed_events_parse(text, &events));
	assert_int_equal(events.n, 2);
	assert_true(events.has_stacks);
	vmop_handed_events_deinit(&events);
	free(text);
}

static void other_texts_are_events_of_the_guest(void **state)
{
	(void)state;
	assert_false(vmop_handed_events_are("default"));
	assert_false(vmop_handed_events_are("hostile:1000"));
	assert_false(vmop_handed_events_are(""));
}

static void malformed_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"host",
		"host ",
		"host stacks",
		"host stacks stacks 1:2:ns:x",
		"host 1:2:ns:x stacks",
		"host stack 1:2:ns:x",
		"host 1:2:ns:",
		"host 1:2:ns",
		"host 1:2:bytes:x",
		"host -1:2:ns:x",
		"host 1:x:ns:x",
		"host 1:2:ns:x  1:2:ns:y",
		"host 99999999999999999999:2:ns:x",
	};
	struct vmop_handed_events events;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_error *err = vmop_handed_events_parse(bad[i], &events);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CANT);
		vmop_error_destroy(err);
		vmop_handed_events_deinit(&events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_as_they_were_written),
		cmocka_unit_test(events_whose_samples_have_stacks),
		cmocka_unit_test(other_texts_are_events_of_the_guest),
		cmocka_unit_test(malformed_texts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
