// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/spec.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* 2026-03-04 03:10:20 UTC; main sets TZ=UTC. */
static const uint64_t start_ns = 1772593820ull * 1000000000;
static void assert_usage(const char *argument, const char *named, const char *accepted)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	struct vmop_error *err = vmop_spec_parse(&spec, argument);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, named));
	assert_non_null(strstr(err->message, accepted));
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
}

static void a_copy_is_its_own(void **state)
{
	(void)state;
	struct vmop_spec spec = {.session_dir = "/x", .certainties = 2};
	_cleanup_(vmop_spec_deinit) struct vmop_spec copy;
	static const char *const arguments[] = {
		"session:s", "domain:web\\,1,g*", "image:i",	  "event:e",
		"task:t",    "stack:f",		  "cpu:0,2-3",	  "vcpu:1",
		"tgid:7",    "tid:8-9,11",	  "time:+1s..+2s"};
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		assert_null(vmop_spec_parse(&spec, arguments[i]));
	assert_null(vmop_spec_copy(&copy, &spec));
	vmop_spec_deinit(&spec);
	assert_string_equal(copy.session_dir, "/x");
	assert_int_equal(copy.certainties, 2);
	assert_int_equal(copy.domains.n, 2);
	assert_true(vmop_words_match(&copy.domains, "web,1"));
	assert_string_equal(copy.sessions.items[0], "s");
	assert_string_equal(copy.images.items[0], "i");
	assert_string_equal(copy.events.items[0], "e");
	assert_string_equal(copy.tasks.items[0], "t");
	assert_string_equal(copy.stacks.items[0], "f");
	assert_true(vmop_numbers_match(&copy.cpus, 3));
	assert_false(vmop_numbers_match(&copy.cpus, 1));
	assert_true(vmop_numbers_match(&copy.vcpus, 1));
	assert_true(vmop_numbers_match(&copy.tgids, 7));
	assert_true(vmop_numbers_match(&copy.tids, 11));
	assert_true(copy.time.is_set);
}

static void lists_and_globs(void **state)
{
	(void)state;
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	assert_null(vmop_spec_parse(&spec, "domain:host,g*"));
	assert_null(vmop_spec_parse(&spec, "domain:web\\,1"));
	assert_int_equal(spec.domains.n, 3);
	assert_true(vmop_words_match(&spec.domains, "host"));
	assert_true(vmop_words_match(&spec.domains, "g12"));
	assert_true(vmop_words_match(&spec.domains, "web,1"));
	assert_false(vmop_words_match(&spec.domains, "dom0"));
	/* an argument without a tag is an image, also one with a colon in its path */
	assert_null(vmop_spec_parse(&spec, "/usr/bin/a:b"));
	assert_null(vmop_spec_parse(&spec, "libc*"));
	assert_int_equal(spec.images.n, 2);
	/* a malformed glob matches its own text */
	assert_null(vmop_spec_parse(&spec, "task:[idle]"));
	assert_true(vmop_words_match(&spec.tasks, "[idle]"));
}

static void numbers(void **state)
{
	(void)state;
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	assert_null(vmop_spec_parse(&spec, "cpu:0,2-3"));
	assert_true(vmop_numbers_match(&spec.cpus, 0));
	assert_false(vmop_numbers_match(&spec.cpus, 1));
	assert_true(vmop_numbers_match(&spec.cpus, 3));
	assert_false(vmop_numbers_match(&spec.cpus, 4));
	assert_null(vmop_spec_parse(&spec, "tgid:4294967295"));
	assert_true(vmop_numbers_match(&spec.tgids, 4294967295u));
	assert_usage("cpu:x", "'x'", "0,2-3");
	assert_usage("certainty:sure", "'sure'", "ambiguous");
	assert_usage("vcpu:3-1", "'3-1'", "0,2-3");
	assert_usage("tid:-1", "'-1'", "0,2-3");
	assert_usage("tgid:1,,2", "1,,2", "NAME[,NAME...]");
}

static void malformed(void **state)
{
	(void)state;
	assert_usage("imag:foo", "imag:foo", "session: domain: image: event:");
	assert_usage("domain:", "domain:", "NAME[,NAME...]");
	assert_usage("event:a,", "a,", "NAME[,NAME...]");
	assert_usage("time:tomorrow", "time:tomorrow", "yesterday");
	assert_usage("time:now", "time:now", "HH:MM[:SS]");
	assert_usage("time:", "time:", "HH:MM[:SS]");
	assert_usage("time:..", "time:..", "HH:MM[:SS]");
	assert_usage("time:25:00", "time:25:00", "HH:MM[:SS]");
	assert_usage("time:@99999999999999999999", "time:@", "@SECONDS");
	assert_usage("time:@.5", "time:@.5", "@SECONDS");
	assert_usage("time:@1.", "time:@1.", "@SECONDS");
	assert_usage("time:@1.5x", "time:@1.5x", "@SECONDS");
	assert_usage("time:@1.-5", "time:@1.-5", "@SECONDS");
	assert_usage("time:@1.0000000001", "time:@1.0", "@SECONDS");
	assert_usage("time:+1week", "time:+1week", "+DURATION");
}

/* Expect a window in seconds after the session's start; to_s -1: no end. */
static void assert_window(const char *argument, int64_t from_s, int64_t to_s)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	uint64_t from_ns, to_ns, end_ns = start_ns + 3600 * VMOP_NS_PER_S;
	assert_null(vmop_spec_parse(&spec, argument));
	assert_null(vmop_time_window_resolve(&spec.time, start_ns, end_ns, &from_ns, &to_ns));
	uint64_t want_from_ns = start_ns + (uint64_t)(from_s * (int64_t)VMOP_NS_PER_S);
	assert_int_equal(from_ns, from_s == INT64_MIN ? 0 : want_from_ns);
	assert_int_equal(to_ns, to_s < 0 ? 0 : start_ns + (uint64_t)to_s * VMOP_NS_PER_S);
}

static void times(void **state)
{
	(void)state;
	assert_window("time:+60s..+2m", 60, 120);
	assert_window("time:+5m", INT64_MIN, 300);
	assert_window("time:-5m", 3300, -1);
	assert_window("time:-5m..-1m", 3300, 3540);
	assert_window("time:@1772593900", 80, 81);
	assert_window("time:2026-03-04T03:11", 40, 100);
	assert_window("time:2026-03-04T03:11:05..03:12", 45, 100);
	/* on the session's day: the minute of its start, a window that contains it */
	assert_window("time:03:10", -20, 40);
	assert_window("time:03:10:21", 1, 2);
	assert_window("time:03:00..03:20", -620, 580);
	assert_window("time:23:00..04:00", -15020, 2980);
	assert_window("time:..03:20", INT64_MIN, 580);
	/* past for that day: on the next day */
	assert_window("time:02:00..03:00", 82180, 85780);
	assert_window("time:03:30..", 1180, -1);
}

static void fractions_of_seconds(void **state)
{
	(void)state;
	static const struct {
		const char *argument;
		uint64_t from_ns;
	} cases[] = {{"time:@1772593900.000000001..", 80 * VMOP_NS_PER_S + 1},
		     {"time:@1772593900.25..", 80 * VMOP_NS_PER_S + 250000000},
		     {"time:@1772593900.999999999..", 81 * VMOP_NS_PER_S - 1}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
		uint64_t from_ns, to_ns, end_ns = start_ns + 3600 * VMOP_NS_PER_S;
		assert_null(vmop_spec_parse(&spec, cases[i].argument));
		assert_null(vmop_time_window_resolve(&spec.time, start_ns, end_ns, &from_ns, &to_ns));
		assert_int_equal(from_ns, start_ns + cases[i].from_ns);
		assert_int_equal(to_ns, 0);
	}
}

static void time_backwards(void **state)
{
	(void)state;
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	uint64_t from_ns, to_ns;
	assert_null(vmop_spec_parse(&spec, "time:+2m..+1m"));
	struct vmop_error *err =
		vmop_time_window_resolve(&spec.time, start_ns, start_ns, &from_ns, &to_ns);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_its_own),
		cmocka_unit_test(lists_and_globs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(malformed),
		cmocka_unit_test(times),
		cmocka_unit_test(time_backwards),
		cmocka_unit_test(fractions_of_seconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
