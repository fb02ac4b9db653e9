// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/time-window.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/local-time.h"
#include "libutil/parse.h"
#include "libutil/time-words.h"

/* The time that a word of the window names, before it is a bound. */
struct named {
	struct vmop_time_bound first, last; /* its readings: see struct vmop_time_words */
	uint64_t end_ns;		    /* of a REAL one */
	uint64_t unit_ns;		    /* of an OF_DAY one */
};

static struct vmop_time_bound real_bound(uint64_t value_ns)
{
	return (struct vmop_time_bound){VMOP_TIME_REAL, value_ns};
}

static bool parse_named(const char *text, uint64_t now_ns, struct named *ret)
{
	struct vmop_time_words words;
	struct vmop_time_bound bound = {VMOP_TIME_OPEN, 0};
	const char *end = text;
	*ret = (struct named){0};
	if (*text == '+' || *text == '-') {
		bound.kind = *text == '+' ? VMOP_TIME_AFTER_START : VMOP_TIME_BEFORE_END;
		if (!vmop_parse_duration_ns(text + 1, &bound.value_ns))
			return false;
	} else if (vmop_time_of_day_parse(text, &end, &bound.value_ns, &ret->unit_ns) && !*end) {
		bound.kind = VMOP_TIME_OF_DAY;
	} else if (*text) {
		if (!vmop_time_words_parse(text, now_ns, &words))
			return false;
		ret->first = real_bound(words.first_ns);
		ret->last = real_bound(words.last_ns);
		ret->end_ns = words.end_ns;
		return true;
	}
	ret->first = ret->last = bound;
	return true;
}

/* Fill a window of one word. */
static bool set_single(struct vmop_time_window *ret, const struct named *named)
{
	struct vmop_time_bound open = {VMOP_TIME_OPEN, 0};
	switch (named->first.kind) {
	case VMOP_TIME_REAL:
		ret->from = named->first;
		ret->to = real_bound(named->end_ns);
		return named->end_ns > named->first.value_ns; /* "now" has no length */
	case VMOP_TIME_AFTER_START:			      /* "+5m": the first five minutes */
		ret->from = open;
		ret->to = named->first;
		return true;
	default:
		ret->from = named->first;
		ret->to = open;
		ret->to_after_from_ns = named->unit_ns;
		return true;
	}
}

bool vmop_time_window_parse(struct vmop_time_window *ret, const char *text, uint64_t now_ns)
{
	_cleanup_free_ char *copy = strdup(text);
	struct named from, to;
	if (!copy || !*copy || !strcmp(text, ".."))
		return false;
	*ret = (struct vmop_time_window){.is_set = true};
	char *dots = strstr(copy, "..");
	if (dots)
		*dots = '\0';
	if (!parse_named(copy, now_ns, &from))
		return false;
	if (!dots)
		return set_single(ret, &from);
	if (!parse_named(dots + 2, now_ns, &to))
		return false;
	ret->from = from.first;
	ret->to = to.last;
	return true;
}

bool vmop_time_window_is_absolute(const struct vmop_time_window *window, uint64_t *ret_from_ns,
				  uint64_t *ret_to_ns)
{
	const enum vmop_time_kind from = window->from.kind, to = window->to.kind;
	*ret_from_ns = *ret_to_ns = 0;
	if (!window->is_set || window->to_after_from_ns ||
	    (from != VMOP_TIME_REAL && from != VMOP_TIME_OPEN) ||
	    (to != VMOP_TIME_REAL && to != VMOP_TIME_OPEN && to != VMOP_TIME_OF_DAY) ||
	    (from == VMOP_TIME_OPEN && to != VMOP_TIME_REAL))
		return false;
	struct vmop_error *err =
		vmop_time_window_resolve(window, 0, UINT64_MAX, ret_from_ns, ret_to_ns);
	bool is_valid = !err;
	vmop_error_destroy(err);
	return is_valid;
}

/* ---- bounds ---------------------------------------------------------------------- */

/*
 * Return of_day_ns on the local day of near_ns plus days; is_end: its last reading where clocks
 * are set back.
 */
static uint64_t time_of_day(uint64_t near_ns, int days, uint64_t of_day_ns, bool is_end)
{
	time_t seconds = (time_t)(near_ns / VMOP_NS_PER_S);
	struct tm tm;
	uint64_t first_ns, last_ns;
	if (!localtime_r(&seconds, &tm))
		return near_ns;
	const struct tm wanted = {.tm_year = tm.tm_year,
				  .tm_mon = tm.tm_mon,
				  .tm_mday = tm.tm_mday + days,
				  .tm_sec = (int)(of_day_ns / VMOP_NS_PER_S)};
	if (!vmop_local_to_real(&wanted, &first_ns, &last_ns))
		return near_ns;
	return (is_end ? last_ns : first_ns) + of_day_ns % VMOP_NS_PER_S;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Return the time of a bound that is no time of day, or open_ns if it is open. */
static uint64_t bound_resolve(struct vmop_time_bound bound, uint64_t start_ns, uint64_t end_ns,
			      uint64_t open_ns)
{
	switch (bound.kind) {
	case VMOP_TIME_REAL:
		return bound.value_ns;
	case VMOP_TIME_AFTER_START:
		return add(start_ns, bound.value_ns);
	case VMOP_TIME_BEFORE_END:
		return end_ns > bound.value_ns ? end_ns - bound.value_ns : 1;
	default:
		return open_ns;
	}
}

/* Return TO for a given FROM: a time of day is the first one after FROM.  0: no end. */
static uint64_t resolve_to(const struct vmop_time_window *window, uint64_t start_ns,
			   uint64_t end_ns, uint64_t from_ns)
{
	if (window->to_after_from_ns)
		return add(from_ns, window->to_after_from_ns);
	if (window->to.kind != VMOP_TIME_OF_DAY)
		return bound_resolve(window->to, start_ns, end_ns, 0);
	uint64_t after_ns = from_ns ? from_ns : start_ns;
	uint64_t to_ns = time_of_day(after_ns, 0, window->to.value_ns, true);
	return to_ns > after_ns ? to_ns : time_of_day(after_ns, 1, window->to.value_ns, true);
}

/* Return FROM on the first day on which FROM..TO, or FROM if TO is open, overlaps the sessions. */
static uint64_t resolve_from_of_day(const struct vmop_time_window *window, uint64_t start_ns,
				    uint64_t end_ns)
{
	for (int days = -1; days <= 1; days++) {
		uint64_t from_ns = time_of_day(start_ns, days, window->from.value_ns, false);
		uint64_t to_ns = resolve_to(window, start_ns, end_ns, from_ns);
		if (to_ns ? to_ns > start_ns : from_ns >= start_ns && from_ns < end_ns)
			return from_ns;
	}
	return time_of_day(start_ns, 0, window->from.value_ns, false);
}

struct vmop_error *vmop_time_window_resolve(const struct vmop_time_window *window,
					    uint64_t start_ns, uint64_t end_ns,
					    uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	*ret_from_ns = *ret_to_ns = 0;
	if (!window->is_set)
		return NULL;
	uint64_t from_ns = window->from.kind == VMOP_TIME_OF_DAY
				   ? resolve_from_of_day(window, start_ns, end_ns)
				   : bound_resolve(window->from, start_ns, end_ns, 0);
	uint64_t to_ns = resolve_to(window, start_ns, end_ns, from_ns);
	if (to_ns && to_ns <= from_ns)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"time: ends before it begins; give FROM..TO, FROM the earlier");
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return NULL;
}
