// SPDX-License-Identifier: GPL-2.0-or-later
/* The terminal of vmoptop, by ncurses.  One screen a process. */
#ifndef VMOP_OPREPORT_TOP_TOP_SCREEN_H
#define VMOP_OPREPORT_TOP_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"
#include "opreport/output/sheet.h"
#include "opreport/top/top-view.h"

/* Take the terminal.  VMOP_ERROR_CANT: stdin or stdout is none, or this build has no ncurses. */
struct vmop_error *vmop_top_screen_begin(void);

/* Give the terminal back as it was.  Allowed without vmop_top_screen_begin. */
void vmop_top_screen_end(void);

/* The contents of the screen. */
struct vmop_top_picture {
	const struct vmop_top_view *view;
	const struct vmop_sheet *sheet; /* NULL: there are no rows */
	const char *message;		/* in place of the rows; NULL: none */
	double cost_percent;		/* of a CPU, that refreshing takes */
};

/*
 * Draw.  Set *ret_n_rows to the number of rows that the filter lets pass, *ret_page_rows to how
 * many fit, and *ret_row to the sheet's row that is selected.
 */
struct vmop_error *vmop_top_screen_draw(const struct vmop_top_picture *picture, size_t *ret_n_rows,
					size_t *ret_page_rows, size_t *ret_row);

/*
 * Wait at most timeout_ms for a key.  Return it as vmop_top_view_key takes it; 0: there was none;
 * -1: the terminal is gone.
 */
int vmop_top_screen_key(int timeout_ms);

#endif
