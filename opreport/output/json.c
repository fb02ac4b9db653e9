// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One object: "session" with its facts, a list for each kind of fact ("events", "losses", ...), and
 * "rows", one object each, with "details" if there are any.  Numbers are numbers; addresses are
 * strings "0x...", since they do not fit a double.  Text that is not UTF-8 is escaped
 * (libutil/escape.h), since JSON cannot hold it, and "NAME_escaped" beside it is true.
 */
#include "opreport/output/output.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

/* Return a new reference, or NULL without memory. */
static json_t *json_value(const struct vmop_value *value, enum vmop_value_type type)
{
	switch (type) {
	case VMOP_VALUE_TEXT:
		return text_value(value->text);
	case VMOP_VALUE_COUNT:
		return json_integer((json_int_t)value->number);
	case VMOP_VALUE_PERCENT:
		return json_real(value->percent);
	case VMOP_VALUE_ADDRESS:
		return json_sprintf("0x%" PRIx64, value->number);
	case VMOP_VALUE_RATIO:
		return json_real(value->ratio);
	}
	return NULL;
}

/* The functions below return 0, or -1 without memory. */

/* Set a member.  Its name can contain an event's, which need not be UTF-8.  Consumes value. */
static int set_member(json_t *object, const char *name, json_t *value)
{
	if (vmop_is_utf8(name))
		return json_object_set_new(object, name, value);
	_cleanup_free_ char *escaped = vmop_escape(name, VMOP_CHARSET_UTF8);
	if (escaped)
		return json_object_set_new(object, escaped, value);
	json_decref(value);
	return -1;
}

static int set_value(json_t *object, const char *name, const struct vmop_value *value,
		     enum vmop_value_type type)
{
	if (set_member(object, name, json_value(value, type)))
		return -1;
	if (type != VMOP_VALUE_TEXT || vmop_is_utf8(value->text))
		return 0;
	char mark[64];
	snprintf(mark, sizeof(mark), "%s_escaped", name);
	return json_object_set_new(object, mark, json_true());
}

static int add_values(const struct vmop_sheet *sheet, const struct vmop_value *values,
		      json_t *object)
{
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (values[c].is_empty || !vmop_value_is_number(&values[c]))
			continue;
		if (set_value(object, column->name, &values[c], column->type))
			return -1;
	}
	return 0;
}

/* Return a new reference to a row's object, or NULL without memory.  values: n_columns. */
static json_t *row_object(const struct vmop_sheet *sheet, size_t row, struct vmop_value *values)
{
	json_auto_t *object = json_object();
	vmop_sheet_values(sheet, row, VMOP_NO_DETAIL, values);
	if (!object || add_values(sheet, values, object))
		return NULL;
	size_t n_details = vmop_sheet_n_details(sheet, row);
	if (!n_details)
		return json_incref(object);
	json_t *details = json_array();
	if (json_object_set_new(object, "details", details))
		return NULL;
	for (size_t i = 0; i < n_details; i++) {
		json_t *detail = json_object();
		vmop_sheet_values(sheet, row, i, values);
		if (json_array_append_new(details, detail) || add_values(sheet, values, detail))
			return NULL;
	}
	return json_incref(object);
}

/*
 * Write the document piece by piece: as one value, a million rows would take gigabytes.  The text
 * is that of json_dumpf() with JSON_INDENT(1) for the whole.
 */
static void put_indented(const char *text, size_t len, unsigned depth, FILE *out)
{
	for (const char *end = text + len, *next; text < end; text = next) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		next = newline ? newline + 1 : end;
		fwrite(text, 1, (size_t)(next - text), out);
		if (newline)
			fprintf(out, "%*s", (int)depth, "");
	}
}

/* Print value with depth blanks before each line but the first.  Consumes value. */
static int put_value(FILE *out, unsigned depth, json_t *value)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	if (!value)
		return -1;
	FILE *memory = open_memstream(&text, &len);
	struct vmop_error *err =
		memory ? vmop_json_print(value, JSON_INDENT(1) | JSON_REAL_PRECISION(9), memory)
		       : &vmop_error_no_memory;
	json_decref(value);
	if (memory && fclose(memory) != 0)
		err = &vmop_error_no_memory;
	if (!err)
		put_indented(text, len - 1, depth, out); /* without the last newline */
	return err ? -1 : 0;
}

/* Begin a member of the document.  Names of lists need no escaping. */
static void begin_member(FILE *out, bool *any, const char *name)
{
	fprintf(out, "%s\n \"%s\": ", *any ? "," : "", name);
	*any = true;
}

/* Print an item of a list, after n others. */
static int put_item(FILE *out, size_t n, json_t *value)
{
	fputs(n ? ",\n  " : "[\n  ", out);
	return put_value(out, 2, value);
}

static void end_list(FILE *out, size_t n)
{
	fputs(n ? "\n ]" : "[]", out);
}

static int add_fact(const struct vmop_fact *fact, json_t *object)
{
	return set_value(object, fact->name, &fact->value, fact->type);
}

static int put_session(const struct vmop_sheet *sheet, FILE *out, bool *any)
{
	json_auto_t *object = json_object();
	size_t n = 0;
	for (size_t i = 0; i < sheet->n_facts; i++) {
		if (sheet->facts[i].list)
			continue;
		if (add_fact(&sheet->facts[i], object))
			return -1;
		n++;
	}
	if (!n)
		return 0;
	begin_member(out, any, "session");
	return put_value(out, 1, json_incref(object));
}

/* Print a list.  Its facts are contiguous, items ascending.  A fact without a name adds no item. */
static int put_list(const struct vmop_fact *facts, size_t n_facts, FILE *out)
{
	size_t n = 0;
	for (size_t i = 0, next; i < n_facts; i = next) {
		next = i + 1;
		if (!facts[i].name)
			continue;
		json_auto_t *object = json_object();
		for (next = i; next < n_facts && facts[next].item == facts[i].item; next++) {
			if (add_fact(&facts[next], object))
				return -1;
		}
		for (; n < facts[i].item; n++) { /* items without facts */
			if (put_item(out, n, json_object()))
				return -1;
		}
		if (put_item(out, n++, json_incref(object)))
			return -1;
	}
	end_list(out, n);
	return 0;
}

static int put_lists(const struct vmop_sheet *sheet, FILE *out, bool *any)
{
	for (size_t i = 0, next; i < sheet->n_facts; i = next) {
		const char *list = sheet->facts[i].list;
		next = i + 1;
		if (!list)
			continue;
		while (next < sheet->n_facts && sheet->facts[next].list &&
		       !strcmp(sheet->facts[next].list, list))
			next++;
		begin_member(out, any, list);
		if (put_list(sheet->facts + i, next - i, out))
			return -1;
	}
	return 0;
}

static struct vmop_error *json_print(const struct vmop_sheet *sheet,
				     const struct vmop_output_options *options, FILE *out)
{
	(void)options;
	bool any = false;
	_cleanup_free_ struct vmop_value *values = calloc(sheet->n_columns, sizeof(*values));
	if (!values)
		return &vmop_error_no_memory;
	fputc('{', out);
	int failed = put_session(sheet, out, &any) || put_lists(sheet, out, &any);
	begin_member(out, &any, "rows");
	for (size_t row = 0; row < sheet->n_rows && !failed; row++)
		failed = put_item(out, row, row_object(sheet, row, values));
	end_list(out, sheet->n_rows);
	fputs("\n}\n", out);
	return failed ? &vmop_error_no_memory : NULL;
}

const struct vmop_output vmop_output_json = {
	.name = "json", .has_facts = true, .max_values = 4000000, .print = json_print};
