// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One object: "session" with its facts, a list for each kind of fact ("events",
 * "losses", ...), "rows", one object each, with "details" where asked for.  Numbers
 * are numbers, addresses are strings "0x..." (they don't fit a double).  Text is what it is; one
 * that is not UTF-8, which JSON can't hold, is escaped (libutil/escape.h), and "NAME_escaped"
 * beside it is true.
 */
#include "opreport/output.h"

#include <inttypes.h>
#include <jansson.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/json.h"

static json_t *escaped_value(const char *text)
{
	_cleanup_free_ char *escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
	return escaped ? json_string(escaped) : NULL;
}

static json_t *text_value(const char *text)
{
	json_t *value = json_string(text); /* NULL: not UTF-8 */
	return value ? value : escaped_value(text);
}

static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);
	json_decref(value);
	return value != NULL;
}

/* A new reference; NULL without memory. */
static json_t *cell_value(const struct vmop_cell *cell, enum vmop_cell_type type)
{
	switch (type) {
	case VMOP_CELL_TEXT:
		return text_value(cell->text);
	case VMOP_CELL_COUNT:
		return json_integer((json_int_t)cell->number);
	case VMOP_CELL_PERCENT:
		return json_real(cell->percent);
	case VMOP_CELL_ADDRESS:
		return json_sprintf("0x%" PRIx64, cell->number);
	case VMOP_CELL_RATIO:
		return json_real(cell->ratio);
	}
	return NULL;
}

/* The functions below return 0, or -1 without memory. */

/* Names of events, which are within columns' names, need not be UTF-8. */
static int set_member(json_t *object, const char *name, json_t *value)
{
	if (is_utf8(name))
		return json_object_set_new(object, name, value);
	_cleanup_free_ char *escaped = vmop_escape(name, VMOP_CHARSET_UTF8);
	if (escaped)
		return json_object_set_new(object, escaped, value);
	json_decref(value);
	return -1;
}

static int set_cell(json_t *object, const char *name, const struct vmop_cell *cell,
		    enum vmop_cell_type type)
{
	if (set_member(object, name, cell_value(cell, type)))
		return -1;
	if (type != VMOP_CELL_TEXT || is_utf8(cell->text))
		return 0;
	char mark[64];
	snprintf(mark, sizeof(mark), "%s_escaped", name);
	return json_object_set_new(object, mark, json_true());
}

static int add_cells(const struct vmop_sheet *sheet, size_t row, size_t detail, json_t *object)
{
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		struct vmop_cell cell = {0};
		sheet->cell(sheet, row, detail, column, &cell);
		if (cell.is_empty || !vmop_cell_is_number(&cell))
			continue;
		if (set_cell(object, column->name, &cell, column->type))
			return -1;
	}
	return 0;
}

static int add_row(const struct vmop_sheet *sheet, size_t row, json_t *rows)
{
	json_t *object = json_object();
	if (json_array_append_new(rows, object) || add_cells(sheet, row, VMOP_NO_DETAIL, object))
		return -1;
	size_t n_details = vmop_sheet_n_details(sheet, row);
	if (!n_details)
		return 0;
	json_t *details = json_array();
	if (json_object_set_new(object, "details", details))
		return -1;
	for (size_t i = 0; i < n_details; i++) {
		json_t *detail = json_object();
		if (json_array_append_new(details, detail) || add_cells(sheet, row, i, detail))
			return -1;
	}
	return 0;
}

/* The object that fact belongs to, made when it is the first. Borrowed; NULL without memory. */
static json_t *owner_of(const struct vmop_fact *fact, json_t *root)
{
	const char *name = fact->list ? fact->list : "session";
	json_t *owner = json_object_get(root, name);
	if (!owner) {
		owner = fact->list ? json_array() : json_object();
		if (json_object_set_new(root, name, owner))
			return NULL;
	}
	if (!fact->list)
		return owner;
	while (json_array_size(owner) <= fact->item) {
		if (json_array_append_new(owner, json_object()))
			return NULL;
	}
	return json_array_get(owner, fact->item);
}

/* A fact without a name stands for its list, which may be empty. */
static int add_fact(const struct vmop_fact *fact, json_t *root)
{
	if (!fact->name)
		return json_object_set_new(root, fact->list, json_array());
	json_t *owner = owner_of(fact, root);
	return owner ? set_cell(owner, fact->name, &fact->value, fact->type) : -1;
}

static int fill(const struct vmop_sheet *sheet, json_t *root)
{
	for (size_t i = 0; i < sheet->n_facts; i++) {
		if (add_fact(&sheet->facts[i], root))
			return -1;
	}
	json_t *rows = json_array();
	if (json_object_set_new(root, "rows", rows))
		return -1;
	for (size_t row = 0; row < sheet->n_rows; row++) {
		if (add_row(sheet, row, rows))
			return -1;
	}
	return 0;
}

static struct vmop_error *json_print(const struct vmop_sheet *sheet,
				     const struct vmop_output_options *options, FILE *out)
{
	(void)options;
	json_t *root = json_object();
	int failed = !root || fill(sheet, root);
	struct vmop_error *err = failed ? &vmop_error_no_memory : NULL;
	if (!err)
		err = vmop_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
	json_decref(root);
	return err;
}

const struct vmop_output vmop_output_json = {
	.name = "json", .has_facts = true, .print = json_print};
