// SPDX-License-Identifier: GPL-2.0-or-later
/* Fit text to a terminal.  Widths are in columns, as wcwidth(3) counts them. */
#ifndef VMOP_OPREPORT_OUTPUT_LINE_WIDTH_H
#define VMOP_OPREPORT_OUTPUT_LINE_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Return the columns that text takes.  text is plain (libutil/escape.h). */
size_t vmop_fit_width(const char *text);

/* Return text, cut to a width with "..." at its end if longer; the caller frees it.  NULL without
 * memory. */
char *vmop_fit_shorten(const char *text, size_t width_columns);

/*
 * Reduce the widest elastic columns until all columns, with separator_columns between them, fit
 * total_columns, or until no elastic column is wider than least_columns.
 */
void vmop_fit_columns(size_t *widths, const bool *is_elastic, size_t n, size_t separator_columns,
		      size_t total_columns, size_t least_columns);

/* Print text and a newline, wrapped to a width with further lines indented.  0: do not wrap. */
void vmop_fit_print(const char *text, size_t width_columns, FILE *out);

#endif
