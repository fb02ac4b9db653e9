// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of text in aligned columns.
 *
 * Caller: table.c.  A cell is the number of a piece of text, so that cells with one text share it.
 * Each piece is measured once, and the cost is a few copies a cell.  Text is plain
 * (libutil/escape.h).  Widths are in columns, as wcwidth(3) counts them.
 */
#ifndef VMOP_OPREPORT_OUTPUT_TEXT_TABLE_H
#define VMOP_OPREPORT_OUTPUT_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct vmop_text_table;

/* The piece of a cell without text. */
#define VMOP_TEXT_EMPTY 0

/* Return a table without rows, or NULL without memory.  Its columns have no heading. */
struct vmop_text_table *vmop_text_table_create(size_t n_columns);
void vmop_text_table_destroy(struct vmop_text_table *table); /* NULL is allowed */

/*
 * Set a column before the first row.  heading: a piece.  is_right: align at the right end.
 * is_elastic: vmop_text_table_fit may shorten its cells.
 */
void vmop_text_table_set_column(struct vmop_text_table *table, size_t column, uint32_t heading,
				bool is_right, bool is_elastic);

/* Set *ret to a new piece with a copy of text.  Return false without memory. */
bool vmop_text_table_copy(struct vmop_text_table *table, const char *text, uint32_t *ret);

/* The same without a copy: text lives as long as the table. */
bool vmop_text_table_refer(struct vmop_text_table *table, const char *text, uint32_t *ret);

/* The same for len_bytes of printable ASCII, which are not measured: each takes a column. */
bool vmop_text_table_refer_ascii(struct vmop_text_table *table, const char *text, size_t len_bytes,
				 uint32_t *ret);

/* Make room for n rows at once.  Return false without memory. */
bool vmop_text_table_reserve(struct vmop_text_table *table, size_t n_rows);

/* Add a row of n_columns pieces.  Return false without memory. */
bool vmop_text_table_add_row(struct vmop_text_table *table, const uint32_t *pieces);

/*
 * Shorten the cells of elastic columns, each down to least_columns, until a row fits
 * total_columns.  Return false without memory.
 */
bool vmop_text_table_fit(struct vmop_text_table *table, size_t total_columns, size_t least_columns);

/*
 * Print the headings and the rows, with two blanks between columns and none at the end of a line.
 * A table without rows or columns prints nothing.  Return false without memory; the caller checks
 * ferror(out).
 */
bool vmop_text_table_print(const struct vmop_text_table *table, FILE *out);

#endif
