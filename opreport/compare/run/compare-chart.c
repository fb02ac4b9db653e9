// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/compare-chart.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/compare/difference.h"

/* Everything that a chart points to. */
struct parts {
	struct vmop_order order;
	struct vmop_chart_category *categories;
	struct vmop_chart_series series[VMOP_SIDES_MAX];
	char *labels[VMOP_SIDES_MAX];
	struct vmop_chart_value *values; /* by side, then by category */
	const char *notes[1];
	char *unit, *losses, *rest;
};

static void parts_deinit(struct parts *parts)
{
	vmop_order_deinit(&parts->order);
	free(parts->categories);
	free(parts->values);
	for (size_t i = 0; i < VMOP_SIDES_MAX; i++)
		free(parts->labels[i]);
	free(parts->unit);
	free(parts->losses);
	free(parts->rest);
}

/* Return the text, or NULL without memory. */
static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *text(const char *format, ...)
{
	char *ret = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&ret, format, args);
	va_end(args);
	return len < 0 ? NULL : ret;
}

static bool is_time(const struct vmop_compare_chart *chart)
{
	enum vmop_per_kind kind = chart->comparison->per.kind;
	return !strcmp(chart->comparison->events[chart->event].unit, "ns") &&
	       (kind == VMOP_PER_TIME || kind == VMOP_PER_UNITS);
}

static char *unit_of(const struct vmop_compare_chart *chart)
{
	const struct vmop_per *per = &chart->comparison->per;
	const char *unit = chart->comparison->events[chart->event].unit;
	unit = is_time(chart) ? "s" : *unit ? unit : "events";
	switch (per->kind) {
	case VMOP_PER_TIME:
		return text("%s per second", unit);
	case VMOP_PER_UNITS:
		return text("%s per unit of work", unit);
	case VMOP_PER_EVENT:
		return text("%s per %s", unit, per->event);
	default:
		return strdup("% of samples, by weight");
	}
}

/* Return "A: lost 12; B: none", or NULL if nothing was lost.  *ret_failed: there is no memory. */
static char *losses_of(const struct vmop_comparison *comparison, bool *ret_failed)
{
	char *ret = NULL;
	size_t len;
	uint64_t all = 0;
	FILE *out = open_memstream(&ret, &len);
	*ret_failed = !out;
	for (size_t s = 0; out && s < comparison->n_sides; s++) {
		const struct vmop_catalog *catalog = &comparison->sides[s].result.catalog;
		uint64_t lost = 0;
		for (size_t i = 0; i < catalog->n_losses; i++)
			lost += catalog->losses[i].count;
		fprintf(out, "%s%" PRIu64 " in %c", s ? ", " : "", lost,
			comparison->sides[s].letter);
		all += lost;
	}
	if (out && fclose(out) != 0)
		*ret_failed = true;
	if (all && !*ret_failed)
		return ret;
	free(ret);
	return NULL;
}

static struct vmop_chart_value value_of(const struct vmop_compare_chart *chart,
					const struct vmop_count *counts, size_t side)
{
	struct vmop_interval of =
		vmop_difference_side(chart->comparison, counts[side], chart->event, side);
	double scale = is_time(chart) ? 1e-9 : 1;
	if (!of.is_known)
		return (struct vmop_chart_value){.is_absent = true};
	return (struct vmop_chart_value){.value = of.value * scale,
					 .low = of.low * scale,
					 .high = of.high * scale,
					 .has_interval = true};
}

/* Name a row by its last name, and by the one before it. */
static struct vmop_chart_category category_of(const struct vmop_compared_row *row)
{
	struct vmop_chart_category ret = {.modes = row->modes};
	for (size_t i = VMOP_N_COMPARED_NAMES; i > 0; i--) {
		if (!row->names[i - 1])
			continue;
		if (!ret.label)
			ret.label = row->names[i - 1];
		else if (!ret.detail)
			ret.detail = row->names[i - 1];
	}
	return ret;
}

static struct vmop_error *fill_categories(struct parts *parts,
					  const struct vmop_compare_chart *chart)
{
	const struct vmop_comparison *comparison = chart->comparison;
	const struct vmop_order *order = &parts->order;
	size_t n = order->n + (order->rest != NULL);
	parts->categories = calloc(n + 1, sizeof(*parts->categories));
	parts->values = calloc(n * comparison->n_sides + 1, sizeof(*parts->values));
	parts->rest = text("%zu more rows", order->n_rest);
	if (!parts->categories || !parts->values || !parts->rest)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_count *counts = order->rest;
		if (i < order->n) {
			const struct vmop_compared_row *row = &comparison->rows[order->rows[i]];
			counts = vmop_comparison_counts(comparison, row, chart->event);
			parts->categories[i] = category_of(row);
		} else {
			parts->categories[i] =
				(struct vmop_chart_category){.label = parts->rest, .is_rest = true};
		}
		for (size_t s = 0; s < comparison->n_sides; s++)
			parts->values[s * n + i] = value_of(chart, counts, s);
	}
	return NULL;
}

static struct vmop_error *fill_series(struct parts *parts, const struct vmop_compare_chart *chart)
{
	const struct vmop_comparison *comparison = chart->comparison;
	for (size_t s = 0; s < comparison->n_sides; s++) {
		const struct vmop_side *side = &comparison->sides[s];
		parts->labels[s] = text("%c: %s", side->letter, side->label);
		if (!parts->labels[s])
			return &vmop_error_no_memory;
		parts->series[s] = (struct vmop_chart_series){
			.label = parts->labels[s],
			.samples = vmop_comparison_all(comparison, chart->event, s).samples};
	}
	return NULL;
}

static struct vmop_error *fill(struct parts *parts, const struct vmop_compare_chart *chart,
			       struct vmop_chart *ret)
{
	bool failed = false;
	struct vmop_ordering ordering = chart->ordering;
	if (!ordering.top || ordering.top >= VMOP_CHART_CATEGORIES_MAX)
		ordering.top = VMOP_CHART_CATEGORIES_MAX - 1;
	struct vmop_error *err =
		vmop_order_init(&parts->order, chart->comparison, chart->event, 0, &ordering);
	if (!err)
		err = fill_categories(parts, chart);
	if (!err)
		err = fill_series(parts, chart);
	if (err)
		return err;
	parts->unit = unit_of(chart);
	parts->losses = losses_of(chart->comparison, &failed);
	if (!parts->unit || failed)
		return &vmop_error_no_memory;
	parts->notes[0] = "marks: 99 % intervals, by the numbers of samples";
	*ret = (struct vmop_chart){
		.kind = chart->kind,
		.title = chart->title,
		.event = chart->comparison->events[chart->event].label,
		.unit = parts->unit,
		.losses = parts->losses,
		.notes = parts->notes,
		.n_notes = 1,
		.categories = parts->categories,
		.n_categories = parts->order.n + (parts->order.rest != NULL),
		.series = parts->series,
		.n_series = chart->comparison->n_sides,
		.values = parts->values,
	};
	for (size_t s = 0; s < ret->n_series; s++)
		ret->samples += ret->series[s].samples;
	return NULL;
}

struct vmop_error *vmop_compare_chart_print(const struct vmop_compare_chart *chart, FILE *out)
{
	_cleanup_(parts_deinit) struct parts parts = {0};
	struct vmop_chart drawn;
	struct vmop_error *err = fill(&parts, chart, &drawn);
	return err ? err : vmop_chart_print(&drawn, &chart->options, out);
}
