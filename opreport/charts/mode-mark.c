// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/mode-mark.h"

#include <stdio.h>
#include <string.h>

#include "vmop/domain.h"

#define MARK_WIDTH 12.0

static const struct {
	enum vmop_mode mode;
	const char *letter, *name;
} marks[] = {{VMOP_MODE_USER, "U", "user mode"},
	     {VMOP_MODE_KERNEL, "K", "kernel mode"},
	     {VMOP_MODE_HYPERVISOR, "H", "hypervisor"}};

#define N_MARKS (sizeof(marks) / sizeof(*marks))

static unsigned modes_of(const struct vmop_chart *chart)
{
	unsigned modes = 0;
	for (size_t i = 0; i < chart->n_categories; i++)
		modes |= chart->categories[i].modes;
	return modes;
}

bool vmop_mode_legend(const struct vmop_chart *chart, char ret[VMOP_MODE_LEGEND_BYTES])
{
	unsigned modes = modes_of(chart);
	ret[0] = '\0';
	for (size_t i = 0; i < N_MARKS; i++) {
		size_t len = strlen(ret);
		if (modes & 1u << marks[i].mode)
			snprintf(ret + len, VMOP_MODE_LEGEND_BYTES - len, "%s%s %s",
				 len ? "   " : "", marks[i].letter, marks[i].name);
	}
	return ret[0] != '\0';
}

double vmop_mode_marks_width(const struct vmop_chart *chart)
{
	unsigned modes = modes_of(chart);
	double width = 0;
	for (size_t i = 0; i < N_MARKS; i++)
		width += modes & 1u << marks[i].mode ? MARK_WIDTH : 0;
	return width;
}

void vmop_mode_marks_draw(const struct vmop_chart *chart, size_t category,
			  struct vmop_picture *picture, struct vmop_point at)
{
	unsigned all = modes_of(chart), own = chart->categories[category].modes;
	for (size_t i = 0; i < N_MARKS; i++) {
		unsigned bit = 1u << marks[i].mode;
		struct vmop_point middle = {at.x + MARK_WIDTH / 2, at.y};
		if (own & bit)
			vmop_picture_text(picture, marks[i].letter, middle, MARK_WIDTH,
					  VMOP_ALIGN_CENTER, &vmop_text_small);
		at.x += all & bit ? MARK_WIDTH : 0;
	}
}
