// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/text-table.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/output/line-width.h"

enum { SEPARATOR_COLUMNS = 2 };

/* Tables have tens of thousands of pieces: small ones stay in the CPU's caches. */
struct piece {
	const char *text; /* NULL: a copy, at `at` in the table's bytes, which can move */
	size_t at;
	uint32_t len_bytes, width_columns;
};

struct column {
	uint32_t heading; /* a piece */
	bool is_right, is_elastic;
};

struct vmop_text_table {
	struct piece *pieces;
	size_t n_pieces, pieces_capacity;
	char *bytes; /* copies, one after another */
	size_t len_bytes, bytes_capacity;
	uint32_t *cells; /* pieces, row by row */
	size_t n_cells, cells_capacity;
	size_t n_columns;
	struct column columns[];
};

struct vmop_text_table *vmop_text_table_create(size_t n_columns)
{
	struct vmop_text_table *table =
		calloc(1, sizeof(*table) + n_columns * sizeof(struct column));
	uint32_t empty;
	if (!table)
		return NULL;
	table->n_columns = n_columns;
	if (vmop_text_table_refer(table, "", &empty))
		return table;
	vmop_text_table_destroy(table);
	return NULL;
}

void vmop_text_table_destroy(struct vmop_text_table *table)
{
	if (!table)
		return;
	free(table->pieces);
	free(table->bytes);
	free(table->cells);
	free(table);
}

void vmop_text_table_set_column(struct vmop_text_table *table, size_t column, uint32_t heading,
				bool is_right, bool is_elastic)
{
	table->columns[column] = (struct column){heading, is_right, is_elastic};
}

static bool add_piece(struct vmop_text_table *table, struct piece piece, size_t len_bytes,
		      size_t width_columns, uint32_t *ret)
{
	if (table->n_pieces == UINT32_MAX || len_bytes > UINT32_MAX ||
	    !vmop_array_reserve(table->pieces, table->pieces_capacity, table->n_pieces + 1))
		return false;
	piece.len_bytes = (uint32_t)len_bytes;
	piece.width_columns = (uint32_t)width_columns; /* at most one a byte */
	*ret = (uint32_t)table->n_pieces;
	table->pieces[table->n_pieces++] = piece;
	return true;
}

bool vmop_text_table_copy(struct vmop_text_table *table, const char *text, uint32_t *ret)
{
	const struct piece piece = {.at = table->len_bytes};
	size_t len_bytes = strlen(text), end = piece.at + len_bytes + 1; /* with its NUL */
	if (!vmop_array_reserve(table->bytes, table->bytes_capacity, end))
		return false;
	memcpy(table->bytes + piece.at, text, len_bytes + 1);
	table->len_bytes = end;
	return add_piece(table, piece, len_bytes, vmop_fit_width(text), ret);
}

bool vmop_text_table_refer(struct vmop_text_table *table, const char *text, uint32_t *ret)
{
	const struct piece piece = {.text = text};
	return add_piece(table, piece, strlen(text), vmop_fit_width(text), ret);
}

bool vmop_text_table_refer_ascii(struct vmop_text_table *table, const char *text, size_t len_bytes,
				 uint32_t *ret)
{
	return add_piece(table, (struct piece){.text = text}, len_bytes, len_bytes, ret);
}

bool vmop_text_table_reserve(struct vmop_text_table *table, size_t n_rows)
{
	return n_rows <= SIZE_MAX / sizeof(*table->cells) / (table->n_columns + 1) &&
	       vmop_array_reserve(table->cells, table->cells_capacity, n_rows * table->n_columns);
}

bool vmop_text_table_add_row(struct vmop_text_table *table, const uint32_t *pieces)
{
	if (!table->n_columns)
		return true;
	if (!vmop_array_reserve(table->cells, table->cells_capacity,
				table->n_cells + table->n_columns))
		return false;
	memcpy(table->cells + table->n_cells, pieces, table->n_columns * sizeof(*pieces));
	table->n_cells += table->n_columns;
	return true;
}

static const char *text_of(const struct vmop_text_table *table, const struct piece *piece)
{
	return piece->text ? piece->text : table->bytes + piece->at;
}

/* Set widths[0..n_columns) to those of the widest cell or heading. */
static void measure(const struct vmop_text_table *table, size_t *widths)
{
	for (size_t c = 0; c < table->n_columns; c++)
		widths[c] = table->pieces[table->columns[c].heading].width_columns;
	for (size_t cell = 0; cell < table->n_cells; cell += table->n_columns) {
		for (size_t c = 0; c < table->n_columns; c++) {
			size_t width = table->pieces[table->cells[cell + c]].width_columns;
			if (width > widths[c])
				widths[c] = width;
		}
	}
}

/* ---- fit ---------------------------------------------------------------------- */

/* Set *ret to a piece with the beginning of another one that fits. */
static bool shorten(struct vmop_text_table *table, uint32_t piece, size_t width, uint32_t *ret)
{
	_cleanup_free_ char *shortened =
		vmop_fit_shorten(text_of(table, &table->pieces[piece]), width);
	return shortened && vmop_text_table_copy(table, shortened, ret);
}

static bool shorten_column(struct vmop_text_table *table, size_t column, size_t width)
{
	uint32_t last = VMOP_TEXT_EMPTY, last_shortened = VMOP_TEXT_EMPTY;
	for (size_t cell = column; cell < table->n_cells; cell += table->n_columns) {
		uint32_t piece = table->cells[cell];
		if (table->pieces[piece].width_columns <= width)
			continue;
		if (piece != last && !shorten(table, piece, width, &last_shortened))
			return false;
		last = piece;
		table->cells[cell] = last_shortened;
	}
	return true;
}

bool vmop_text_table_fit(struct vmop_text_table *table, size_t total_columns, size_t least_columns)
{
	size_t n = table->n_columns;
	_cleanup_free_ size_t *widths = calloc(n + 1, sizeof(*widths));
	_cleanup_free_ bool *is_elastic = calloc(n + 1, sizeof(*is_elastic));
	if (!widths || !is_elastic)
		return false;
	for (size_t c = 0; c < n; c++)
		is_elastic[c] = table->columns[c].is_elastic;
	measure(table, widths);
	vmop_fit_columns(widths, is_elastic, n, SEPARATOR_COLUMNS, total_columns, least_columns);
	for (size_t c = 0; c < n; c++) {
		if (is_elastic[c] && !shorten_column(table, c, widths[c]))
			return false;
	}
	return true;
}

/* ---- print -------------------------------------------------------------------- */

/* Text on its way to a file: a call of stdio for each cell takes longer than all else. */
struct writer {
	FILE *out;
	size_t len_bytes;
	char bytes[65536];
};

static void flush(struct writer *writer)
{
	fwrite_unlocked(writer->bytes, 1, writer->len_bytes, writer->out);
	writer->len_bytes = 0;
}

/* Return room for the next bytes, at most *len_bytes. */
static char *make_room(struct writer *writer, size_t *len_bytes)
{
	if (*len_bytes > sizeof(writer->bytes) - writer->len_bytes)
		flush(writer);
	if (*len_bytes > sizeof(writer->bytes))
		*len_bytes = sizeof(writer->bytes);
	char *room = writer->bytes + writer->len_bytes;
	writer->len_bytes += *len_bytes;
	return room;
}

static void put_text(struct writer *writer, const char *text, size_t len_bytes)
{
	for (size_t len; len_bytes; len_bytes -= len, text += len) {
		len = len_bytes;
		memcpy(make_room(writer, &len), text, len);
	}
}

static void put_blanks(struct writer *writer, size_t n)
{
	for (size_t len; n; n -= len) {
		len = n;
		memset(make_room(writer, &len), ' ', len);
	}
}

/* Print a line's cells.  Blanks wait for the text behind them, so none ends the line. */
static void print_line(const struct vmop_text_table *table, const uint32_t *cells,
		       const size_t *widths, struct writer *writer)
{
	size_t n_blanks = 0;
	for (size_t c = 0; c < table->n_columns; c++) {
		const struct piece *piece = &table->pieces[cells[c]];
		const char *text = text_of(table, piece);
		size_t padding = widths[c] - piece->width_columns, len_bytes = piece->len_bytes;
		while (len_bytes && text[len_bytes - 1] == ' ')
			len_bytes--;
		if (table->columns[c].is_right)
			n_blanks += padding;
		if (len_bytes) {
			put_blanks(writer, n_blanks);
			put_text(writer, text, len_bytes);
			n_blanks = 0;
		}
		n_blanks += piece->len_bytes - len_bytes + SEPARATOR_COLUMNS;
		if (!table->columns[c].is_right)
			n_blanks += padding;
	}
	put_text(writer, "\n", 1);
}

/* Return the text in the last column of a row that is printed soon, often the longest. */
static const char *last_text_ahead(const struct vmop_text_table *table, size_t cell)
{
	const size_t ahead = 9 * table->n_columns - 1;
	if (ahead >= table->n_cells - cell)
		return NULL;
	return text_of(table, &table->pieces[table->cells[cell + ahead]]);
}

bool vmop_text_table_print(const struct vmop_text_table *table, FILE *out)
{
	_cleanup_free_ size_t *widths = calloc(table->n_columns + 1, sizeof(*widths));
	_cleanup_free_ uint32_t *headings = calloc(table->n_columns + 1, sizeof(*headings));
	if (!widths || !headings)
		return false;
	if (!table->n_cells)
		return true;
	measure(table, widths);
	for (size_t c = 0; c < table->n_columns; c++)
		headings[c] = table->columns[c].heading;
	struct writer writer; /* without zeros in all of its bytes */
	writer.out = out;
	writer.len_bytes = 0;
	print_line(table, headings, widths, &writer);
	for (size_t cell = 0; cell < table->n_cells; cell += table->n_columns) {
		__builtin_prefetch(last_text_ahead(table, cell));
		print_line(table, table->cells + cell, widths, &writer);
	}
	flush(&writer);
	return true;
}
