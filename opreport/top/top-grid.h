// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a sheet as lines that fit the terminal.  A line is escaped for the locale, and never
 * wider than the terminal.
 */
#ifndef VMOP_OPREPORT_TOP_TOP_GRID_H
#define VMOP_OPREPORT_TOP_TOP_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"
#include "opreport/output/sheet.h"

struct vmop_top_row {
	char *line;	/* on the heap */
	size_t row;	/* of the sheet */
	double percent; /* its value of the column "percent", 0: none */
};

struct vmop_top_grid {
	char *heading; /* on the heap */
	struct vmop_top_row *rows;
	size_t n_rows;
};

/*
 * Make lines of those rows of which some text contains filter, in either case; "": of all.  The
 * caller deinitialises ret also after an error, which is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_top_grid_init(struct vmop_top_grid *ret, const struct vmop_sheet *sheet,
				      const char *filter, size_t width_columns);
void vmop_top_grid_deinit(struct vmop_top_grid *grid); /* a zeroed grid, too */

/* Return text, escaped for the locale and cut to a width; the caller frees it.  NULL: no memory. */
char *vmop_top_line(const char *text, size_t width_columns);

#endif
