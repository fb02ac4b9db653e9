// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-output.h"

#include <stdlib.h>

#include "libutil/cleanup.h"
#include "opreport/charts/figures.h"
#include "opreport/charts/painter.h"

#define GOOD_WIDTH 800

static void picture_cleanup(struct vmop_picture *picture)
{
	vmop_picture_deinit(picture);
}

struct vmop_error *vmop_chart_check_build(void)
{
	return NULL;
}

static struct vmop_error *check_time(const struct vmop_chart *chart)
{
	const struct vmop_chart_time *time = &chart->time;
	bool is_heat = chart->kind == VMOP_CHART_HEAT;
	if (!time->n_steps || !time->step_ns || time->start_ns < time->origin_ns ||
	    (is_heat && !time->steps_per_column))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no time to draw a chart of");
	if (time->n_steps > VMOP_CHART_STEPS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "a chart has at most %d steps of time",
				      VMOP_CHART_STEPS_MAX);
	return NULL;
}

static struct vmop_error *check(const struct vmop_chart *chart)
{
	bool has_time = chart->kind == VMOP_CHART_TIMELINE || chart->kind == VMOP_CHART_HEAT;
	if (!chart->n_series || (!has_time && !chart->n_categories))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is nothing to draw");
	if (chart->n_series > VMOP_CHART_SERIES_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "a chart has at most %d series",
				      VMOP_CHART_SERIES_MAX);
	if (!has_time && chart->n_categories > VMOP_CHART_CATEGORIES_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "a chart has at most %d rows",
				      VMOP_CHART_CATEGORIES_MAX);
	return has_time ? check_time(chart) : NULL;
}

struct vmop_error *vmop_chart_lay_out(const struct vmop_chart *chart, unsigned width,
				      unsigned height, struct vmop_picture *ret)
{
	static struct vmop_error *(*const figures[])(struct vmop_chart_page *) = {
		[VMOP_CHART_BARS] = vmop_figure_bars,
		[VMOP_CHART_BUBBLES] = vmop_figure_bubbles,
		[VMOP_CHART_TIMELINE] = vmop_figure_timeline,
		[VMOP_CHART_HEAT] = vmop_figure_heat,
	};
	struct vmop_chart_page page;
	*ret = (struct vmop_picture){0};
	struct vmop_error *err = check(chart);
	if (!err)
		err = vmop_picture_init(ret, width ? width : GOOD_WIDTH);
	if (err)
		return err;
	vmop_chart_page_begin(&page, chart, ret, height);
	return figures[chart->kind](&page);
}

struct vmop_error *vmop_chart_print(const struct vmop_chart *chart,
				    const struct vmop_chart_options *options, FILE *out)
{
	_cleanup_(picture_cleanup) struct vmop_picture picture;
	struct vmop_error *err =
		vmop_chart_lay_out(chart, options->width, options->height, &picture);
	if (err)
		return err;
	return vmop_painter_print(&picture, options->format, chart->title, chart->time.start_ns,
				  out);
}
