// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/time-words.h"

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "libutil/clock.h"

/* Monday, 2026-11-23 12:34:56 UTC, when Berlin's clocks show 13:34:56. */
static const uint64_t now_ns = UINT64_C(1795437296) * 1000000000;

/* The words name [from_s, to_s) since 2026-11-23 00:00 in Berlin. */
static void assert_words(const char *text, int64_t from_s, int64_t to_s)
{
	const int64_t midnight_s = 1795388400;
	struct vmop_time_words words;
	if (!vmop_time_words_parse(text, now_ns, &words))
		fail_msg("%s", text);
	int64_t first_s = (int64_t)(words.first_ns / VMOP_NS_PER_S) - midnight_s;
	int64_t end_s = (int64_t)(words.end_ns / VMOP_NS_PER_S) - midnight_s;
	if (first_s != from_s || end_s != to_s)
		fail_msg("%s: %" PRId64 " to %" PRId64, text, first_s, end_s);
}

static void words(void **state)
{
	(void)state;
	const int64_t day = 86400, hour = 3600;
	assert_words("today", 0, day);
	assert_words("Yesterday", -day, 0);
	assert_words("now", 13 * hour + 34 * 60 + 56, 13 * hour + 34 * 60 + 56);
	assert_words("last 2h", 11 * hour + 34 * 60 + 56, 13 * hour + 34 * 60 + 56);
	assert_words("last 90s", 13 * hour + 33 * 60 + 26, 13 * hour + 34 * 60 + 56);
	assert_words("monday", 0, day);
	assert_words("last monday", -7 * day, -6 * day);
	assert_words("Sun", -day, 0);
	assert_words("last sunday", -day, 0);
	assert_words("tuesday", -6 * day, -5 * day);
	assert_words("yesterday 03:00", -day + 3 * hour, -day + 3 * hour + 60);
	assert_words("yesterdayT03:00:05", -day + 3 * hour + 5, -day + 3 * hour + 6);
	assert_words("today 24:00", day, day + 60);
	assert_words("@1795388401", 1, 2);
}

static void dates(void **state)
{
	(void)state;
	const int64_t day = 86400, hour = 3600;
	assert_words("2026-11-23", 0, day);
	assert_words("2026-11-22T23:59:60", 0, 1);
	assert_words("2026-11-23 03:00", 3 * hour, 3 * hour + 60);
	assert_words("2026-11-23T03:00Z", 4 * hour, 4 * hour + 60);
	assert_words("2026-11-23T03:00:00+01:00", 3 * hour, 3 * hour + 1);
	assert_words("2026-11-23T03:00-0530", 9 * hour + 1800, 9 * hour + 1800 + 60);
	assert_words("2026-11-23T03:00+14", -10 * hour, -10 * hour + 60);
	/* summer time ended on 2026-10-25: that day had 25 hours, and its date is one day */
	struct vmop_time_words of;
	assert_true(vmop_time_words_parse("2026-10-25", now_ns, &of));
	assert_int_equal((of.end_ns - of.first_ns) / VMOP_NS_PER_S, 25 * hour);
	assert_true(vmop_time_words_parse("2026-10-25T02:30", now_ns, &of));
	assert_int_equal(of.last_ns - of.first_ns, hour * (int64_t)VMOP_NS_PER_S);
	assert_int_equal(of.end_ns - of.last_ns, 60 * VMOP_NS_PER_S);
	assert_true(vmop_time_words_parse("2026-10-25T02:30+02:00", now_ns, &of));
	assert_int_equal(of.last_ns, of.first_ns);
	assert_true(vmop_time_words_parse("2026-11-23T03:00:00.25Z", now_ns, &of));
	assert_int_equal(of.first_ns % VMOP_NS_PER_S, 250000000);
	assert_true(vmop_time_words_parse("2262-01-01", now_ns, &of));
}

static void malformed(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"tomorrow",
		"yester",
		"yesterdayy",
		"last",
		"last hour",
		"last 2w",
		"last 99999999d",
		"last yesterday",
		"mo",
		"mondays",
		"monday 3",
		"yesterday 25:00",
		"yesterday 3:00Z",
		"yesterday03:00",
		"2026-13-01",
		"2026-02-29",
		"2026-11-31",
		"2026-11-23T",
		"2026-11-23T24:01",
		"2026-11-23T03:60",
		"2026-11-23T03:00:61",
		"2026-11-23T03:00+1",
		"2026-11-23T03:00+24",
		"2026-11-23T03:00+01:60",
		"2026-11-23T03:00Z1",
		"2026-11-23T03:00:00.",
		"2026-11-23Z",
		"2300-01-01",
		"9999-12-31T23:59:59Z",
		"1969-12-31T23:59:59Z",
		"0000-01-01",
		"@",
		"@-1",
		"@9999999999999",
		"now now",
	};
	struct vmop_time_words ret;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (vmop_time_words_parse(texts[i], now_ns, &ret))
			fail_msg("accepted: '%s'", texts[i]);
}

int main(void)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(dates),
		cmocka_unit_test(malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
