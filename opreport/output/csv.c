// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RFC 4180 without its CR: a line of column names, then a line a row; rows with
 * details are given by their details.  A line is always one row: names are escaped
 * (libutil/escape.h), as UTF-8 in any locale.  No comments; losses are on stderr.
 */
#include "opreport/output/output.h"

#include <errno.h>
#include <inttypes.h>
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

static struct vmop_error *print_cell(const struct vmop_cell *cell, enum vmop_cell_type type,
				     FILE *out)
{
	if (cell->is_empty)
		return NULL;
	switch (type) {
	case VMOP_CELL_TEXT:
		return print_text(cell->text, out);
	case VMOP_CELL_COUNT:
		fprintf(out, "%" PRIu64, cell->number);
		break;
	case VMOP_CELL_PERCENT:
		fprintf(out, "%.6f", cell->percent);
		break;
	case VMOP_CELL_ADDRESS:
		fprintf(out, "0x%" PRIx64, cell->number);
		break;
	case VMOP_CELL_RATIO:
		if (vmop_cell_is_number(cell))
			fprintf(out, "%.6g", cell->ratio);
		break;
	}
	return NULL;
}

static struct vmop_error *print_row(const struct vmop_sheet *sheet, size_t row, size_t detail,
				    FILE *out)
{
	struct vmop_error *err = NULL;
	for (size_t c = 0; c < sheet->n_columns && !err; c++) {
		struct vmop_cell cell = {0};
		sheet->cell(sheet, row, detail, &sheet->columns[c], &cell);
		if (c)
			fputc(',', out);
		if (cell.is_empty && detail != VMOP_NO_DETAIL) {
			cell = (struct vmop_cell){0};
			sheet->cell(sheet, row, VMOP_NO_DETAIL, &sheet->columns[c], &cell);
		}
		err = print_cell(&cell, sheet->columns[c].type, out);
	}
	fputc('\n', out);
	return err;
}

static struct vmop_error *csv_print(const struct vmop_sheet *sheet,
				    const struct vmop_output_options *options, FILE *out)
{
	(void)options;
	struct vmop_error *err = NULL;
	for (size_t c = 0; c < sheet->n_columns && !err; c++) {
		if (c)
			fputc(',', out);
		err = print_text(sheet->columns[c].name, out);
	}
	fputc('\n', out);
	for (size_t row = 0; row < sheet->n_rows && !err; row++) {
		size_t n_details = vmop_sheet_n_details(sheet, row);
		if (!n_details)
			err = print_row(sheet, row, VMOP_NO_DETAIL, out);
		for (size_t detail = 0; detail < n_details && !err; detail++)
			err = print_row(sheet, row, detail, out);
	}
	return err;
}

const struct vmop_output vmop_output_csv = {
	.name = "csv", .max_cells = 16000000, .print = csv_print};
