// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inside of a comparison's sheet, shared by the files that build it: comparison-sheet.c,
 * people-columns.c, program-columns.c and comparison-lines.c.
 */
#ifndef VMOP_OPREPORT_COMPARE_SHEET_OPEN_H
#define VMOP_OPREPORT_COMPARE_SHEET_OPEN_H

#include "opreport/compare/comparison-sheet.h"
#include "opreport/query/arena.h"

#define VMOP_COMPARED_REST UINT32_MAX

/* A row of the sheet. */
struct vmop_compared_line {
	const struct vmop_order *order;
	uint32_t row; /* of the comparison, or VMOP_COMPARED_REST */
};

struct vmop_comparison_sheet {
	struct vmop_comparison_sheet_options options;
	const struct vmop_comparison *comparison;
	struct vmop_order *orders; /* n_orders: one for each event */
	size_t n_orders;
	struct vmop_compared_line *lines; /* sheet.n_rows */
	struct vmop_arena arena;	  /* everything below */
	struct vmop_column *columns;
	const char **cells; /* for people: sheet.n_rows * sheet.n_columns, "" for none */
	const char **head;  /* sheet.lines, n_head_max */
	size_t n_head_max;
	struct vmop_fact *facts;
	struct vmop_sheet sheet;
};

/* Return the counts of a row of the sheet, by side. */
const struct vmop_count *vmop_comparison_sheet_counts(const struct vmop_comparison_sheet *of,
						      const struct vmop_compared_line *line);

/* Return a name of a row, "" for none; of the last row, "[N more rows]" in the last name. */
const char *vmop_comparison_sheet_name(const struct vmop_comparison_sheet *of,
				       const struct vmop_compared_line *line,
				       enum vmop_compared_name name);

/* Return whether the rows have a name. */
bool vmop_comparison_sheet_has(const struct vmop_comparison_sheet *of,
			       enum vmop_compared_name name);

/* Fill columns, cells and the sheet's operation: for people, for programs. */
struct vmop_error *vmop_comparison_sheet_for_people(struct vmop_comparison_sheet *of);
struct vmop_error *vmop_comparison_sheet_for_programs(struct vmop_comparison_sheet *of);

/* Fill the lines above the table; the facts. */
struct vmop_error *vmop_comparison_sheet_add_lines(struct vmop_comparison_sheet *of);
struct vmop_error *vmop_comparison_sheet_add_facts(struct vmop_comparison_sheet *of);

/* Return a printf-formatted text of the arena, or NULL without memory. */
const char *vmop_comparison_sheet_text(struct vmop_comparison_sheet *of, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
