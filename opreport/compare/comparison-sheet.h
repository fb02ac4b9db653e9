// SPDX-License-Identifier: GPL-2.0-or-later
/* Make sheets (output/sheet.h) of a comparison. */
#ifndef VMOP_OPREPORT_COMPARE_COMPARISON_SHEET_H
#define VMOP_OPREPORT_COMPARE_COMPARISON_SHEET_H

#include <stdbool.h>

#include "opreport/compare/comparison.h"
#include "opreport/compare/order.h"
#include "opreport/output/sheet.h"

/* All events, or all other sides, in one sheet. */
#define VMOP_COMPARE_ALL SIZE_MAX

struct vmop_comparison_sheet_options {
	struct vmop_ordering ordering;
	/*
	 * For people a sheet is of one event, and of side 0 and one other.  For programs it is of
	 * all sides, and of one event or of all, with a column for the event.
	 */
	bool for_people;
	size_t event, other;
	bool with_head;	   /* for people: the lines on the sides */
	bool is_wide;	   /* for people: with the numbers of samples and the ratio's interval */
	uint64_t max_rows; /* that the format can print; 0: no bound */
};

struct vmop_comparison_sheet;

/*
 * Make a sheet of a comparison, which must outlive it.  Columns for programs are event, domain,
 * cgroup, task, image and symbol as far as the rows have them; samples_a, weight_a, value_a, low_a,
 * high_a, and so on for each side; and for each other side difference_b, difference_low_b,
 * difference_high_b, ratio_b, ratio_low_b, ratio_high_b, and change_b (vmop_change_word).  A number
 * that is unknown or infinite is empty.  The last row of an event can be "[N more rows]".
 */
struct vmop_error *vmop_comparison_sheet_create(const struct vmop_comparison_sheet_options *options,
						const struct vmop_comparison *comparison,
						struct vmop_comparison_sheet **ret);
void vmop_comparison_sheet_destroy(struct vmop_comparison_sheet *sheet);

const struct vmop_sheet *
vmop_comparison_sheet_of(const struct vmop_comparison_sheet *comparison_sheet);

#endif
