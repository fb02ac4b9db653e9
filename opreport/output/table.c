// SPDX-License-Identifier: GPL-2.0-or-later
/* The format for people: lines, a table in aligned columns, lines. */
#include "opreport/output/output.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "opreport/output/line-width.h"
#include "opreport/output/text-table.h"
#include "opreport/output/value-text.h"

enum {
	LEAST_COLUMNS = 8, /* the least width of an elastic column */
	PERCENT_DIGITS = 2
};

/* Escape text for the locale.  Without UTF-8 the result is ASCII: the terminal shows no more. */
static char *escape(const char *text)
{
	return vmop_escape(text, vmop_escape_locale());
}

/*
 * A table while it is filled.  The functions below return false without memory.
 */
struct filling {
	const struct vmop_sheet *sheet;
	enum vmop_charset charset;
	struct vmop_text_table *table;
	struct vmop_value *values; /* n_columns: of the row or detail that is being read */
	struct shown *shown;	   /* by column with a heading */
	uint32_t *cells;	   /* likewise */
};

/* The last value of a column, whose piece serves each next row with the same value. */
struct shown {
	struct vmop_value value;
	uint32_t piece; /* VMOP_TEXT_EMPTY: there was none */
};

static bool is_same(const struct vmop_value *a, const struct vmop_value *b)
{
	return a->mark == b->mark && a->number == b->number; /* or the same text or bits */
}

/* Make a piece of text that lives as long as the sheet. */
static bool add_text(struct filling *filling, const char *text, uint32_t *ret)
{
	size_t len_bytes = strlen(text);
	if (vmop_escape_simple_len(text, len_bytes) == len_bytes)
		return vmop_text_table_refer_ascii(filling->table, text, len_bytes, ret);
	if (vmop_escape_is_plain(text, filling->charset))
		return vmop_text_table_refer(filling->table, text, ret);
	_cleanup_free_ char *escaped = vmop_escape(text, filling->charset);
	return escaped && vmop_text_table_copy(filling->table, escaped, ret);
}

static bool add_value(struct filling *filling, enum vmop_value_type type,
		      const struct vmop_value *value, bool is_detail, uint32_t *ret)
{
	char text[2 + VMOP_NUMBER_TEXT_BYTES] = "  ";
	if (type == VMOP_VALUE_TEXT)
		return add_text(filling, value->text, ret);
	vmop_value_format(type, value, PERCENT_DIGITS, text + 2);
	bool is_indented = is_detail && type == VMOP_VALUE_ADDRESS;
	return vmop_text_table_copy(filling->table, is_indented ? text : text + 2, ret);
}

/* Set *ret to the piece of a value. */
static bool show_value(struct filling *filling, const struct vmop_column *column,
		       const struct vmop_value *value, bool is_detail, struct shown *shown,
		       uint32_t *ret)
{
	*ret = VMOP_TEXT_EMPTY;
	if (value->is_empty)
		return true;
	bool is_shared = column->type != VMOP_VALUE_ADDRESS; /* which details show in their way */
	if (!is_shared || shown->piece == VMOP_TEXT_EMPTY || !is_same(&shown->value, value)) {
		if (!add_value(filling, column->type, value, is_detail, &shown->piece))
			return false;
		shown->value = *value;
	}
	*ret = shown->piece;
	return true;
}

static bool add_row(struct filling *filling, size_t row, size_t detail)
{
	const struct vmop_sheet *sheet = filling->sheet;
	size_t n_shown = 0;
	vmop_sheet_values(sheet, row, detail, filling->values);
	for (size_t c = 0; c < sheet->n_columns; c++) {
		if (!sheet->columns[c].heading)
			continue;
		if (!show_value(filling, &sheet->columns[c], &filling->values[c],
				detail != VMOP_NO_DETAIL, &filling->shown[n_shown],
				&filling->cells[n_shown]))
			return false;
		n_shown++;
	}
	return vmop_text_table_add_row(filling->table, filling->cells);
}

static bool add_rows(struct filling *filling)
{
	for (size_t row = 0; row < filling->sheet->n_rows; row++) {
		size_t n_details = vmop_sheet_n_details(filling->sheet, row);
		if (!add_row(filling, row, VMOP_NO_DETAIL))
			return false;
		for (size_t detail = 0; detail < n_details; detail++) {
			if (!add_row(filling, row, detail))
				return false;
		}
	}
	return true;
}

static bool set_columns(struct filling *filling)
{
	size_t n_shown = 0;
	for (size_t c = 0; c < filling->sheet->n_columns; c++) {
		const struct vmop_column *column = &filling->sheet->columns[c];
		uint32_t heading;
		if (!column->heading)
			continue;
		if (!add_text(filling, column->heading, &heading)) /* can have an event's name */
			return false;
		vmop_text_table_set_column(filling->table, n_shown++, heading,
					   vmop_value_is_right(column->type), column->is_elastic);
	}
	return true;
}

static size_t count_shown(const struct vmop_sheet *sheet)
{
	size_t n = 0;
	for (size_t c = 0; c < sheet->n_columns; c++)
		n += sheet->columns[c].heading != NULL;
	return n;
}

static void destroy_table(struct vmop_text_table **table)
{
	vmop_text_table_destroy(*table);
}

/* Return the sheet's table, fitted to a width (0: any), or NULL without memory. */
static struct vmop_text_table *make_table(const struct vmop_sheet *sheet, size_t width_columns)
{
	size_t n_shown = count_shown(sheet);
	_cleanup_(destroy_table) struct vmop_text_table *table = vmop_text_table_create(n_shown);
	_cleanup_free_ struct vmop_value *values = calloc(sheet->n_columns + 1, sizeof(*values));
	_cleanup_free_ struct shown *shown = calloc(n_shown + 1, sizeof(*shown));
	_cleanup_free_ uint32_t *cells = calloc(n_shown + 1, sizeof(*cells));
	struct filling filling = {.sheet = sheet,
				  .charset = vmop_escape_locale(),
				  .table = table,
				  .values = values,
				  .shown = shown,
				  .cells = cells};
	if (!table || !values || !shown || !cells || !set_columns(&filling) ||
	    !vmop_text_table_reserve(table, sheet->n_rows) || !add_rows(&filling))
		return NULL;
	if (width_columns && !vmop_text_table_fit(table, width_columns, LEAST_COLUMNS))
		return NULL;
	return vmop_steal(&table);
}

static struct vmop_error *print_lines(const char *const *lines, size_t n, size_t width_columns,
				      FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = escape(lines[i]);
		if (!escaped)
			return &vmop_error_no_memory;
		vmop_fit_print(escaped, width_columns, out);
	}
	return NULL;
}

static struct vmop_error *table_print(const struct vmop_sheet *sheet,
				      const struct vmop_output_options *options, FILE *out)
{
	size_t width = options->width_columns;
	_cleanup_(destroy_table) struct vmop_text_table *table = make_table(sheet, width);
	if (!table)
		return &vmop_error_no_memory;
	if (!options->no_header) {
		struct vmop_error *err = print_lines(sheet->lines, sheet->n_lines, width, out);
		if (err)
			return err;
		if (sheet->n_lines)
			fputc('\n', out);
	}
	if (!vmop_text_table_print(table, out))
		return &vmop_error_no_memory;
	return print_lines(sheet->footer, sheet->n_footer, width, out);
}

const struct vmop_output vmop_output_table = {
	.name = "table", .max_values = 2000000, .print = table_print};
