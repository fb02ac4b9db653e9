// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text in an XML document, such as an SVG picture.  Names come from guests and files: they are
 * escaped as everywhere (libutil/escape.h), then for XML, and cut.
 */
#ifndef VMOP_OPREPORT_STACKS_SVG_TEXT_H
#define VMOP_OPREPORT_STACKS_SVG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The longest text, in bytes before it is escaped for XML. */
#define VMOP_SVG_TEXT_MAX_BYTES 512

/* The columns of a text: 1 for each character of ASCII, 2 for others. */
struct vmop_svg_text {
	size_t columns;
	bool is_ascii;
	char bytes[VMOP_SVG_TEXT_MAX_BYTES]; /* printable UTF-8 */
};

/*
 * Set *ret to the name, escaped.  If it is longer than max_columns, its end is replaced by "..",
 * which needs max_columns >= 3.
 */
void vmop_svg_text_set(struct vmop_svg_text *ret, const char *name, size_t max_columns);

/* Print it as content of an element, or of an attribute in double quotes. */
void vmop_svg_text_print(const struct vmop_svg_text *text, FILE *out);

/* Return the bytes that vmop_svg_text_print writes. */
size_t vmop_svg_text_len(const struct vmop_svg_text *text);

#endif
