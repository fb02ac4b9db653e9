// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/rate-history.h"
#include "libutil/clock.h"

static const struct vmop_event_info clock_event = {.unit = "ns", .period_events = 250000},
				    by_frequency = {.unit = "events", .frequency_hz = 999},
				    by_period = {.unit = "events", .period_events = 100003};

/* 2026-11-23 22:00:00 UTC and some seconds */
static uint64_t at(unsigned seconds)
{
	return (UINT64_C(1795471200) + seconds) * VMOP_NS_PER_S;
}

static void expect(const struct vmop_rate_history *history, const struct vmop_event_info *event,
		   const char *want)
{
	char *note = vmop_rate_history_note(history, event);
	assert_non_null(note);
	assert_string_equal(note, want);
	free(note);
}

static void spans_in_words(void **state)
{
	(void)state;
	struct vmop_rate_history history = {0};
	assert_null(vmop_rate_history_note(&history, &clock_event));
	vmop_rate_history_change(&history, at(0), 4);
	expect(&history, &clock_event,
	       "rate lowered from 4000 Hz to 1000 Hz since 2026-11-23 22:00:00 UTC (max-overhead; "
	       "weights make up for it)");
	vmop_rate_history_change(&history, at(61), 1);
	expect(&history, &clock_event,
	       "rate lowered from 4000 Hz to 1000 Hz between 2026-11-23 22:00:00 and 2026-11-23 "
	       "22:01:01 UTC (max-overhead; weights make up for it)");
	vmop_rate_history_change(&history, at(70), 2);
	expect(&history, &by_frequency,
	       "rate lowered from 999 Hz to 249.8 Hz between 2026-11-23 22:00:00 and 2026-11-23 "
	       "22:01:01 UTC, to 499.5 Hz since 2026-11-23 22:01:10 UTC (max-overhead; weights "
	       "make up for it)");
	/* A new file knows only the rate that goes on. */
	vmop_rate_history_begin_file(&history, at(80));
	expect(&history, &by_period,
	       "rate lowered from one every 100003 events to one every 200006 events since "
	       "2026-11-23 22:01:20 UTC (max-overhead; weights make up for it)");
	vmop_rate_history_change(&history, at(90), 1);
	vmop_rate_history_begin_file(&history, at(100));
	assert_null(vmop_rate_history_note(&history, &clock_event));
}

static void months_of_changes_stay_short(void **state)
{
	(void)state;
	struct vmop_rate_history history = {0};
	for (unsigned i = 0; i < 100000; i++)
		vmop_rate_history_change(&history, at(i), i % 2 ? 1 : 64);
	assert_int_equal(history.n + history.n_older, 50000);
	char *note = vmop_rate_history_note(&history, &clock_event);
	assert_non_null(strstr(note, "and 49996 times before, for 49996 s in all"));
	assert_true(strlen(note) < 600);
	free(note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_in_words),
		cmocka_unit_test(months_of_changes_stay_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
