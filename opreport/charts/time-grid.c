// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/time-grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/charts/chart.h"
#include "opreport/charts/scale.h"

#define GOOD_STEPS 180	/* of a timeline, at most */
#define COLUMNS_MAX 240 /* of a heat map: three pixels each */

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)

/* The rows and columns of heat maps. */
static const struct {
	uint64_t step_ns;
	size_t per_column;
} heats[] = {{VMOP_NS_PER_S / 10, 10}, {VMOP_NS_PER_S, 60}, {10 * VMOP_NS_PER_S, 60},
	     {MINUTE_NS, 60},	       {HOUR_NS, 24},	    {DAY_NS, 7},
	     {7 * DAY_NS, 53}};

#define N_HEATS (sizeof(heats) / sizeof(*heats))

struct length {
	uint64_t longest_ns, covers_ns;
};

static int compare_lengths(const void *a, const void *b)
{
	const struct length *x = a, *y = b;
	return (x->longest_ns > y->longest_ns) - (x->longest_ns < y->longest_ns);
}

/* Set *ret_ns to the length of interval by which half of the time is stored, or finer. */
static struct vmop_error *find_detail(const struct vmop_time_slots *slots, uint64_t *ret_ns)
{
	_cleanup_free_ struct length *lengths = calloc(slots->n, sizeof(*lengths));
	if (!lengths)
		return &vmop_error_no_memory;
	uint64_t all_ns = 0, sum_ns = 0;
	for (size_t i = 0; i < slots->n; i++) {
		const struct vmop_time_slot *slot = &slots->items[i];
		lengths[i] = (struct length){slot->longest_ns, slot->to_ns - slot->from_ns};
		all_ns += lengths[i].covers_ns / slots->n; /* it cannot overflow */
	}
	qsort(lengths, slots->n, sizeof(*lengths), compare_lengths);
	*ret_ns = lengths[slots->n - 1].longest_ns;
	for (size_t i = 0; i < slots->n; i++) {
		sum_ns += lengths[i].covers_ns / slots->n;
		if (sum_ns >= all_ns / 2) {
			*ret_ns = lengths[i].longest_ns;
			break;
		}
	}
	return NULL;
}

/* Set the bounds of the slots within [from_ns, to_ns). */
static void find_bounds(const struct vmop_time_slots *slots, uint64_t from_ns, uint64_t to_ns,
			uint64_t *ret_first_ns, uint64_t *ret_last_ns)
{
	*ret_first_ns = UINT64_MAX;
	*ret_last_ns = 0;
	for (size_t i = 0; i < slots->n; i++) {
		const struct vmop_time_slot *slot = &slots->items[i];
		*ret_first_ns = slot->from_ns < *ret_first_ns ? slot->from_ns : *ret_first_ns;
		*ret_last_ns = slot->to_ns > *ret_last_ns ? slot->to_ns : *ret_last_ns;
	}
	if (*ret_first_ns < from_ns)
		*ret_first_ns = from_ns;
	if (to_ns && *ret_last_ns > to_ns)
		*ret_last_ns = to_ns;
}

/* Choose step_ns and steps_per_column. */
static void choose_step(struct vmop_time_grid *grid, uint64_t span_ns, bool is_heat)
{
	/* Intervals are a little longer or shorter than they should be. */
	uint64_t detail_ns = grid->finest_ns - grid->finest_ns / 10;
	if (!is_heat) {
		uint64_t least_ns = span_ns / GOOD_STEPS;
		grid->step_ns =
			vmop_scale_time_step(least_ns > detail_ns ? least_ns : detail_ns, 0);
		return;
	}
	size_t i = 0;
	while (i + 1 < N_HEATS && (heats[i].step_ns < detail_ns ||
				   span_ns / heats[i].step_ns / heats[i].per_column >= COLUMNS_MAX))
		i++;
	/* A picture of few columns would be thin. */
	grid->step_ns = heats[i].step_ns;
	grid->steps_per_column = heats[i].per_column;
	if (grid->steps_per_column == 60 && span_ns <= 10 * 60 * grid->step_ns)
		grid->steps_per_column = 10;
}

/* Find which steps the slots cover, and how finely. */
static void cover(struct vmop_time_grid *grid, const struct vmop_time_slots *slots)
{
	for (size_t i = 0; i < slots->n; i++) {
		const struct vmop_time_slot *slot = &slots->items[i];
		double span_ns = (double)(slot->to_ns - slot->from_ns);
		vmop_time_grid_spread(grid, slot, span_ns, grid->covered_ns);
		if (slot->longest_ns <= grid->step_ns + grid->step_ns / 2)
			continue;
		uint64_t after_ns =
			slot->from_ns > grid->start_ns ? slot->from_ns - grid->start_ns : 0;
		for (uint64_t step = after_ns / grid->step_ns; step < grid->n_steps; step++) {
			if (grid->start_ns + step * grid->step_ns >= slot->to_ns)
				break;
			grid->is_coarse[step] = true;
		}
	}
}

static void write_note(struct vmop_time_grid *grid, const struct vmop_time_slots *slots)
{
	uint64_t longest_ns = 0;
	char length[VMOP_SCALE_TEXT_BYTES], step[VMOP_SCALE_TEXT_BYTES];
	size_t n_coarse = 0;
	for (size_t i = 0; i < grid->n_steps; i++)
		n_coarse += grid->is_coarse[i];
	if (!n_coarse)
		return;
	for (size_t i = 0; i < slots->n; i++)
		longest_ns = slots->items[i].longest_ns > longest_ns ? slots->items[i].longest_ns
								     : longest_ns;
	vmop_scale_time((longest_ns + VMOP_NS_PER_S / 2) / VMOP_NS_PER_S * VMOP_NS_PER_S, length);
	vmop_scale_time(grid->step_ns, step);
	snprintf(grid->note, sizeof(grid->note),
		 "above the grey line samples are stored by intervals of up to %s, and spread "
		 "evenly over steps of %s",
		 length, step);
}

struct vmop_error *vmop_time_grid_init(struct vmop_time_grid *ret,
				       const struct vmop_time_slots *slots, uint64_t origin_ns,
				       uint64_t from_ns, uint64_t to_ns, bool is_heat)
{
	*ret = (struct vmop_time_grid){.origin_ns = origin_ns};
	uint64_t first_ns, last_ns;
	find_bounds(slots, from_ns, to_ns, &first_ns, &last_ns);
	if (!slots->n || last_ns <= first_ns)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no time to draw a chart of");
	struct vmop_error *err = find_detail(slots, &ret->finest_ns);
	if (err)
		return err;
	if (ret->origin_ns > first_ns)
		ret->origin_ns = first_ns; /* a damaged session */
	choose_step(ret, last_ns - first_ns, is_heat);
	uint64_t column_ns = ret->step_ns * (is_heat ? ret->steps_per_column : 1);
	uint64_t before = (first_ns - ret->origin_ns) / column_ns;
	ret->start_ns = ret->origin_ns + before * column_ns;
	uint64_t n_steps = (last_ns - ret->start_ns - 1) / ret->step_ns + 1;
	if (n_steps > VMOP_CHART_STEPS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "the session is too long for a chart; time: selects a part");
	ret->n_steps = (size_t)n_steps;
	ret->covered_ns = calloc(ret->n_steps, sizeof(*ret->covered_ns));
	ret->is_coarse = calloc(ret->n_steps, sizeof(*ret->is_coarse));
	if (!ret->covered_ns || !ret->is_coarse)
		return &vmop_error_no_memory;
	cover(ret, slots);
	write_note(ret, slots);
	return NULL;
}

void vmop_time_grid_deinit(struct vmop_time_grid *grid)
{
	free(grid->covered_ns);
	free(grid->is_coarse);
}

void vmop_time_grid_spread(const struct vmop_time_grid *grid, const struct vmop_time_slot *slot,
			   double value, double *values)
{
	double step_ns = (double)grid->step_ns;
	double from = (double)(int64_t)(slot->from_ns - grid->start_ns) / step_ns;
	double to = (double)(int64_t)(slot->to_ns - grid->start_ns) / step_ns, span = to - from;
	if (!(span > 0))
		return;
	/* An interval that is a little late belongs to its step: its neighbour gets no edge of it.
	 */
	double edge = 0.25 * (span < 1 ? span : 1);
	double first = fmax(floor(from), 0), last = fmin(ceil(to), (double)grid->n_steps);
	double sum = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (double step = first; step < last; step++) {
			double part = fmin(to, step + 1) - fmax(from, step);
			if (part < edge)
				continue;
			if (pass)
				values[(size_t)step] += value * part / sum;
			else
				sum += part;
		}
	}
}

const char *vmop_time_grid_note(const struct vmop_time_grid *grid)
{
	return grid->note[0] ? grid->note : NULL;
}
