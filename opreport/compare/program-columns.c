// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of a comparison for programs: numbers, with all sides in one row. */
#include <math.h>

#include "opreport/compare/difference.h"
#include "opreport/compare/sheet-open.h"

/* Ids of columns; a name's is COLUMN_NAME + enum vmop_compared_name.  `event` is the side. */
enum column_id {
	COLUMN_EVENT,
	COLUMN_SAMPLES,
	COLUMN_WEIGHT,
	COLUMN_VALUE,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_DIFFERENCE,
	COLUMN_DIFFERENCE_LOW,
	COLUMN_DIFFERENCE_HIGH,
	COLUMN_RATIO,
	COLUMN_RATIO_LOW,
	COLUMN_RATIO_HIGH,
	COLUMN_CHANGE,
	COLUMN_NAME,
};

#define SIDE_COLUMNS (COLUMN_HIGH - COLUMN_SAMPLES + 1)
#define DIFFERENCE_COLUMNS (COLUMN_CHANGE - COLUMN_DIFFERENCE + 1)

static struct vmop_error *add(struct vmop_comparison_sheet *of, const char *name,
			      enum vmop_value_type type, int id, size_t side)
{
	if (!name)
		return &vmop_error_no_memory;
	of->columns[of->sheet.n_columns++] =
		(struct vmop_column){.name = name, .type = type, .id = id, .event = side};
	return NULL;
}

static struct vmop_error *add_names(struct vmop_comparison_sheet *of)
{
	static const char *const names[VMOP_N_COMPARED_NAMES] = {"domain", "cgroup", "task",
								 "image", "symbol"};
	struct vmop_error *err = NULL;
	if (of->options.event == VMOP_COMPARE_ALL)
		err = add(of, "event", VMOP_VALUE_TEXT, COLUMN_EVENT, 0);
	for (int i = 0; i < VMOP_N_COMPARED_NAMES && !err; i++)
		if (vmop_comparison_sheet_has(of, i))
			err = add(of, names[i], VMOP_VALUE_TEXT, COLUMN_NAME + i, 0);
	return err;
}

/* Add a side's columns first..last, named NAME_LETTER. */
static struct vmop_error *add_side(struct vmop_comparison_sheet *of, size_t side, int first,
				   int last)
{
	static const struct {
		const char *name;
		enum vmop_value_type type;
	} columns[] = {
		[COLUMN_SAMPLES] = {"samples", VMOP_VALUE_COUNT},
		[COLUMN_WEIGHT] = {"weight", VMOP_VALUE_COUNT},
		[COLUMN_VALUE] = {"value", VMOP_VALUE_RATIO},
		[COLUMN_LOW] = {"low", VMOP_VALUE_RATIO},
		[COLUMN_HIGH] = {"high", VMOP_VALUE_RATIO},
		[COLUMN_DIFFERENCE] = {"difference", VMOP_VALUE_RATIO},
		[COLUMN_DIFFERENCE_LOW] = {"difference_low", VMOP_VALUE_RATIO},
		[COLUMN_DIFFERENCE_HIGH] = {"difference_high", VMOP_VALUE_RATIO},
		[COLUMN_RATIO] = {"ratio", VMOP_VALUE_RATIO},
		[COLUMN_RATIO_LOW] = {"ratio_low", VMOP_VALUE_RATIO},
		[COLUMN_RATIO_HIGH] = {"ratio_high", VMOP_VALUE_RATIO},
		[COLUMN_CHANGE] = {"change", VMOP_VALUE_TEXT},
	};
	struct vmop_error *err = NULL;
	char letter = (char)('a' + side);
	for (int id = first; id <= last && !err; id++)
		err = add(of, vmop_comparison_sheet_text(of, "%s_%c", columns[id].name, letter),
			  columns[id].type, id, side);
	return err;
}

static struct vmop_value number(bool is_known, double value)
{
	if (!is_known || !isfinite(value))
		return (struct vmop_value){.is_empty = true};
	return (struct vmop_value){.ratio = value};
}

static struct vmop_value difference_value(const struct vmop_difference *difference, int id)
{
	const struct vmop_interval *of = &difference->difference, *ratio = &difference->ratio;
	switch (id) {
	case COLUMN_DIFFERENCE:
		return number(of->is_known, of->value);
	case COLUMN_DIFFERENCE_LOW:
		return number(of->is_known, of->low);
	case COLUMN_DIFFERENCE_HIGH:
		return number(of->is_known, of->high);
	case COLUMN_RATIO:
		return number(ratio->is_known, ratio->value);
	case COLUMN_RATIO_LOW:
		return number(ratio->is_known, ratio->low);
	case COLUMN_RATIO_HIGH:
		return number(ratio->is_known, ratio->high);
	default:
		return (struct vmop_value){.text = vmop_change_word(difference->change)};
	}
}

static struct vmop_value side_value(const struct vmop_comparison *comparison,
				    struct vmop_count count, size_t event, size_t side, int id)
{
	if (comparison->events[event].slots[side] == SIZE_MAX)
		return (struct vmop_value){.is_empty = true};
	if (id == COLUMN_SAMPLES)
		return (struct vmop_value){.number = count.samples};
	if (id == COLUMN_WEIGHT)
		return (struct vmop_value){.number = count.weight_events};
	struct vmop_interval value = vmop_difference_side(comparison, count, event, side);
	return number(value.is_known, id == COLUMN_VALUE ? value.value
				      : id == COLUMN_LOW ? value.low
							 : value.high);
}

static void values(const struct vmop_sheet *sheet, size_t row, size_t detail,
		   struct vmop_value *ret)
{
	(void)detail;
	const struct vmop_comparison_sheet *of = sheet->data;
	const struct vmop_comparison *comparison = of->comparison;
	const struct vmop_compared_line *line = &of->lines[row];
	const struct vmop_count *counts = vmop_comparison_sheet_counts(of, line);
	size_t event = line->order->event;
	struct vmop_difference difference = {0};
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		size_t side = column->event;
		if (column->id == COLUMN_DIFFERENCE)
			difference = vmop_difference_of(comparison, counts, event, side);
		if (column->id == COLUMN_EVENT)
			ret[c].text = comparison->events[event].label;
		else if (column->id >= COLUMN_NAME)
			ret[c].text =
				vmop_comparison_sheet_name(of, line, column->id - COLUMN_NAME);
		else if (column->id >= COLUMN_DIFFERENCE)
			ret[c] = difference_value(&difference, column->id);
		else
			ret[c] = side_value(comparison, counts[side], event, side, column->id);
	}
}

struct vmop_error *vmop_comparison_sheet_for_programs(struct vmop_comparison_sheet *of)
{
	size_t n_sides = of->comparison->n_sides;
	size_t n = 1 + VMOP_N_COMPARED_NAMES + n_sides * (SIDE_COLUMNS + DIFFERENCE_COLUMNS);
	of->columns = vmop_arena_alloc(&of->arena, n * sizeof(*of->columns));
	if (!of->columns)
		return &vmop_error_no_memory;
	of->sheet.columns = of->columns;
	of->sheet.values = values;
	struct vmop_error *err = add_names(of);
	for (size_t s = 0; s < n_sides && !err; s++)
		err = add_side(of, s, COLUMN_SAMPLES, COLUMN_HIGH);
	for (size_t s = 1; s < n_sides && !err; s++)
		err = add_side(of, s, COLUMN_DIFFERENCE, COLUMN_CHANGE);
	return err;
}
