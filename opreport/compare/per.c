// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/per.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPTED "samples, time, EVENT, or positive numbers N[,N...] of the units done in each side"

static struct vmop_error *parse_units(const char *text, struct vmop_per *ret)
{
	const char *at = text;
	do {
		char *end;
		double units = strtod(at, &end); /* LC_NUMERIC stays "C" */
		if (end == at || (*end && *end != ',') || !isfinite(units) || units <= 0)
			return vmop_error_new(VMOP_ERROR_USAGE, "--per=%s: accepted: " ACCEPTED,
					      text);
		if (ret->n_units == VMOP_SIDES_MAX)
			return vmop_error_new(VMOP_ERROR_USAGE, "--per takes at most %d numbers",
					      VMOP_SIDES_MAX);
		ret->units[ret->n_units++] = units;
		at = *end ? end + 1 : NULL;
	} while (at);
	return NULL;
}

struct vmop_error *vmop_per_parse(const char *text, struct vmop_per *ret)
{
	*ret = (struct vmop_per){0};
	if (!strcmp(text, "samples"))
		return NULL;
	if (!strcmp(text, "time")) {
		ret->kind = VMOP_PER_TIME;
		return NULL;
	}
	if (!*text || strchr("+-.,", *text) || isdigit((unsigned char)*text)) {
		ret->kind = VMOP_PER_UNITS;
		return parse_units(text, ret);
	}
	ret->kind = VMOP_PER_EVENT;
	ret->event = text;
	return NULL;
}

/* Return the events that a sample stands for: in the row, else in the whole side. */
static double events_per_sample(struct vmop_count row, struct vmop_count all)
{
	if (!all.weight_events) /* the event has no weights */
		return 1;
	struct vmop_count of = row.samples ? row : all;
	return (double)of.weight_events / (double)of.samples;
}

/* Return the share of a side's total, whose limits do not leave 0 to 1. */
static struct vmop_interval share(struct vmop_count row, struct vmop_count all, double z)
{
	const double samples = (double)row.samples, of = (double)all.samples;
	struct vmop_interval ret = z > 0 ? vmop_interval_of_share_within(samples, of, z)
					 : vmop_interval_of_share(samples, of);
	if (!all.samples)
		return ret;
	ret = vmop_interval_scale(ret, events_per_sample(row, all) / events_per_sample(all, all));
	ret.value = fmin(ret.value, 1);
	ret.high = fmin(ret.high, 1);
	return ret;
}

struct vmop_interval vmop_per_estimate(enum vmop_per_kind kind, const struct vmop_measure *measure)
{
	const struct vmop_count row = measure->row, all = measure->all, work = measure->work;
	double weight = events_per_sample(row, all);
	if (kind == VMOP_PER_SAMPLES)
		return vmop_interval_scale(share(row, all, measure->z), 100);
	if (kind == VMOP_PER_EVENT && measure->is_work)
		return share(row, all, 0);
	if (kind == VMOP_PER_EVENT)
		return vmop_interval_scale(
			vmop_interval_of_quotient((double)row.samples, (double)work.samples),
			work.samples ? weight / events_per_sample(work, work) : 1);
	if (!(measure->exposure > 0))
		return (struct vmop_interval){0};
	return vmop_interval_scale(vmop_interval_of_count((double)row.samples),
				   weight / measure->exposure);
}
