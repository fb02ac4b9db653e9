// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "opreport/charts/category-labels.h"
#include "opreport/charts/figures.h"
#include "opreport/charts/scale.h"

#define LABELS_SHARE 0.42 /* of the width, at most */
#define THICKNESS_MAX 26.0
#define TICK_WIDTH 70.0 /* between the axis' numbers, at least */

/* Sizes of a figure of bars. */
struct bars {
	struct vmop_chart_page *page;
	struct vmop_category_labels labels;
	struct vmop_box plot;
	double pitch, thickness; /* of a category, and of a bar in it */
	double step, end;	 /* of the axis */
	double value_width;	 /* of the widest number behind a bar; 0: they have no room */
	size_t n_shown;
};

static const struct vmop_chart_value *value_of(const struct bars *bars, size_t series,
					       size_t category)
{
	const struct vmop_chart *chart = bars->page->chart;
	return &chart->values[series * chart->n_categories + category];
}

/* Return the thickness of a bar that pleases, by how many stand side by side. */
static double good_thickness(size_t n_series)
{
	return n_series <= 1 ? 14 : n_series == 2 ? 10 : n_series <= 4 ? 9 : n_series <= 8 ? 6 : 4;
}

static double min_pitch(const struct bars *bars)
{
	return fmax(bars->labels.line_height + 1, (double)bars->page->chart->n_series * 2 + 3);
}

/* Choose the scale, and how wide the numbers behind the bars are. */
static void measure_values(struct bars *bars, double font_height)
{
	const struct vmop_chart *chart = bars->page->chart;
	double max = 0;
	for (size_t i = 0; i < chart->n_series * chart->n_categories; i++) {
		const struct vmop_chart_value *value = &chart->values[i];
		char text[VMOP_SCALE_TEXT_BYTES];
		if (value->is_absent)
			continue;
		max = fmax(max, fmax(value->value, value->has_interval ? value->high : 0));
		vmop_scale_number(value->value, text);
		double width =
			vmop_picture_text_width(bars->page->picture, text, 100, &vmop_text_small);
		bars->value_width = fmax(bars->value_width, width);
	}
	if (bars->thickness < font_height)
		bars->value_width = 0;
	double margin = fmax(bars->value_width + 4, 12);
	bars->plot.width = bars->page->body.width - bars->labels.width - margin;
	unsigned n_ticks = (unsigned)fmax(bars->plot.width / TICK_WIDTH, 1);
	bars->step = vmop_scale_step(max, n_ticks);
	bars->end = max > 0 ? max : bars->step;
}

static double place_of(const struct bars *bars, double value)
{
	return bars->plot.x + fmin(value / bars->end, 1) * bars->plot.width;
}

static void draw_axis(const struct bars *bars)
{
	struct vmop_picture *picture = bars->page->picture;
	double bottom = bars->plot.y + bars->plot.height;
	for (unsigned i = 0; i * bars->step <= bars->end * (1 + 1e-9); i++) {
		char text[VMOP_SCALE_TEXT_BYTES];
		double x = place_of(bars, i * bars->step);
		vmop_scale_number(i * bars->step, text);
		vmop_picture_line(picture, (struct vmop_point){x, bars->plot.y},
				  (struct vmop_point){x, bottom + 3}, vmop_color_line, 0.5);
		vmop_picture_text(picture, text, (struct vmop_point){x, bottom + 4}, TICK_WIDTH / 2,
				  VMOP_ALIGN_CENTER, &vmop_text_small);
	}
}

/* Draw what the axis means below it, and how many categories are not shown. */
static void draw_axis_title(const struct bars *bars)
{
	const struct vmop_chart *chart = bars->page->chart;
	char text[600];
	if (bars->n_shown == chart->n_categories)
		snprintf(text, sizeof(text), "%.400s", chart->unit);
	else
		snprintf(text, sizeof(text),
			 "%.400s; %zu of %zu rows have room, a larger --chart-size shows all",
			 chart->unit, bars->n_shown, chart->n_categories);
	struct vmop_point at = {bars->page->body.x + bars->page->body.width,
				bars->plot.y + bars->plot.height + 5 + bars->labels.small_height};
	vmop_picture_text(bars->page->picture, text, at, bars->page->body.width, VMOP_ALIGN_RIGHT,
			  &vmop_text_small);
}

/* Draw an interval from x = low to high as one shape: a line between two caps. */
static void draw_marks(const struct bars *bars, double low, double high, double y, double width,
		       struct vmop_color color)
{
	struct vmop_picture *picture = bars->page->picture;
	double half = width / 2, cap = fmin(bars->thickness / 2, 3) - 0.5 + half;
	const double ends[] = {low, high};
	vmop_picture_begin(picture, VMOP_SHAPE_RECTS,
			   (struct vmop_fill){color, VMOP_PATTERN_SOLID});
	vmop_picture_point(picture, low, y - half);
	vmop_picture_point(picture, high - low, width);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		vmop_picture_point(picture, ends[i] - half, y - cap);
		vmop_picture_point(picture, width, 2 * cap);
	}
}

/* Draw an interval with an edge of the page's colour, so that it stands out from dark bars, too. */
static void draw_interval(const struct bars *bars, const struct vmop_chart_value *value, double y)
{
	double low = place_of(bars, fmax(value->low, 0)), high = place_of(bars, value->high);
	draw_marks(bars, low, high, y, 2.4, vmop_color_page);
	draw_marks(bars, low, high, y, 1, vmop_color_text);
}

static void draw_bar(const struct bars *bars, size_t series, size_t category, double y)
{
	const struct vmop_chart_value *value = value_of(bars, series, category);
	struct vmop_picture *picture = bars->page->picture;
	double end = place_of(bars, value->value);
	char text[VMOP_SCALE_TEXT_BYTES] = "\xe2\x80\x93"; /* a dash: no value */
	struct vmop_box box = {bars->plot.x, y, end - bars->plot.x, bars->thickness};
	if (!value->is_absent) {
		struct vmop_fill fill = bars->page->chart->categories[category].is_rest &&
							bars->page->chart->n_series == 1
						? vmop_palette_rest()
						: vmop_chart_page_fill(bars->page, series);
		vmop_picture_rect(picture, box, fill, 0);
		vmop_scale_number(value->value, text);
	}
	if (!value->is_absent && value->has_interval) {
		draw_interval(bars, value, y + bars->thickness / 2);
		end = fmax(end, place_of(bars, value->high));
	}
	if (value->is_absent)
		end = bars->plot.x;
	double text_y = y + (bars->thickness - bars->labels.small_height) / 2;
	if (bars->value_width > 0)
		vmop_picture_text(picture, text, (struct vmop_point){end + 3, text_y},
				  bars->value_width + 1, VMOP_ALIGN_LEFT, &vmop_text_small);
}

static void draw_category(const struct bars *bars, size_t category)
{
	const struct vmop_chart *chart = bars->page->chart;
	double y = bars->plot.y + (double)category * bars->pitch;
	double group = bars->thickness * (double)chart->n_series;
	vmop_category_labels_draw(&bars->labels, bars->page, category, y, bars->pitch);
	y += (bars->pitch - group) / 2;
	for (size_t i = 0; i < chart->n_series; i++)
		draw_bar(bars, i, category, y + (double)i * bars->thickness);
}

struct vmop_error *vmop_figure_bars(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	struct bars bars = {.page = page};
	vmop_chart_page_legend(page);
	bars.labels = vmop_category_labels_measure(page, LABELS_SHARE);
	double thickness = good_thickness(chart->n_series);
	double two_lines = bars.labels.line_height + bars.labels.small_height + 3;
	double pitch = fmax(thickness * (double)chart->n_series + 7, two_lines);
	double axis = 2 * bars.labels.small_height + 8;
	struct vmop_error *err = vmop_chart_page_take(page, min_pitch(&bars) + axis,
						      pitch * (double)chart->n_categories + axis);
	if (err)
		return err;
	bars.plot = page->body;
	bars.plot.height -= axis;
	bars.n_shown =
		vmop_category_labels_fit(page, bars.plot.height, min_pitch(&bars), &bars.pitch);
	bars.thickness = fmin((bars.pitch - fmin(7, bars.pitch / 4)) / (double)chart->n_series,
			      THICKNESS_MAX);
	bars.plot.x += bars.labels.width;
	measure_values(&bars, bars.labels.small_height);
	draw_axis(&bars);
	draw_axis_title(&bars);
	for (size_t i = 0; i < bars.n_shown; i++)
		draw_category(&bars, i);
	vmop_picture_line(page->picture, (struct vmop_point){bars.plot.x, bars.plot.y},
			  (struct vmop_point){bars.plot.x, bars.plot.y + bars.plot.height},
			  vmop_color_text, 0.75);
	return NULL;
}
