// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a JSON document piece by piece.  A document of a call tree has millions of values: jansson
 * would need gigabytes for them.
 *
 * Texts are escaped as everywhere (libutil/escape.h), so that no viewer is steered by a name.  The
 * characters < > & are written as \u003c and so on: the document can stand in a script element of
 * a page.
 */
#ifndef VMOP_OPREPORT_EXPORT_JSON_WRITER_H
#define VMOP_OPREPORT_EXPORT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libutil/error.h"

#define VMOP_JSON_DEPTH_MAX 32

struct vmop_json_writer {
	FILE *out;
	size_t depth;
	bool has_item[VMOP_JSON_DEPTH_MAX]; /* by depth: a comma comes before the next value */
	bool has_name;			    /* the value of a member comes next */
	bool lacks_memory;		    /* a text was not written */
};

void vmop_json_writer_init(struct vmop_json_writer *ret, FILE *out);

/* Return VMOP_ERROR_NO_MEMORY if a text was not written.  The caller checks ferror(out). */
struct vmop_error *vmop_json_writer_finish(const struct vmop_json_writer *writer);

/* Begin an object or an array, as a value; opening is '{' or '['. */
void vmop_json_writer_begin(struct vmop_json_writer *writer, char opening);
/* End it; closing is '}' or ']'. */
void vmop_json_writer_end(struct vmop_json_writer *writer, char closing);

/* Write the name of a member, which needs no escapes.  Its value must follow. */
void vmop_json_writer_name(struct vmop_json_writer *writer, const char *name);

void vmop_json_writer_text(struct vmop_json_writer *writer, const char *text);
/* The same for a text that is escaped already (libutil/escape.h). */
void vmop_json_writer_escaped_text(struct vmop_json_writer *writer, const char *text);
void vmop_json_writer_number(struct vmop_json_writer *writer, uint64_t number);
/* NaN and infinity are written as 0. */
void vmop_json_writer_real(struct vmop_json_writer *writer, double number);
void vmop_json_writer_bool(struct vmop_json_writer *writer, bool value);
void vmop_json_writer_null(struct vmop_json_writer *writer);

/* Write a member with its value. */
void vmop_json_writer_text_member(struct vmop_json_writer *writer, const char *name,
				  const char *text);
void vmop_json_writer_number_member(struct vmop_json_writer *writer, const char *name,
				    uint64_t number);

#endif
