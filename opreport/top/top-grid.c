// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/top/top-grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "opreport/output/line-width.h"
#include "opreport/output/value-text.h"

#define GAP_COLUMNS 2
#define LEAST_COLUMNS 8 /* of an elastic column */
#define PERCENT_DIGITS 1

char *vmop_top_line(const char *text, size_t width_columns)
{
	_cleanup_free_ char *escaped = vmop_escape(text, vmop_escape_locale());
	return escaped ? vmop_fit_shorten(escaped, width_columns) : NULL;
}

/* Return a value as shown, on the heap, or NULL without memory. */
static char *cell_text(const struct vmop_column *column, const struct vmop_value *value)
{
	char number[VMOP_NUMBER_TEXT_BYTES];
	if (value->is_empty)
		return strdup("");
	if (column->type == VMOP_VALUE_TEXT)
		return vmop_escape(value->text, vmop_escape_locale());
	vmop_value_format(column->type, value, PERCENT_DIGITS, number);
	return strdup(number);
}

/* The cells of the rows that the filter lets pass, while they are measured. */
struct cells {
	const struct vmop_sheet *sheet;
	const char *filter;
	size_t n_columns; /* shown: those with a heading */
	size_t *columns;  /* n_columns: index in the sheet */
	size_t *widths;
	bool *is_elastic;
	char **texts; /* n_rows * n_columns */
	struct vmop_value *values;
};

static void cells_deinit(struct cells *cells, size_t n_rows)
{
	for (size_t i = 0; cells->texts && i < n_rows * cells->n_columns; i++)
		free(cells->texts[i]);
	free(cells->texts);
	free(cells->columns);
	free(cells->widths);
	free(cells->is_elastic);
	free(cells->values);
}

static struct vmop_error *cells_init(struct cells *cells, const struct vmop_sheet *sheet)
{
	size_t n = sheet->n_columns + 1;
	cells->sheet = sheet;
	cells->columns = calloc(n, sizeof(*cells->columns));
	cells->widths = calloc(n, sizeof(*cells->widths));
	cells->is_elastic = calloc(n, sizeof(*cells->is_elastic));
	cells->values = calloc(n, sizeof(*cells->values));
	cells->texts = calloc(sheet->n_rows * n + 1, sizeof(*cells->texts));
	if (!cells->columns || !cells->widths || !cells->is_elastic || !cells->values ||
	    !cells->texts)
		return &vmop_error_no_memory;
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (!column->heading)
			continue;
		_cleanup_free_ char *heading = vmop_escape(column->heading, vmop_escape_locale());
		if (!heading)
			return &vmop_error_no_memory;
		cells->widths[cells->n_columns] = vmop_fit_width(heading);
		cells->is_elastic[cells->n_columns] = column->is_elastic;
		cells->columns[cells->n_columns++] = c;
	}
	return NULL;
}

/* Return whether the filter lets the row pass whose values were read. */
static bool is_wanted(const struct cells *cells)
{
	if (!*cells->filter)
		return true;
	for (size_t i = 0; i < cells->n_columns; i++) {
		size_t c = cells->columns[i];
		if (cells->sheet->columns[c].type == VMOP_VALUE_TEXT &&
		    !cells->values[c].is_empty && strcasestr(cells->values[c].text, cells->filter))
			return true;
	}
	return false;
}

/* Add the cells of the row whose values were read as row number n of the grid. */
static struct vmop_error *add_row(struct cells *cells, size_t n, struct vmop_top_row *ret)
{
	for (size_t i = 0; i < cells->n_columns; i++) {
		const struct vmop_column *column = &cells->sheet->columns[cells->columns[i]];
		const struct vmop_value *value = &cells->values[cells->columns[i]];
		char *text = cell_text(column, value);
		if (!text)
			return &vmop_error_no_memory;
		cells->texts[n * cells->n_columns + i] = text;
		size_t width = vmop_fit_width(text);
		if (width > cells->widths[i])
			cells->widths[i] = width;
		if (!strcmp(column->name, "percent") && !value->is_empty)
			ret->percent = value->percent;
	}
	return NULL;
}

static void pad(FILE *out, size_t from, size_t to)
{
	if (to > from)
		fprintf(out, "%*s", (int)(to - from), "");
}

/* Print one cell, right-aligned if it is a number. */
static struct vmop_error *print_cell(const struct cells *cells, size_t i, const char *text,
				     FILE *out)
{
	_cleanup_free_ char *cut = vmop_fit_shorten(text, cells->widths[i]);
	if (!cut)
		return &vmop_error_no_memory;
	size_t width = vmop_fit_width(cut);
	bool is_right = vmop_value_is_right(cells->sheet->columns[cells->columns[i]].type);
	if (i)
		fprintf(out, "%*s", GAP_COLUMNS, "");
	if (is_right)
		pad(out, width, cells->widths[i]);
	fputs(cut, out);
	if (!is_right)
		pad(out, width, cells->widths[i]);
	return NULL;
}

/* Make a line of a row's texts, or of the headings if texts is NULL. */
static struct vmop_error *make_line(const struct cells *cells, char *const *texts,
				    size_t width_columns, char **ret)
{
	_cleanup_free_ char *line = NULL;
	size_t len_bytes = 0;
	FILE *out = open_memstream(&line, &len_bytes);
	struct vmop_error *err = out ? NULL : &vmop_error_no_memory;
	for (size_t i = 0; i < cells->n_columns && !err; i++) {
		_cleanup_free_ char *heading = NULL;
		if (!texts)
			heading = vmop_escape(cells->sheet->columns[cells->columns[i]].heading,
					      vmop_escape_locale());
		const char *text = texts ? texts[i] : heading;
		err = text ? print_cell(cells, i, text, out) : &vmop_error_no_memory;
	}
	if (out && fclose(out))
		err = &vmop_error_no_memory;
	if (!err) /* columns that aren't elastic can need more than there is */
		*ret = vmop_fit_shorten(line, width_columns);
	return err || *ret ? err : &vmop_error_no_memory;
}

static struct vmop_error *fill(struct vmop_top_grid *grid, struct cells *cells,
			       size_t width_columns)
{
	const struct vmop_sheet *sheet = cells->sheet;
	struct vmop_error *err = NULL;
	for (size_t row = 0; row < sheet->n_rows && !err; row++) {
		vmop_sheet_values(sheet, row, VMOP_NO_DETAIL, cells->values);
		if (!is_wanted(cells))
			continue;
		struct vmop_top_row *shown = &grid->rows[grid->n_rows];
		shown->row = row;
		err = add_row(cells, grid->n_rows++, shown);
	}
	vmop_fit_columns(cells->widths, cells->is_elastic, cells->n_columns, GAP_COLUMNS,
			 width_columns, LEAST_COLUMNS);
	if (!err)
		err = make_line(cells, NULL, width_columns, &grid->heading);
	for (size_t i = 0; i < grid->n_rows && !err; i++)
		err = make_line(cells, cells->texts + i * cells->n_columns, width_columns,
				&grid->rows[i].line);
	return err;
}

struct vmop_error *vmop_top_grid_init(struct vmop_top_grid *ret, const struct vmop_sheet *sheet,
				      const char *filter, size_t width_columns)
{
	struct cells cells = {.filter = filter};
	*ret = (struct vmop_top_grid){.rows = calloc(sheet->n_rows + 1, sizeof(*ret->rows))};
	if (!ret->rows)
		return &vmop_error_no_memory;
	struct vmop_error *err = cells_init(&cells, sheet);
	if (!err)
		err = fill(ret, &cells, width_columns);
	cells_deinit(&cells, ret->n_rows);
	return err;
}

void vmop_top_grid_deinit(struct vmop_top_grid *grid)
{
	for (size_t i = 0; i < grid->n_rows; i++)
		free(grid->rows[i].line);
	free(grid->rows);
	free(grid->heading);
	*grid = (struct vmop_top_grid){0};
}
