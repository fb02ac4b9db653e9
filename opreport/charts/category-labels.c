// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/category-labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "opreport/charts/mode-mark.h"

#define GAP 8.0

struct vmop_category_labels vmop_category_labels_measure(const struct vmop_chart_page *page,
							 double share)
{
	const struct vmop_chart *chart = page->chart;
	struct vmop_category_labels labels = {
		.marks_width = vmop_mode_marks_width(chart),
		.line_height = vmop_picture_line_height(page->picture, &vmop_text_label),
		.small_height = vmop_picture_line_height(page->picture, &vmop_text_small),
	};
	double most = page->body.width * share - labels.marks_width - GAP, width = 0;
	for (size_t i = 0; i < chart->n_categories; i++) {
		const struct vmop_chart_category *category = &chart->categories[i];
		width = fmax(width, vmop_picture_text_width(page->picture, category->label, most,
							    &vmop_text_label));
		if (category->detail)
			width = fmax(width, vmop_picture_text_width(page->picture, category->detail,
								    most, &vmop_text_small));
	}
	labels.width = width + labels.marks_width + GAP;
	return labels;
}

void vmop_category_labels_draw(const struct vmop_category_labels *labels,
			       const struct vmop_chart_page *page, size_t category, double y,
			       double height)
{
	const struct vmop_chart_category *item = &page->chart->categories[category];
	double right = page->body.x + labels->width - GAP - labels->marks_width;
	double width = right - page->body.x;
	double both = labels->line_height + labels->small_height;
	bool two_lines = item->detail && height >= both;
	_cleanup_free_ char *joined = NULL;
	const char *text = item->label;
	if (item->detail && !two_lines &&
	    asprintf(&joined, "%s  %s", item->label, item->detail) >= 0)
		text = joined;
	struct vmop_point at = {right, y + (height - (two_lines ? both : labels->line_height)) / 2};
	struct vmop_point mark = {right + 2,
				  at.y + (labels->line_height - labels->small_height) / 2};
	vmop_picture_text(page->picture, text, at, width, VMOP_ALIGN_RIGHT, &vmop_text_label);
	at.y += labels->line_height;
	if (two_lines)
		vmop_picture_text(page->picture, item->detail, at, width, VMOP_ALIGN_RIGHT,
				  &vmop_text_small);
	vmop_mode_marks_draw(page->chart, category, page->picture, mark);
}

size_t vmop_category_labels_fit(const struct vmop_chart_page *page, double height, double min_pitch,
				double *ret_pitch)
{
	size_t n = page->chart->n_categories, fit = (size_t)fmax(height / min_pitch, 1);
	if (fit < n)
		n = fit;
	*ret_pitch = height / (double)(n ? n : 1);
	return n;
}
