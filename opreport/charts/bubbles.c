// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "opreport/charts/category-labels.h"
#include "opreport/charts/figures.h"
#include "opreport/charts/scale.h"

#define LABELS_SHARE 0.42
#define PITCH_MIN 14.0
#define TEXT_GAP 3.0

/* Sizes of a figure of circles: a line for each category, a column for each series. */
struct bubbles {
	struct vmop_chart_page *page;
	struct vmop_category_labels labels;
	struct vmop_box plot;
	double pitch, column;
	double radius; /* of the largest value */
	double max;
	double number_width; /* beside a circle; 0: the numbers have no room */
	size_t n_shown;
};

static const struct vmop_chart_value *value_of(const struct bubbles *bubbles, size_t series,
					       size_t category)
{
	const struct vmop_chart *chart = bubbles->page->chart;
	return &chart->values[series * chart->n_categories + category];
}

/* Return the height of a line that pleases. */
static double good_pitch(size_t n_categories)
{
	return fmax(22, fmin(110, 560 / (double)(n_categories ? n_categories : 1)));
}

static void measure(struct bubbles *bubbles)
{
	const struct vmop_chart *chart = bubbles->page->chart;
	for (size_t i = 0; i < chart->n_series * chart->n_categories; i++) {
		char text[VMOP_SCALE_TEXT_BYTES];
		if (chart->values[i].is_absent)
			continue;
		bubbles->max = fmax(bubbles->max, chart->values[i].value);
		vmop_scale_number(chart->values[i].value, text);
		double width = vmop_picture_text_width(bubbles->page->picture, text, 100,
						       &vmop_text_small);
		bubbles->number_width = fmax(bubbles->number_width, width);
	}
	double beside = bubbles->column - bubbles->number_width - 3 * TEXT_GAP;
	if (beside < 8) {
		bubbles->number_width = 0;
		beside = bubbles->column - 2 * TEXT_GAP;
	}
	bubbles->radius = fmax(fmin(bubbles->pitch * 0.94, beside) / 2, 0.5);
}

static void draw_value(const struct bubbles *bubbles, size_t series, size_t category, double y)
{
	const struct vmop_chart_value *value = value_of(bubbles, series, category);
	const struct vmop_chart *chart = bubbles->page->chart;
	struct vmop_picture *picture = bubbles->page->picture;
	double used = 2 * bubbles->radius;
	if (bubbles->number_width > 0)
		used += TEXT_GAP + bubbles->number_width;
	double left = bubbles->plot.x + (double)series * bubbles->column;
	struct vmop_point center = {left + (bubbles->column - used) / 2 + bubbles->radius,
				    y + bubbles->pitch / 2};
	double share = bubbles->max > 0 ? value->value / bubbles->max : 0;
	char text[VMOP_SCALE_TEXT_BYTES] = "\xe2\x80\x93";
	bool is_rest = chart->categories[category].is_rest && chart->n_series == 1;
	if (!value->is_absent) {
		vmop_scale_number(value->value, text);
		vmop_picture_circle(picture, center, bubbles->radius * sqrt(share),
				    is_rest ? vmop_palette_rest()
					    : vmop_chart_page_fill(bubbles->page, series));
	}
	struct vmop_point at = {center.x + bubbles->radius + TEXT_GAP,
				center.y - bubbles->labels.small_height / 2};
	if (bubbles->number_width > 0)
		vmop_picture_text(picture, text, at, bubbles->number_width + 0.5, VMOP_ALIGN_LEFT,
				  &vmop_text_small);
}

static void draw_category(const struct bubbles *bubbles, size_t category)
{
	double y = bubbles->plot.y + (double)category * bubbles->pitch;
	double right = bubbles->plot.x + bubbles->plot.width;
	vmop_category_labels_draw(&bubbles->labels, bubbles->page, category, y, bubbles->pitch);
	if (category)
		vmop_picture_line(bubbles->page->picture,
				  (struct vmop_point){bubbles->page->body.x, y},
				  (struct vmop_point){right, y}, vmop_color_line, 0.4);
	for (size_t i = 0; i < bubbles->page->chart->n_series; i++)
		draw_value(bubbles, i, category, y);
}

/* Draw what the circles mean, and how many categories are not shown. */
static void draw_key(const struct bubbles *bubbles)
{
	const struct vmop_chart *chart = bubbles->page->chart;
	char text[700], number[VMOP_SCALE_TEXT_BYTES], shown[120] = "";
	vmop_scale_number(bubbles->max, number);
	if (bubbles->n_shown < chart->n_categories)
		snprintf(shown, sizeof(shown),
			 "; %zu of %zu rows have room, a larger --chart-size shows all",
			 bubbles->n_shown, chart->n_categories);
	snprintf(text, sizeof(text), "A circle's area is its value; the largest is %s (%.400s)%s",
		 number, chart->unit, shown);
	struct vmop_point at = {bubbles->page->body.x + bubbles->page->body.width,
				bubbles->plot.y + bubbles->plot.height + 3};
	vmop_picture_text(bubbles->page->picture, text, at, bubbles->page->body.width,
			  VMOP_ALIGN_RIGHT, &vmop_text_small);
}

struct vmop_error *vmop_figure_bubbles(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	struct bubbles bubbles = {.page = page};
	vmop_chart_page_legend(page);
	bubbles.labels = vmop_category_labels_measure(page, LABELS_SHARE);
	double key = bubbles.labels.small_height + 4;
	struct vmop_error *err = vmop_chart_page_take(
		page, PITCH_MIN + key,
		good_pitch(chart->n_categories) * (double)chart->n_categories + key);
	if (err)
		return err;
	bubbles.plot = page->body;
	bubbles.plot.height -= key;
	bubbles.plot.x += bubbles.labels.width;
	bubbles.plot.width -= bubbles.labels.width;
	bubbles.column = bubbles.plot.width / (double)chart->n_series;
	bubbles.n_shown =
		vmop_category_labels_fit(page, bubbles.plot.height, PITCH_MIN, &bubbles.pitch);
	measure(&bubbles);
	for (size_t i = 0; i < bubbles.n_shown; i++)
		draw_category(&bubbles, i);
	draw_key(&bubbles);
	return NULL;
}
