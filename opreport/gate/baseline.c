// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/local-time.h"
#include "libutil/parse.h"
#include "opreport/compare/side-words.h"
#include "opreport/gate/shares-json.h"

#define BEFORE "before:"

/* A time of 23 hours is a whole day where clocks are set forward. */
#define WHOLE_DAY_NS (23 * 3600 * VMOP_NS_PER_S)

/* ---- words --------------------------------------------------------------------------- */

static struct vmop_error *parse_days(const char *text, int *ret)
{
	_cleanup_free_ char *number = strdup(text + strlen(BEFORE));
	uint64_t days = 0;
	if (!number)
		return &vmop_error_no_memory;
	size_t len = strlen(number);
	bool is_days = len && number[len - 1] == 'd';
	if (is_days)
		number[len - 1] = '\0';
	if (!is_days || !vmop_parse_u64(number, 10, &days) || !days ||
	    days > VMOP_BASELINE_DAYS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "'%s': accepted: before:1d to before:%dd, the same hours on "
				      "so many days before",
				      text, VMOP_BASELINE_DAYS_MAX);
	*ret = (int)days;
	return NULL;
}

static bool is_days(const char *text)
{
	return !strncmp(text, BEFORE, strlen(BEFORE));
}

/* Return whether the text is specs: it begins with a tag. */
static bool is_specs(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	return len && text[len] == ':';
}

static bool begins_with(const char *word, const char *tag)
{
	return !strncmp(word, tag, strlen(tag));
}

/* Split specs into words.  "time:last 2h" has a blank: a word that is no spec continues one. */
static struct vmop_error *split(const char *text, struct vmop_words *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words parts = {0};
	struct vmop_error *err = vmop_side_words_split(text, false, &parts);
	for (size_t i = 0; i < parts.n && !err; i++) {
		char *joined = NULL;
		char **last = ret->n ? &ret->items[ret->n - 1] : NULL;
		if (!last || is_specs(parts.items[i]) || !begins_with(*last, "time:")) {
			err = vmop_words_parse(ret, "baseline", "x");
			if (err)
				return err;
			last = &ret->items[ret->n - 1];
			joined = strdup(parts.items[i]);
		} else if (asprintf(&joined, "%s %s", *last, parts.items[i]) < 0) {
			joined = NULL;
		}
		if (!joined)
			return &vmop_error_no_memory;
		free(*last);
		*last = joined;
	}
	return err;
}

struct vmop_error *vmop_baseline_check(const char *text)
{
	int days;
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	if (is_days(text))
		return parse_days(text, &days);
	if (!is_specs(text))
		return NULL;
	struct vmop_error *err = split(text, &words);
	for (size_t i = 0; i < words.n && !err; i++)
		err = vmop_spec_parse(&spec, words.items[i]);
	return err ? vmop_error_prefix(err, "baseline") : NULL;
}

/* ---- sessions ------------------------------------------------------------------------ */

/* Parse the common specs that the baseline does not replace. */
static struct vmop_error *parse_common(const struct vmop_side_words *common, bool without_session,
				       bool without_time, struct vmop_spec *ret)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < common->n && !err; i++) {
		const char *word = common->items[i];
		/* The report's archive is that of the request. */
		if (begins_with(word, VMOP_SPEC_ARCHIVE) ||
		    (without_session && begins_with(word, "session:")) ||
		    (without_time && begins_with(word, "time:")))
			continue;
		err = vmop_spec_parse(ret, word);
	}
	return err;
}

static struct vmop_error *parse_specs(const struct vmop_baseline_request *request,
				      struct vmop_spec *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words own = {0};
	bool has_session = false, has_time = false;
	struct vmop_error *err = split(request->text, &own);
	for (size_t i = 0; i < own.n && !err; i++) {
		has_session |= begins_with(own.items[i], "session:");
		has_time |= begins_with(own.items[i], "time:");
	}
	if (!err)
		err = parse_common(&request->common, has_session, has_session || has_time, ret);
	for (size_t i = 0; i < own.n && !err; i++)
		err = vmop_spec_parse(ret, own.items[i]);
	return err;
}

/* Set the shares' periods to those of a result. */
static void take_periods(const struct vmop_shares *shares, const struct vmop_result *result)
{
	for (size_t e = 0; e < result->n_events; e++) {
		const struct vmop_event_item *item = vmop_result_event(result, e);
		size_t at = vmop_shares_find_event(shares, item->label, item->unit, item->asked);
		if (at == SIZE_MAX)
			continue;
		shares->events[at].period_events = item->period_events;
		shares->events[at].frequency_hz = item->frequency_hz;
	}
}

static struct vmop_error *other_period(const struct vmop_shares_event *baseline,
				       const struct vmop_shares_event *now)
{
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "the baseline sampled %s with period %" PRIu64 " and frequency "
			      "%" PRIu64 " Hz, the report with %" PRIu64 " and %" PRIu64
			      " Hz; --fail-if-changed=...,normalised compares their shares",
			      now->name, baseline->period_events, baseline->frequency_hz,
			      now->period_events, now->frequency_hz);
}

static struct vmop_error *compare_periods(const struct vmop_shares *baseline,
					  const struct vmop_shares *now)
{
	for (size_t e = 0; e < now->n_events; e++) {
		const struct vmop_shares_event *a = &baseline->events[e], *b = &now->events[e];
		if (a->period_events != b->period_events || a->frequency_hz != b->frequency_hz)
			return other_period(a, b);
	}
	return NULL;
}

/* Add the samples of a spec.  Sets *ret_found to false if there are none. */
static struct vmop_error *add_spec(struct vmop_shares *shares,
				   const struct vmop_baseline_request *request,
				   struct vmop_spec *spec, const struct vmop_shares *now,
				   bool *ret_found)
{
	struct vmop_sessions sessions = {0};
	struct vmop_result result = {0};
	spec->session_dir = request->session_dir;
	if (!spec->archive)
		spec->archive = vmop_archive_share(request->archive);
	struct vmop_error *err = vmop_sessions_open(spec, &sessions);
	if (!err)
		err = vmop_query_run(&request->query, spec, sessions.items, sessions.n, &result);
	vmop_sessions_deinit(&sessions);
	*ret_found = !err;
	if (err && err->code == VMOP_ERROR_NOT_FOUND) {
		vmop_error_destroy(err);
		err = NULL;
	} else if (!err) {
		take_periods(shares, &result);
		err = request->normalised ? NULL : compare_periods(shares, now);
		if (!err)
			err = vmop_shares_add_result(shares, &result);
	}
	vmop_result_deinit(&result);
	return err;
}

static struct vmop_error *load_specs(struct vmop_shares *ret,
				     const struct vmop_baseline_request *request,
				     const struct vmop_shares *now)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	bool found;
	struct vmop_error *err = parse_specs(request, &spec);
	if (!err)
		err = add_spec(ret, request, &spec, now, &found);
	if (!err && !found)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "nothing to compare: the baseline (%s) has no such samples; "
				      "--list-sessions shows what there is",
				      request->text);
	return err;
}

/* ---- the days before ------------------------------------------------------------------ */

/* Return the time that local clocks showed so many days before. */
static uint64_t days_before(uint64_t time_ns, int days, bool is_end)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	uint64_t first_ns, last_ns;
	if (!localtime_r(&seconds, &tm))
		return 0;
	tm.tm_mday -= days;
	if (!vmop_local_to_real(&tm, &first_ns, &last_ns))
		return 0;
	return (is_end ? last_ns : first_ns) + time_ns % VMOP_NS_PER_S;
}

static struct vmop_error *add_window(struct vmop_shares *shares,
				     const struct vmop_baseline_request *request, uint64_t from_ns,
				     uint64_t to_ns, const struct vmop_shares *now, bool *any)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	bool found = false;
	if (to_ns <= from_ns)
		return NULL;
	struct vmop_error *err = parse_common(&request->common, true, true, &spec);
	spec.time = (struct vmop_time_window){
		.is_set = true, .from = {VMOP_TIME_REAL, from_ns}, .to = {VMOP_TIME_REAL, to_ns}};
	if (!err)
		err = add_spec(shares, request, &spec, now, &found);
	*any |= found;
	return err;
}

static struct vmop_error *load_days(struct vmop_shares *ret,
				    const struct vmop_baseline_request *request,
				    const struct vmop_shares *now)
{
	const uint64_t from_ns = request->from_ns, to_ns = request->to_ns;
	int days = 0;
	bool any = false;
	struct vmop_error *err = parse_days(request->text, &days);
	if (!err && to_ns - from_ns >= WHOLE_DAY_NS)
		err = add_window(ret, request, days_before(from_ns, days, false), from_ns, now,
				 &any);
	for (int day = 1; day <= days && !err && to_ns - from_ns < WHOLE_DAY_NS; day++)
		err = add_window(ret, request, days_before(from_ns, day, false),
				 days_before(to_ns, day, true), now, &any);
	if (!err && !any)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"nothing to compare: no session has samples of the same hours "
			"on %d days before; --list-sessions shows what there is",
			days);
	return err;
}

/* ---- any ----------------------------------------------------------------------------- */

static struct vmop_error *check_events(const struct vmop_shares *baseline,
				       const struct vmop_shares *now, const char *text)
{
	for (size_t e = 0; e < now->n_events; e++)
		if (baseline->events[e].all.samples && now->events[e].all.samples)
			return NULL;
	return vmop_error_new(
		VMOP_ERROR_USAGE,
		"nothing to compare: the baseline (%s) has no samples of %s%s; record "
		"both with the same event",
		text, now->events[0].name, now->n_events > 1 ? " and the others" : "");
}

struct vmop_error *vmop_baseline_load(struct vmop_shares *ret,
				      const struct vmop_baseline_request *request,
				      const struct vmop_shares *now)
{
	struct vmop_error *err;
	*ret = (struct vmop_shares){0};
	if (is_days(request->text) || is_specs(request->text)) {
		err = vmop_shares_init_like(ret, now);
		if (!err)
			err = is_days(request->text) ? load_days(ret, request, now)
						     : load_specs(ret, request, now);
		vmop_shares_merge(ret);
	} else {
		err = vmop_shares_of_file(ret, request->text, now);
		if (!err && !request->normalised)
			err = compare_periods(ret, now);
	}
	return err ? err : check_events(ret, now, request->text);
}
