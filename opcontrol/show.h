// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Helpers for the tables of --status and --inspect: members of a reply, and text that is safe on a
 * terminal.
 */
#ifndef VMOP_OPCONTROL_SHOW_H
#define VMOP_OPCONTROL_SHOW_H

#include <jansson.h>
#include <libsmartcols.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LABEL_WIDTH 12

/* Return a member, or 0 or NULL if it is missing or has another type. */
uint64_t control_number(const json_t *object, const char *name);
double control_real(const json_t *object, const char *name);
const char *control_text(const json_t *object, const char *name);

/*
 * Print at most len bytes of raw escaped (libutil/escape.h), because a guest chooses its own name.
 * NULL: nothing.
 */
void control_put_clean(const char *raw, size_t len);
/* Print a member that is a string. */
void control_put(const json_t *object, const char *name);

/*
 * Set a cell of a table to text, escaped. Return false if memory runs out. The table's own escaping
 * must be off (scols_table_enable_noencoding).
 */
bool control_set_text(struct libscols_line *line, size_t column, const char *raw);

/* Return a domain's name as shown (libutil/label.h); the caller frees it. NULL: out of memory. */
char *control_domain_label(const json_t *domain);

/* Format a size as "1.5 MiB" into ret. */
#define CONTROL_SIZE_BYTES 64
void control_format_size(uint64_t bytes, char ret[CONTROL_SIZE_BYTES]);

/*
 * Print a raw text, escaped, behind what the line has up to column `indent`. Break it at blanks, and
 * begin its further lines at that column.
 */
void control_put_wrapped(size_t indent, const char *value);

/* Print a label and a value, which is broken at blanks so that it stays in its column. */
void control_put_row(const char *label, const char *value);

#endif
