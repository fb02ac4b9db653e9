// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RFC 4180 with LF in place of CR LF: a line of column names, then a line for each row, or for each
 * detail of a row that has some.  Names are escaped (libutil/escape.h), so a row is one line, and
 * are UTF-8 in any locale.  There are no comments; losses go to stderr.
 */
#include "opreport/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"

static struct vmop_error *print_text(const char *text, FILE *out)
{
	_cleanup_free_ char *escaped = NULL;
	if (!vmop_escape_is_plain(text, VMOP_CHARSET_UTF8)) {
		text = escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
		if (!escaped)
			return &vmop_error_no_memory;
	}
	if (!strpbrk(text, ",\"")) {
		fputs(text, out);
		return NULL;
	}
	fputc('"', out);
	for (const char *at = text; *at; at++) {
		if (*at == '"')
			fputc('"', out);
		fputc(*at, out);
	}
	fputc('"', out);
	return NULL;
}

static struct vmop_error *print_value(const struct vmop_value *value, enum vmop_value_type type,
				      FILE *out)
{
	if (value->is_empty)
		return NULL;
	switch (type) {
	case VMOP_VALUE_TEXT:
		return print_text(value->text, out);
	case VMOP_VALUE_COUNT:
		fprintf(out, "%" PRIu64, value->number);
		break;
	case VMOP_VALUE_PERCENT:
		fprintf(out, "%.6f", value->percent);
		break;
	case VMOP_VALUE_ADDRESS:
		fprintf(out, "0x%" PRIx64, value->number);
		break;
	case VMOP_VALUE_RATIO:
		if (vmop_value_is_number(value))
			fprintf(out, "%.6g", value->ratio);
		break;
	}
	return NULL;
}

/* Print a line.  Print the row's value, from `row_values`, where the detail's is empty. */
static struct vmop_error *print_line(const struct vmop_sheet *sheet,
				     const struct vmop_value *values,
				     const struct vmop_value *row_values, FILE *out)
{
	struct vmop_error *err = NULL;
	for (size_t c = 0; c < sheet->n_columns && !err; c++) {
		const struct vmop_value *value = values[c].is_empty ? &row_values[c] : &values[c];
		if (c)
			fputc(',', out);
		err = print_value(value, sheet->columns[c].type, out);
	}
	fputc('\n', out);
	return err;
}

/* Print a row, or its details where it has any.  values: 2 * n_columns. */
static struct vmop_error *print_row(const struct vmop_sheet *sheet, size_t row,
				    struct vmop_value *values, FILE *out)
{
	struct vmop_value *detail_values = values + sheet->n_columns;
	size_t n_details = vmop_sheet_n_details(sheet, row);
	struct vmop_error *err = NULL;
	vmop_sheet_values(sheet, row, VMOP_NO_DETAIL, values);
	if (!n_details)
		err = print_line(sheet, values, values, out);
	for (size_t detail = 0; detail < n_details && !err; detail++) {
		vmop_sheet_values(sheet, row, detail, detail_values);
		err = print_line(sheet, detail_values, values, out);
	}
	return err;
}

static struct vmop_error *csv_print(const struct vmop_sheet *sheet,
				    const struct vmop_output_options *options, FILE *out)
{
	(void)options;
	struct vmop_error *err = NULL;
	_cleanup_free_ struct vmop_value *values = calloc(2 * sheet->n_columns, sizeof(*values));
	if (!values)
		return &vmop_error_no_memory;
	for (size_t c = 0; c < sheet->n_columns && !err; c++) {
		if (c)
			fputc(',', out);
		err = print_text(sheet->columns[c].name, out);
	}
	fputc('\n', out);
	for (size_t row = 0; row < sheet->n_rows && !err; row++)
		err = print_row(sheet, row, values, out);
	return err;
}

const struct vmop_output vmop_output_csv = {
	.name = "csv", .max_values = 16000000, .print = csv_print};
