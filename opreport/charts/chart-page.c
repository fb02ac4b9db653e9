// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "libutil/plural.h"
#include "opreport/charts/chart-format.h"
#include "opreport/charts/mode-mark.h"
#include "opreport/charts/scale.h"

#define GAP 12.0	      /* between the items of a flow */
#define SWATCH 10.0	      /* side of a legend's square */
#define NOTES_MAX 8	      /* notes beyond are counted */
#define SERIES_TEXT_MAX 260.0 /* width of a series' name in the legend */

/* ---- flow ------------------------------------------------------------------ */

static void next_line(struct vmop_flow *flow, const struct vmop_text_style *style)
{
	double height = vmop_picture_line_height(flow->page->picture, style) + 3;
	flow->page->body.y += height;
	flow->x = flow->page->body.x;
}

static void add_item(struct vmop_flow *flow, const struct vmop_fill *fill, const char *text,
		     const struct vmop_text_style *style, double max_width)
{
	struct vmop_chart_page *page = flow->page;
	struct vmop_picture *picture = page->picture;
	double right = page->body.x + page->body.width, swatch = fill ? SWATCH + 4 : 0;
	max_width = fmin(max_width, page->body.width - swatch);
	double width = swatch + vmop_picture_text_width(picture, text, max_width, style);
	if (flow->x > page->body.x && flow->x + width > right)
		next_line(flow, style);
	if (fill) {
		double line = vmop_picture_line_height(picture, style);
		struct vmop_box box = {flow->x, page->body.y + (line - SWATCH) / 2, SWATCH, SWATCH};
		vmop_picture_rect(picture, box, *fill, 0.5);
	}
	struct vmop_point at = {flow->x + swatch, page->body.y};
	vmop_picture_text(picture, text, at, max_width, VMOP_ALIGN_LEFT, style);
	flow->x += width + GAP;
}

void vmop_flow_add(struct vmop_flow *flow, const struct vmop_fill *fill, const char *text,
		   const struct vmop_text_style *style)
{
	add_item(flow, fill, text, style, flow->page->body.width);
}

void vmop_flow_end(struct vmop_flow *flow, const struct vmop_text_style *style)
{
	if (flow->x > flow->page->body.x)
		next_line(flow, style);
}

/* ---- above the figure ------------------------------------------------------- */

static void add_line(struct vmop_chart_page *page, const char *text,
		     const struct vmop_text_style *style)
{
	struct vmop_flow flow = {page, page->body.x};
	vmop_flow_add(&flow, NULL, text, style);
	vmop_flow_end(&flow, style);
}

/* Write "1,234,567". */
static void format_count(uint64_t count, char ret[VMOP_SCALE_TEXT_BYTES])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			ret[at++] = ',';
		ret[at++] = digits[i];
	}
	ret[at] = '\0';
}

/* Draw the facts that every chart has: event, unit, samples, losses. */
static void add_facts(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	const struct vmop_text_style *style = &vmop_text_label;
	struct vmop_flow flow = {page, page->body.x};
	char text[512], count[VMOP_SCALE_TEXT_BYTES];
	snprintf(text, sizeof(text), "event: %.400s", chart->event);
	vmop_flow_add(&flow, NULL, text, style);
	snprintf(text, sizeof(text), "unit: %.400s", chart->unit);
	vmop_flow_add(&flow, NULL, text, style);
	format_count(chart->samples, count);
	snprintf(text, sizeof(text), "%s sample%s", count, vmop_plural(chart->samples));
	vmop_flow_add(&flow, NULL, text, style);
	snprintf(text, sizeof(text), "losses: %.400s", chart->losses ? chart->losses : "none");
	vmop_flow_add(&flow, NULL, text, style);
	vmop_flow_end(&flow, style);
}

static void add_notes(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	char text[64];
	for (size_t i = 0; i < chart->n_notes && i < NOTES_MAX; i++)
		add_line(page, chart->notes[i], &vmop_text_small);
	if (chart->n_notes <= NOTES_MAX)
		return;
	snprintf(text, sizeof(text), "and %zu more notes", chart->n_notes - NOTES_MAX);
	add_line(page, text, &vmop_text_small);
}

struct vmop_fill vmop_chart_page_fill(const struct vmop_chart_page *page, size_t series)
{
	return page->chart->series[series].is_rest ? vmop_palette_rest()
						   : vmop_palette_fill(series);
}

void vmop_chart_page_legend(struct vmop_chart_page *page)
{
	const struct vmop_chart *chart = page->chart;
	struct vmop_flow flow = {page, page->body.x};
	char text[VMOP_MODE_LEGEND_BYTES];
	for (size_t i = 0; i < chart->n_series; i++) {
		struct vmop_fill fill = vmop_chart_page_fill(page, i);
		add_item(&flow, &fill, chart->series[i].label, &vmop_text_label, SERIES_TEXT_MAX);
	}
	if (vmop_mode_legend(chart, text))
		vmop_flow_add(&flow, NULL, text, &vmop_text_small);
	vmop_flow_end(&flow, &vmop_text_label);
	page->body.y += 4;
}

void vmop_chart_page_begin(struct vmop_chart_page *ret, const struct vmop_chart *chart,
			   struct vmop_picture *picture, double height)
{
	*ret = (struct vmop_chart_page){
		.chart = chart,
		.picture = picture,
		.is_fixed = height > 0,
		.body = {VMOP_CHART_PAGE_MARGIN, VMOP_CHART_PAGE_MARGIN,
			 picture->width - 2 * VMOP_CHART_PAGE_MARGIN, 0},
	};
	picture->height = height;
	add_line(ret, chart->title, &vmop_text_title);
	add_facts(ret);
	add_notes(ret);
	ret->body.y += 4;
}

struct vmop_error *vmop_chart_page_take(struct vmop_chart_page *page, double min, double wanted)
{
	struct vmop_box *body = &page->body;
	struct vmop_picture *picture = page->picture;
	double needed = body->y + min + VMOP_CHART_PAGE_MARGIN;
	if (!page->is_fixed) {
		double most = VMOP_CHART_SIZE_MAX - body->y - VMOP_CHART_PAGE_MARGIN;
		body->height = ceil(fmax(min, fmin(wanted, most)));
		picture->height = body->y + body->height + VMOP_CHART_PAGE_MARGIN;
		return NULL;
	}
	body->height = picture->height - VMOP_CHART_PAGE_MARGIN - body->y;
	if (body->height >= min)
		return NULL;
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "the chart has no room in %.0fx%.0f; it needs at least %.0fx%.0f",
			      picture->width, picture->height, picture->width, ceil(needed));
}
