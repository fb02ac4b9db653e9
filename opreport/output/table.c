// SPDX-License-Identifier: GPL-2.0-or-later
/* The format for people: lines, a table aligned by libsmartcols, lines. */
#include "opreport/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "opreport/output/line-width.h"

#define SEPARATOR "  "

enum {
	LEAST_COLUMNS = 8 /* the least width of an elastic column */
};

static void unref_table(struct libscols_table **table)
{
	scols_unref_table(*table);
}

/*
 * Escape text for the locale.  Without UTF-8 the result is ASCII: the terminal cannot show more,
 * and libsmartcols 2.38 loops forever over characters that mbrtowc(3) rejects.
 */
static char *escape(const char *text)
{
	return vmop_escape(text, vmop_escape_locale());
}

/* Print three significant digits, or all digits before the point. */
static void format_ratio(const struct vmop_value *value, char *ret, size_t size)
{
	double ratio = value->ratio;
	const char mark[] = {value->mark, '\0'};
	if (value->mark == VMOP_MARK_UNKNOWN)
		snprintf(ret, size, "-");
	else if (ratio > 0 && (ratio < 0.001 || ratio >= 1e9))
		snprintf(ret, size, "%s%.2e", mark, ratio);
	else
		snprintf(ret, size, "%s%.*f", mark,
			 ratio >= 100		  ? 0
			 : ratio >= 10		  ? 1
			 : ratio >= 0.1 || !ratio ? 2
						  : 4,
			 ratio);
}

/* Return a value as shown, escaped, which the caller frees; NULL without memory. */
static char *value_text(enum vmop_value_type type, const struct vmop_value *value, bool is_detail)
{
	char buffer[40];
	switch (type) {
	case VMOP_VALUE_TEXT:
		return escape(value->text);
	case VMOP_VALUE_COUNT:
		snprintf(buffer, sizeof(buffer), "%" PRIu64, value->number);
		break;
	case VMOP_VALUE_PERCENT:
		snprintf(buffer, sizeof(buffer), "%.2f", value->percent);
		break;
	case VMOP_VALUE_ADDRESS:
		snprintf(buffer, sizeof(buffer), "%s%08" PRIx64, is_detail ? "  " : "",
			 value->number);
		break;
	case VMOP_VALUE_RATIO:
		format_ratio(value, buffer, sizeof(buffer));
		break;
	}
	return strdup(buffer);
}

/*
 * A table while it is filled.  The functions below return 0, or a negative errno without memory.
 */
struct filling {
	const struct vmop_sheet *sheet;
	struct libscols_table *table;
	size_t *widths;		   /* of each shown column: needed, then granted */
	bool *is_elastic;	   /* likewise */
	bool is_fitted;		   /* widths are granted */
	struct vmop_value *values; /* n_columns: of the row or detail that is being read */
};

/* Call each for every value of a row or detail; `each` frees text. */
static int each_value(struct filling *filling, size_t row, size_t detail, void *arg,
		      int (*each)(struct filling *filling, void *arg, size_t shown, char *text))
{
	const struct vmop_sheet *sheet = filling->sheet;
	size_t shown = 0;
	vmop_sheet_values(sheet, row, detail, filling->values);
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (!column->heading)
			continue;
		if (!filling->values[c].is_empty) {
			char *text = value_text(column->type, &filling->values[c],
						detail != VMOP_NO_DETAIL);
			int failed = text ? each(filling, arg, shown, text) : -ENOMEM;
			if (failed)
				return failed;
		}
		shown++;
	}
	return 0;
}

static int measure_value(struct filling *filling, void *arg, size_t shown, char *text)
{
	(void)arg;
	size_t width = vmop_fit_width(text);
	if (width > filling->widths[shown])
		filling->widths[shown] = width;
	free(text);
	return 0;
}

static int set_value(struct filling *filling, void *line, size_t shown, char *text)
{
	if (filling->is_fitted && filling->is_elastic[shown]) {
		char *shortened = vmop_fit_shorten(text, filling->widths[shown]);
		free(text);
		text = shortened;
	}
	return text ? scols_line_refer_data(line, shown, text) : -ENOMEM;
}

static int measure_row(struct filling *filling, size_t row, size_t detail)
{
	return each_value(filling, row, detail, NULL, measure_value);
}

static int add_line(struct filling *filling, size_t row, size_t detail)
{
	struct libscols_line *line = scols_table_new_line(filling->table, NULL);
	return line ? each_value(filling, row, detail, line, set_value) : -ENOMEM;
}

static int each_row(struct filling *filling,
		    int (*each)(struct filling *filling, size_t row, size_t detail))
{
	int failed = 0;
	for (size_t row = 0; row < filling->sheet->n_rows && !failed; row++) {
		size_t n_details = vmop_sheet_n_details(filling->sheet, row);
		failed = each(filling, row, VMOP_NO_DETAIL);
		for (size_t detail = 0; detail < n_details && !failed; detail++)
			failed = each(filling, row, detail);
	}
	return failed;
}

static int fit(struct filling *filling, size_t n_shown, size_t width_columns)
{
	int failed = each_row(filling, measure_row);
	vmop_fit_columns(filling->widths, filling->is_elastic, n_shown, sizeof(SEPARATOR) - 1,
			 width_columns, LEAST_COLUMNS);
	filling->is_fitted = true;
	return failed;
}

static int add_columns(struct filling *filling, size_t *ret_n_shown)
{
	size_t shown = 0;
	for (size_t c = 0; c < filling->sheet->n_columns; c++) {
		const struct vmop_column *column = &filling->sheet->columns[c];
		if (!column->heading)
			continue;
		bool is_number = column->type == VMOP_VALUE_COUNT ||
				 column->type == VMOP_VALUE_PERCENT ||
				 column->type == VMOP_VALUE_RATIO;
		_cleanup_free_ char *heading =
			escape(column->heading); /* can contain an event's name */
		if (!heading || !scols_table_new_column(filling->table, heading, 0,
							is_number ? SCOLS_FL_RIGHT : 0))
			return -ENOMEM;
		filling->widths[shown] = vmop_fit_width(heading);
		filling->is_elastic[shown++] = column->is_elastic;
	}
	*ret_n_shown = shown;
	return 0;
}

static int fill(struct libscols_table *table, const struct vmop_sheet *sheet, size_t width_columns)
{
	_cleanup_free_ size_t *widths = calloc(sheet->n_columns + 1, sizeof(*widths));
	_cleanup_free_ bool *is_elastic = calloc(sheet->n_columns + 1, sizeof(*is_elastic));
	_cleanup_free_ struct vmop_value *values = calloc(sheet->n_columns, sizeof(*values));
	if (!widths || !is_elastic || !values)
		return -ENOMEM;
	struct filling filling = {.sheet = sheet,
				  .table = table,
				  .widths = widths,
				  .is_elastic = is_elastic,
				  .values = values};
	size_t n_shown;
	int failed = add_columns(&filling, &n_shown);
	if (!failed && width_columns)
		failed = fit(&filling, n_shown, width_columns);
	return failed ? failed : each_row(&filling, add_line);
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

/* Print the table without the blanks that libsmartcols adds for empty values at line ends. */
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
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER); /* widths fit already */
	scols_table_set_column_separator(table, SEPARATOR);
	scols_table_enable_noencoding(table, 1); /* values are escaped already */
	if (fill(table, sheet, width))
		return &vmop_error_no_memory;
	if (!options->no_header) {
		struct vmop_error *err = print_lines(sheet->lines, sheet->n_lines, width, out);
		if (err)
			return err;
		if (sheet->n_lines)
			fputc('\n', out);
	}
	_cleanup_free_ char *text = NULL;
	if (scols_print_table_to_string(table, &text) || !text)
		return &vmop_error_no_memory;
	print_without_trailing_blanks(text, out);
	return print_lines(sheet->footer, sheet->n_footer, width, out);
}

const struct vmop_output vmop_output_table = {
	.name = "table", .max_values = 2000000, .print = table_print};
