// SPDX-License-Identifier: GPL-2.0-or-later
/* Fitting text to a terminal: widths in columns, as wcwidth(3) counts them. */
#ifndef VMOP_OPREPORT_OUTPUT_LINE_WIDTH_H
#define VMOP_OPREPORT_OUTPUT_LINE_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns that text takes; text is plain (escape.h). */
size_t vmop_fit_width(const char *text);

/* text cut to so many columns, "..." at its end; a heap string, NULL without memory. */
char *vmop_fit_shorten(const char *text, size_t width_columns);

/*
 * Takes from the widest of the elastic columns, until all of them with
 * separator_columns between make total_columns, or none is wider than
 * least_columns.
 */
void vmop_fit_columns(size_t *widths, const bool *is_elastic, size_t n, size_t separator_columns,
		      size_t total_columns, size_t least_columns);

/* Prints text with a newline; what doesn't fit goes to further lines, indented. 0: all fits. */
void vmop_fit_print(const char *text, size_t width_columns, FILE *out);

#endif
