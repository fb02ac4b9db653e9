// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "opreport/charts/figures.h"
#include "opreport/charts/scale.h"
#include "opreport/charts/time-axis.h"

#define GOOD_HEIGHT 300.0
#define MIN_HEIGHT 40.0
#define LEFT 36.0  /* for the shares */
#define RIGHT 26.0 /* for half of the last label */

struct timeline {
	struct vmop_chart_page *page;
	struct vmop_box plot;
};

static const struct vmop_chart_value *value_of(const struct timeline *timeline, size_t series,
					       size_t step)
{
	const struct vmop_chart *chart = timeline->page->chart;
	return &chart->values[series * chart->time.n_steps + step];
}

/* Return the sum of the series [0, n_series) in a step, or -1 if the step has no values. */
static double sum_of(const struct timeline *timeline, size_t n_series, size_t step)
{
	double sum = 0;
	if (value_of(timeline, 0, step)->is_absent)
		return -1;
	for (size_t i = 0; i < n_series; i++)
		sum += value_of(timeline, i, step)->value;
	return sum;
}

static double x_of(const struct timeline *timeline, size_t step)
{
	double n = (double)timeline->page->chart->time.n_steps;
	return timeline->plot.x + (double)step / n * timeline->plot.width;
}

/* Return the place of the upper edge of the series below n_series, in a step with samples. */
static double y_of(const struct timeline *timeline, size_t n_series, size_t step)
{
	double all = sum_of(timeline, timeline->page->chart->n_series, step);
	double share = sum_of(timeline, n_series, step) / all;
	return timeline->plot.y + (1 - share) * timeline->plot.height;
}

/* Draw a series over the steps [from, to), all of which have samples. */
static void draw_stretch(const struct timeline *timeline, size_t series, size_t from, size_t to)
{
	struct vmop_picture *picture = timeline->page->picture;
	vmop_picture_begin(picture, VMOP_SHAPE_POLYGON,
			   vmop_chart_page_fill(timeline->page, series));
	for (size_t step = from; step < to; step++) {
		double y = y_of(timeline, series + 1, step);
		vmop_picture_point(picture, x_of(timeline, step), y);
		vmop_picture_point(picture, x_of(timeline, step + 1), y);
	}
	for (size_t step = to; step-- > from;) {
		double y = y_of(timeline, series, step);
		vmop_picture_point(picture, x_of(timeline, step + 1), y);
		vmop_picture_point(picture, x_of(timeline, step), y);
	}
}

/* Draw all series, with gaps where there are no samples. */
static void draw_series(const struct timeline *timeline)
{
	const struct vmop_chart *chart = timeline->page->chart;
	for (size_t from = 0, to; from < chart->time.n_steps; from = to + 1) {
		for (to = from;
		     to < chart->time.n_steps && sum_of(timeline, chart->n_series, to) > 0; to++)
			;
		for (size_t i = 0; i < chart->n_series && to > from; i++)
			draw_stretch(timeline, i, from, to);
	}
}

/* Mark below the plot the steps whose samples are known only for longer intervals. */
static void draw_coarse(const struct timeline *timeline)
{
	const struct vmop_chart *chart = timeline->page->chart;
	double bottom = timeline->plot.y + timeline->plot.height;
	for (size_t from = 0, to; from < chart->time.n_steps; from = to + 1) {
		for (to = from; to < chart->time.n_steps && value_of(timeline, 0, to)->is_coarse;
		     to++)
			;
		if (to > from)
			vmop_picture_line(timeline->page->picture,
					  (struct vmop_point){x_of(timeline, from), bottom + 1.5},
					  (struct vmop_point){x_of(timeline, to), bottom + 1.5},
					  vmop_color_faint, 3);
	}
}

static void draw_shares(const struct timeline *timeline, double line_height)
{
	const struct vmop_box *plot = &timeline->plot;
	unsigned n = plot->height > 5 * line_height ? 4 : 2;
	for (unsigned i = 0; i <= n; i++) {
		char text[16];
		double y = plot->y + plot->height * (1 - (double)i / n);
		snprintf(text, sizeof(text), "%u %%", 100 * i / n);
		vmop_picture_line(timeline->page->picture, (struct vmop_point){plot->x - 3, y},
				  (struct vmop_point){plot->x, y}, vmop_color_text, 0.5);
		vmop_picture_text(timeline->page->picture, text,
				  (struct vmop_point){plot->x - 5, y - line_height / 2}, LEFT - 5,
				  VMOP_ALIGN_RIGHT, &vmop_text_small);
	}
}

struct vmop_error *vmop_figure_timeline(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	struct timeline timeline = {.page = page};
	vmop_chart_page_legend(page);
	double line_height = vmop_picture_line_height(page->picture, &vmop_text_small);
	double axis = 2.5 * line_height + 4, top = line_height / 2;
	struct vmop_error *err =
		vmop_chart_page_take(page, MIN_HEIGHT + axis + top, GOOD_HEIGHT + axis + top);
	if (err)
		return err;
	timeline.plot =
		(struct vmop_box){page->body.x + LEFT, page->body.y + top,
				  page->body.width - LEFT - RIGHT, page->body.height - axis - top};
	vmop_picture_rect(page->picture, timeline.plot,
			  (struct vmop_fill){vmop_color_page, VMOP_PATTERN_SOLID}, 0.5);
	draw_series(&timeline);
	draw_coarse(&timeline);
	draw_shares(&timeline, line_height);
	vmop_time_axis_draw(page, &timeline.plot, chart->time.n_steps * chart->time.step_ns,
			    chart->time.step_ns);
	struct vmop_point at = {timeline.plot.x + timeline.plot.width + RIGHT,
				timeline.plot.y + timeline.plot.height + line_height * 1.5 + 3};
	vmop_picture_text(page->picture, "time after the start of the session; white: no samples",
			  at, page->body.width, VMOP_ALIGN_RIGHT, &vmop_text_small);
	return NULL;
}
