// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/time-axis.h"

#include <math.h>
#include <stdio.h>

#include "opreport/charts/scale.h"

#define TICK_WIDTH 64.0
#define LABEL_WIDTH 50.0

void vmop_time_axis_draw(struct vmop_chart_page *page, const struct vmop_box *plot,
			 uint64_t span_ns, uint64_t unit_ns)
{
	const struct vmop_chart_time *time = &page->chart->time;
	uint64_t after_ns = time->start_ns - time->origin_ns;
	double n_ticks = fmax(floor(plot->width / TICK_WIDTH), 1);
	uint64_t step_ns = vmop_scale_time_step((uint64_t)ceil((double)span_ns / n_ticks), unit_ns);
	uint64_t at_ns = (after_ns + step_ns - 1) / step_ns * step_ns;
	double bottom = plot->y + plot->height;
	/* The label of a vertical axis can reach half a line below the plot. */
	double below = vmop_picture_line_height(page->picture, &vmop_text_small) / 2 + 1.5;
	double room = (double)step_ns / (double)span_ns * plot->width - 4;
	for (; at_ns <= after_ns + span_ns; at_ns += step_ns) {
		char span[VMOP_SCALE_TEXT_BYTES], text[VMOP_SCALE_TEXT_BYTES + 1];
		double x = plot->x + (double)(at_ns - after_ns) / (double)span_ns * plot->width;
		vmop_scale_time(at_ns, span);
		snprintf(text, sizeof(text), "+%s", span);
		vmop_picture_line(page->picture, (struct vmop_point){x, bottom},
				  (struct vmop_point){x, bottom + 3}, vmop_color_text, 0.5);
		vmop_picture_text(page->picture, text, (struct vmop_point){x, bottom + below},
				  fmin(LABEL_WIDTH, room), VMOP_ALIGN_CENTER, &vmop_text_small);
	}
}
