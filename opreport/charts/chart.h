// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chart: the numbers and names of a picture, without its layout.
 *
 * Callers: vmopreport.c with the rows of a query, and opreport/compare with those of a comparison,
 * fill in a struct vmop_chart, and chart-output.h draws it.  The structs are open within opreport.
 *
 * BARS and BUBBLES show values[series * n_categories + category]: a group of bars, or a line of
 * circles, for each category, with one bar or circle a series.  Series are what stands side by
 * side: the domains, or the sessions of a comparison.
 *
 * TIMELINE shows values[series * time.n_steps + step], stacked: the shares of the series in each
 * step of time.  There are no categories.
 *
 * HEAT shows values[step] of one series.  Each column of the picture has time.steps_per_column
 * steps, the first one at the bottom.
 *
 * All strings are raw bytes, as everywhere in the readers: the drawing code escapes and shortens
 * them.  A chart refers to strings and arrays of its maker, which must outlive it.
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_H
#define VMOP_OPREPORT_CHARTS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vmop_chart_kind {
	VMOP_CHART_BARS,
	VMOP_CHART_BUBBLES,
	VMOP_CHART_TIMELINE,
	VMOP_CHART_HEAT,
};

/* Bounds.  More is VMOP_ERROR_LIMIT: the chart's maker sums the rest in one category or series. */
#define VMOP_CHART_CATEGORIES_MAX 1000
#define VMOP_CHART_SERIES_MAX 24
#define VMOP_CHART_STEPS_MAX 100000

struct vmop_chart_category {
	const char *label;  /* a function, image, task or domain */
	const char *detail; /* what distinguishes equal labels, such as the image; NULL: nothing */
	uint8_t modes;	    /* bits 1 << enum vmop_mode of its samples: a mark each; 0: no marks */
	bool is_rest; /* sums the rows without a category of their own: drawn grey, and last */
};

struct vmop_chart_series {
	const char *label;
	uint64_t samples; /* of this series, in all categories; 0: not shown */
	bool is_rest;	  /* sums the series that have no place of their own */
};

struct vmop_chart_value {
	double value;	  /* in the chart's unit, finite, >= 0 */
	double low, high; /* interval around value, if has_interval */
	bool has_interval;
	bool is_absent; /* there is no value: not 0, but not measured, or not in that series */
	bool is_coarse; /* TIMELINE, HEAT: from an interval of several steps */
};

struct vmop_chart_time {
	uint64_t start_ns;  /* of the first step, CLOCK_REALTIME */
	uint64_t origin_ns; /* CLOCK_REALTIME: labels count from it, as time:+AFTER-START does */
	uint64_t step_ns;
	size_t n_steps;
	size_t steps_per_column; /* HEAT: at least 1 */
};

struct vmop_chart {
	enum vmop_chart_kind kind;
	const char *title;
	const char *event;  /* name of the event: always shown */
	const char *unit;   /* of the values: "% of samples", "samples", "samples a second" */
	uint64_t samples;   /* that the chart is about, also those of the rest: always shown */
	const char *losses; /* "lost 12, throttled 3"; NULL: "no losses" is shown */
	const char *const
		*notes; /* further lines: session, time, rows that are left out; n_notes */
	size_t n_notes;
	const struct vmop_chart_category
		*categories; /* in the order of the picture; n_categories */
	size_t n_categories;
	const struct vmop_chart_series *series; /* n_series */
	size_t n_series;
	const struct vmop_chart_value *values; /* see above */
	struct vmop_chart_time time; /* TIMELINE, HEAT; start_ns of all: the time in a PDF */
};

#endif
