// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "opreport/charts/figures.h"
#include "opreport/charts/scale.h"
#include "opreport/charts/time-axis.h"

#define LEFT 44.0
#define RIGHT 26.0
#define KEY_WIDTH 220.0 /* of the ramp in the key */
#define KEY_HEIGHT 9.0
#define CELL_MAX 120.0
#define CELL_GAP 0.5 /* between cells that are large enough */
#define MIN_HEIGHT 60.0
#define GOOD_HEIGHT 360.0

struct heat {
	struct vmop_chart_page *page;
	struct vmop_box plot;
	size_t n_columns, n_rows;
	double max;
};

static const struct vmop_chart_value *value_of(const struct heat *heat, size_t column, size_t row)
{
	const struct vmop_chart *chart = heat->page->chart;
	size_t step = column * heat->n_rows + row;
	static const struct vmop_chart_value none = {.is_absent = true};
	return step < chart->time.n_steps ? &chart->values[step] : &none;
}

/* Return the step of the ramp that shows a value. */
static size_t shade_of(const struct heat *heat, double value)
{
	double share = heat->max > 0 ? value / heat->max : 0;
	size_t step = (size_t)(share * VMOP_RAMP_STEPS);
	return step < VMOP_RAMP_STEPS ? step : VMOP_RAMP_STEPS - 1;
}

/* Draw the cells of one shade as one shape. */
static void draw_shade(const struct heat *heat, size_t shade)
{
	struct vmop_picture *picture = heat->page->picture;
	double width = heat->plot.width / (double)heat->n_columns;
	double height = heat->plot.height / (double)heat->n_rows;
	double gap_x = width >= 5 ? CELL_GAP : 0, gap_y = height >= 5 ? CELL_GAP : 0;
	bool begun = false;
	for (size_t column = 0; column < heat->n_columns; column++) {
		for (size_t row = 0; row < heat->n_rows; row++) {
			const struct vmop_chart_value *value = value_of(heat, column, row);
			if (value->is_absent || shade_of(heat, value->value) != shade)
				continue;
			if (!begun)
				vmop_picture_begin(picture, VMOP_SHAPE_RECTS,
						   (struct vmop_fill){vmop_palette_ramp(shade),
								      VMOP_PATTERN_SOLID});
			begun = true;
			vmop_picture_point(picture, heat->plot.x + (double)column * width,
					   heat->plot.y + heat->plot.height -
						   (double)(row + 1) * height + gap_y);
			vmop_picture_point(picture, width - gap_x, height - gap_y);
		}
	}
}

/* Mark below the plot the columns with samples that are known only for longer intervals. */
static void draw_coarse(const struct heat *heat)
{
	double width = heat->plot.width / (double)heat->n_columns;
	double y = heat->plot.y + heat->plot.height + 1.5;
	for (size_t column = 0; column < heat->n_columns; column++) {
		bool is_coarse = false;
		for (size_t row = 0; row < heat->n_rows; row++)
			is_coarse = is_coarse || value_of(heat, column, row)->is_coarse;
		double x = heat->plot.x + (double)column * width;
		if (is_coarse)
			vmop_picture_line(heat->page->picture, (struct vmop_point){x, y},
					  (struct vmop_point){x + width, y}, vmop_color_faint, 3);
	}
}

/* Draw the ramp with its numbers, in a line of the legend. */
static void draw_key(const struct heat *heat)
{
	struct vmop_chart_page *page = heat->page;
	double line = vmop_picture_line_height(page->picture, &vmop_text_small);
	double width = fmin(KEY_WIDTH, page->body.width / 2), x = page->body.x + 30;
	for (size_t i = 0; i < VMOP_RAMP_STEPS; i++) {
		struct vmop_box box = {x + (double)i * width / VMOP_RAMP_STEPS, page->body.y,
				       width / VMOP_RAMP_STEPS, KEY_HEIGHT};
		vmop_picture_rect(page->picture, box,
				  (struct vmop_fill){vmop_palette_ramp(i), VMOP_PATTERN_SOLID}, 0);
	}
	for (unsigned i = 0; i <= 2; i++) {
		char number[VMOP_SCALE_TEXT_BYTES];
		vmop_scale_number(heat->max * i / 2, number);
		vmop_picture_text(
			page->picture, number,
			(struct vmop_point){x + width * i / 2, page->body.y + KEY_HEIGHT + 1},
			width / 3, VMOP_ALIGN_CENTER, &vmop_text_small);
	}
	struct vmop_point at = {x + width + 30, page->body.y + (KEY_HEIGHT - line) / 2};
	vmop_picture_text(page->picture, page->chart->unit, at,
			  page->body.x + page->body.width - at.x, VMOP_ALIGN_LEFT,
			  &vmop_text_small);
	page->body.y += KEY_HEIGHT + line + 6;
}

/* Label the rows: the time of a step within its column. */
static void draw_rows(const struct heat *heat, double line_height)
{
	const struct vmop_box *plot = &heat->plot;
	uint64_t step_ns = heat->page->chart->time.step_ns, span_ns = heat->n_rows * step_ns;
	double n = fmax(floor(plot->height / (line_height * 2)), 1);
	uint64_t least_ns = (uint64_t)ceil((double)span_ns / n);
	uint64_t tick_ns = vmop_scale_time_step(least_ns > step_ns ? least_ns : step_ns, step_ns);
	for (uint64_t at_ns = 0; at_ns < span_ns; at_ns += tick_ns) {
		char text[VMOP_SCALE_TEXT_BYTES];
		double y = plot->y + plot->height * (1 - (double)at_ns / (double)span_ns);
		vmop_scale_time(at_ns, text);
		vmop_picture_line(heat->page->picture, (struct vmop_point){plot->x - 3, y},
				  (struct vmop_point){plot->x, y}, vmop_color_text, 0.5);
		vmop_picture_text(heat->page->picture, text,
				  (struct vmop_point){plot->x - 5, y - line_height / 2}, LEFT - 5,
				  VMOP_ALIGN_RIGHT, &vmop_text_small);
	}
}

static void draw_axis_title(const struct heat *heat, double y)
{
	const struct vmop_chart_time *time = &heat->page->chart->time;
	char text[300], column[VMOP_SCALE_TEXT_BYTES], row[VMOP_SCALE_TEXT_BYTES];
	vmop_scale_time(time->step_ns * heat->n_rows, column);
	vmop_scale_time(time->step_ns, row);
	snprintf(text, sizeof(text),
		 "a column: %s after the start of the session, a row: %s within it; for "
		 "time:+FROM..+TO add both",
		 column, row);
	vmop_picture_text(heat->page->picture, text,
			  (struct vmop_point){heat->page->body.x + heat->page->body.width, y},
			  heat->page->body.width, VMOP_ALIGN_RIGHT, &vmop_text_small);
}

/* Place the plot in the body: whole pixels a cell where there is room. */
static void place_plot(struct heat *heat, double top, double axis)
{
	const struct vmop_box *body = &heat->page->body;
	double width = body->width - LEFT - RIGHT, height = body->height - axis - top;
	double cell_x = fmin(width / (double)heat->n_columns, CELL_MAX);
	double cell_y = fmin(height / (double)heat->n_rows, CELL_MAX);
	cell_x = cell_x >= 1 ? floor(cell_x) : cell_x;
	cell_y = cell_y >= 1 ? floor(cell_y) : cell_y;
	heat->plot =
		(struct vmop_box){ceil(body->x + LEFT), ceil(body->y + top),
				  cell_x * (double)heat->n_columns, cell_y * (double)heat->n_rows};
}

struct vmop_error *vmop_figure_heat(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	const struct vmop_chart_time *time = &chart->time;
	struct heat heat = {.page = page, .n_rows = time->steps_per_column};
	heat.n_columns = (time->n_steps + heat.n_rows - 1) / heat.n_rows;
	for (size_t i = 0; i < time->n_steps; i++)
		heat.max = fmax(heat.max, chart->values[i].is_absent ? 0 : chart->values[i].value);
	draw_key(&heat);
	double line_height = vmop_picture_line_height(page->picture, &vmop_text_small);
	double axis = 2.5 * line_height + 5, top = line_height / 2;
	double cell = fmax(1, fmin(CELL_MAX, floor(GOOD_HEIGHT / (double)heat.n_rows)));
	struct vmop_error *err = vmop_chart_page_take(page, MIN_HEIGHT + axis + top,
						      cell * (double)heat.n_rows + axis + top + 1);
	if (err)
		return err;
	place_plot(&heat, top, axis);
	for (size_t shade = 0; shade < VMOP_RAMP_STEPS; shade++)
		draw_shade(&heat, shade);
	draw_coarse(&heat);
	draw_rows(&heat, line_height);
	vmop_time_axis_draw(page, &heat.plot, heat.n_columns * heat.n_rows * time->step_ns,
			    heat.n_rows * time->step_ns);
	draw_axis_title(&heat, heat.plot.y + heat.plot.height + line_height * 1.5 + 3);
	return NULL;
}
