// SPDX-License-Identifier: GPL-2.0-or-later
/* For people: lines above, an aligned table by libsmartcols, lines below. */
#include "opreport/output.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/escape.h"

static void unref_table(struct libscols_table **table)
{
	scols_unref_table(*table);
}

/*
 * Where the locale has no UTF-8 everything is made ASCII: a terminal could not show it, and
 * libsmartcols 2.38 loops for ever over what mbrtowc(3) refuses.
 */
static char *escape(const char *text)
{
	bool has_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	return has_utf8 ? vmop_text_escape(text) : vmop_text_escape_ascii(text);
}

static int set_text(struct libscols_line *line, size_t column, const char *text)
{
	if (vmop_text_is_plain_ascii(text))
		return scols_line_set_data(line, column, text);
	char *escaped = escape(text);
	return escaped ? scols_line_refer_data(line, column, escaped) : -ENOMEM;
}

static int set_cell(struct libscols_line *line, size_t column, enum vmop_cell_type type,
		    const struct vmop_cell *cell, bool is_detail)
{
	char buffer[40];
	switch (type) {
	case VMOP_CELL_TEXT:
		return set_text(line, column, cell->text);
	case VMOP_CELL_COUNT:
		snprintf(buffer, sizeof(buffer), "%" PRIu64, cell->number);
		break;
	case VMOP_CELL_PERCENT:
		snprintf(buffer, sizeof(buffer), "%.2f", cell->percent);
		break;
	case VMOP_CELL_ADDRESS:
		snprintf(buffer, sizeof(buffer), "%s%08" PRIx64, is_detail ? "  " : "",
			 cell->number);
		break;
	}
	return scols_line_set_data(line, column, buffer);
}

static int add_line(struct libscols_table *table, const struct vmop_sheet *sheet, size_t row,
		    size_t detail)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	if (!line)
		return -ENOMEM;
	size_t shown = 0;
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (!column->heading)
			continue;
		struct vmop_cell cell = {0};
		sheet->cell(sheet, row, detail, column, &cell);
		int failed = cell.is_empty ? 0
					   : set_cell(line, shown, column->type, &cell,
						      detail != VMOP_NO_DETAIL);
		if (failed)
			return failed;
		shown++;
	}
	return 0;
}

static int add_columns(struct libscols_table *table, const struct vmop_sheet *sheet)
{
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		bool is_number =
			column->type == VMOP_CELL_COUNT || column->type == VMOP_CELL_PERCENT;
		int flags = (is_number ? SCOLS_FL_RIGHT : 0) |
			    (column->is_elastic ? SCOLS_FL_TRUNC : 0);
		if (column->heading && !scols_table_new_column(table, column->heading, 0, flags))
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct libscols_table *table, const struct vmop_sheet *sheet)
{
	int failed = add_columns(table, sheet);
	for (size_t row = 0; row < sheet->n_rows && !failed; row++) {
		size_t n_details = vmop_sheet_n_details(sheet, row);
		failed = add_line(table, sheet, row, VMOP_NO_DETAIL);
		for (size_t detail = 0; detail < n_details && !failed; detail++)
			failed = add_line(table, sheet, row, detail);
	}
	return failed;
}

static struct vmop_error *print_lines(const char *const *lines, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = escape(lines[i]);
		if (!escaped)
			return &vmop_error_no_memory;
		fprintf(out, "%s\n", escaped);
	}
	return NULL;
}

/* libsmartcols fills up empty cells at the end of a line. */
static void print_without_trailing_blanks(const char *text, FILE *out)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), shown = len;
		while (shown && line[shown - 1] == ' ')
			shown--;
		fwrite(line, 1, shown, out);
		fputc('\n', out);
		line += len + (line[len] == '\n');
	}
}

static struct vmop_error *table_print(const struct vmop_sheet *sheet,
				      const struct vmop_output_options *options, FILE *out)
{
	_cleanup_(unref_table) struct libscols_table *table = scols_new_table();
	if (!table)
		return &vmop_error_no_memory;
	size_t width = options->width_columns;
	scols_table_set_termforce(table, width ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	scols_table_set_termwidth(table, width);
	scols_table_set_column_separator(table, "  ");
	scols_table_enable_noencoding(table, 1); /* cells are escaped already */
	if (fill(table, sheet))
		return &vmop_error_no_memory;
	if (!options->no_header) {
		struct vmop_error *err = print_lines(sheet->lines, sheet->n_lines, out);
		if (err)
			return err;
		if (sheet->n_lines)
			fputc('\n', out);
	}
	_cleanup_free_ char *text = NULL;
	if (scols_print_table_to_string(table, &text) || !text)
		return &vmop_error_no_memory;
	print_without_trailing_blanks(text, out);
	return print_lines(sheet->footer, sheet->n_footer, out);
}

const struct vmop_output vmop_output_table = {.name = "table", .print = table_print};
