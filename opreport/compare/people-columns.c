// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The columns of a comparison for people: numbers with their intervals as text, which is padded so
 * that it is aligned to the right.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "opreport/compare/difference.h"
#include "opreport/compare/figure.h"
#include "opreport/compare/sheet-open.h"

enum column_id {
	COLUMN_SAMPLES_BEFORE,
	COLUMN_SAMPLES_AFTER,
	COLUMN_BEFORE,
	COLUMN_AFTER,
	COLUMN_DIFFERENCE,
	COLUMN_RATIO,
	COLUMN_CHANGE,
	COLUMN_NAME, /* + enum vmop_compared_name */
};

static bool is_percent(const struct vmop_comparison_sheet *of)
{
	return of->comparison->per.kind == VMOP_PER_SAMPLES;
}

/* Return the factor of shown numbers: nanoseconds are shown as seconds. */
static double scale(const struct vmop_comparison_sheet *of)
{
	bool is_rate = of->comparison->per.kind == VMOP_PER_TIME ||
		       of->comparison->per.kind == VMOP_PER_UNITS;
	const char *unit = of->comparison->events[of->options.event].unit;
	return is_rate && !strcmp(unit, "ns") ? 1e-9 : 1;
}

static struct vmop_error *add(struct vmop_comparison_sheet *of, int id, const char *heading)
{
	if (!heading)
		return &vmop_error_no_memory;
	of->columns[of->sheet.n_columns++] = (struct vmop_column){.name = "",
								  .heading = heading,
								  .type = VMOP_VALUE_TEXT,
								  .is_elastic = id >= COLUMN_NAME,
								  .id = id};
	return NULL;
}

static struct vmop_error *add_columns(struct vmop_comparison_sheet *of)
{
	static const char *const names[VMOP_N_COMPARED_NAMES] = {"domain", "cgroup", "task",
								 "image", "symbol"};
	char a = of->comparison->sides[0].letter;
	char b = of->comparison->sides[of->options.other].letter;
	const char *unit = is_percent(of) ? " %" : "";
	struct vmop_error *err = NULL;
	if (of->options.is_wide)
		err = add(of, COLUMN_SAMPLES_BEFORE, vmop_comparison_sheet_text(of, "in %c", a));
	if (!err && of->options.is_wide)
		err = add(of, COLUMN_SAMPLES_AFTER, vmop_comparison_sheet_text(of, "in %c", b));
	if (!err)
		err = add(of, COLUMN_BEFORE, vmop_comparison_sheet_text(of, "%c%s", a, unit));
	if (!err)
		err = add(of, COLUMN_AFTER, vmop_comparison_sheet_text(of, "%c%s", b, unit));
	if (!err)
		err = add(of, COLUMN_DIFFERENCE,
			  vmop_comparison_sheet_text(of, "%c - %c, 99 %%", b, a));
	if (!err)
		err = add(of, COLUMN_RATIO,
			  vmop_comparison_sheet_text(
				  of, of->options.is_wide ? "%c / %c, 99 %%" : "%c / %c", b, a));
	if (!err)
		err = add(of, COLUMN_CHANGE, "");
	for (int i = 0; i < VMOP_N_COMPARED_NAMES && !err; i++)
		if (vmop_comparison_sheet_has(of, i))
			err = add(of, COLUMN_NAME + i, names[i]);
	return err;
}

/* A row while its cells are made. */
struct shown {
	const struct vmop_count *counts;
	struct vmop_difference difference;
	struct vmop_compared_line *line;
	size_t other;
};

/* Print one side's number, or "-" where the side has no sample of the row. */
static void print_side(const struct vmop_comparison_sheet *of, const struct shown *shown,
		       bool is_after, char *ret)
{
	struct vmop_interval value = is_after ? shown->difference.after : shown->difference.before;
	if (!shown->counts[is_after ? shown->other : 0].samples || !value.is_known)
		snprintf(ret, VMOP_FIGURE_BYTES, "-");
	else if (is_percent(of))
		vmop_figure_percent(value.value, false, ret, VMOP_FIGURE_BYTES);
	else
		vmop_figure(value.value * scale(of), false, ret, VMOP_FIGURE_BYTES);
}

static struct vmop_interval scaled(struct vmop_interval of, double factor)
{
	return factor == 1 ? of : vmop_interval_scale(of, factor);
}

/* Print a ratio, with its interval if there is room for it. */
static void print_ratio(const struct vmop_comparison_sheet *of, struct vmop_interval ratio,
			char *ret)
{
	if (of->options.is_wide || !ratio.is_known || isinf(ratio.value))
		vmop_figure_interval(ratio, false, false, ret);
	else
		vmop_figure(ratio.value, false, ret, VMOP_FIGURE_BYTES);
}

/* Return the cell's text, which the arena or the comparison owns, or NULL without memory. */
static const char *cell(struct vmop_comparison_sheet *of, const struct shown *shown, int id)
{
	char text[VMOP_FIGURE_BYTES] = "";
	switch (id) {
	case COLUMN_SAMPLES_BEFORE:
		snprintf(text, sizeof(text), "%" PRIu64, shown->counts[0].samples);
		break;
	case COLUMN_SAMPLES_AFTER:
		snprintf(text, sizeof(text), "%" PRIu64, shown->counts[shown->other].samples);
		break;
	case COLUMN_BEFORE:
	case COLUMN_AFTER:
		print_side(of, shown, id == COLUMN_AFTER, text);
		break;
	case COLUMN_DIFFERENCE:
		vmop_figure_interval(scaled(shown->difference.difference, scale(of)),
				     is_percent(of), true, text);
		break;
	case COLUMN_RATIO:
		print_ratio(of, shown->difference.ratio, text);
		break;
	case COLUMN_CHANGE:
		return vmop_change_word(shown->difference.change);
	default:
		return vmop_comparison_sheet_name(of, shown->line, id - COLUMN_NAME);
	}
	return vmop_arena_text(&of->arena, text);
}

/* Pad a text on its left side to a width, which is of printable ASCII. */
static const char *pad(struct vmop_comparison_sheet *of, const char *text, size_t width)
{
	if (strlen(text) >= width)
		return text;
	return vmop_comparison_sheet_text(of, "%*s", (int)width, text);
}

/* Align the numbers of column c, and its heading, to the right. */
static struct vmop_error *align(struct vmop_comparison_sheet *of, size_t c)
{
	struct vmop_sheet *sheet = &of->sheet;
	size_t width = strlen(of->columns[c].heading);
	for (size_t row = 0; row < sheet->n_rows; row++) {
		size_t len = strlen(of->cells[row * sheet->n_columns + c]);
		if (len > width)
			width = len;
	}
	of->columns[c].heading = pad(of, of->columns[c].heading, width);
	if (!of->columns[c].heading)
		return &vmop_error_no_memory;
	for (size_t row = 0; row < sheet->n_rows; row++) {
		const char **text = &of->cells[row * sheet->n_columns + c];
		*text = pad(of, *text, width);
		if (!*text)
			return &vmop_error_no_memory;
	}
	return NULL;
}

static struct vmop_error *add_cells(struct vmop_comparison_sheet *of)
{
	struct vmop_sheet *sheet = &of->sheet;
	struct vmop_error *err = NULL;
	of->cells = vmop_arena_alloc(&of->arena,
				     (sheet->n_rows * sheet->n_columns + 1) * sizeof(*of->cells));
	if (!of->cells)
		return &vmop_error_no_memory;
	for (size_t row = 0; row < sheet->n_rows; row++) {
		struct shown shown = {.line = &of->lines[row], .other = of->options.other};
		shown.counts = vmop_comparison_sheet_counts(of, shown.line);
		shown.difference = vmop_difference_of(of->comparison, shown.counts,
						      of->options.event, shown.other);
		for (size_t c = 0; c < sheet->n_columns; c++) {
			const char *text = cell(of, &shown, of->columns[c].id);
			if (!text)
				return &vmop_error_no_memory;
			of->cells[row * sheet->n_columns + c] = text;
		}
	}
	for (size_t c = 0; c < sheet->n_columns && !err; c++)
		if (of->columns[c].id < COLUMN_CHANGE)
			err = align(of, c);
	return err;
}

static void values(const struct vmop_sheet *sheet, size_t row, size_t detail,
		   struct vmop_value *ret)
{
	(void)detail;
	const struct vmop_comparison_sheet *of = sheet->data;
	for (size_t c = 0; c < sheet->n_columns; c++) {
		ret[c].text = of->cells[row * sheet->n_columns + c];
		ret[c].is_empty = !*ret[c].text;
	}
}

struct vmop_error *vmop_comparison_sheet_for_people(struct vmop_comparison_sheet *of)
{
	size_t n = COLUMN_NAME + VMOP_N_COMPARED_NAMES;
	of->columns = vmop_arena_alloc(&of->arena, n * sizeof(*of->columns));
	if (!of->columns)
		return &vmop_error_no_memory;
	of->sheet.columns = of->columns;
	of->sheet.values = values;
	struct vmop_error *err = add_columns(of);
	return err ? err : add_cells(of);
}
