// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/comparison-sheet.h"

#include <stdarg.h>
#include <stdlib.h>

#include "libutil/plural.h"
#include "opreport/compare/sheet-open.h"

const char *vmop_comparison_sheet_text(struct vmop_comparison_sheet *of, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *text = vmop_arena_vformat(&of->arena, format, args);
	va_end(args);
	return text;
}

const struct vmop_count *vmop_comparison_sheet_counts(const struct vmop_comparison_sheet *of,
						      const struct vmop_compared_line *line)
{
	if (line->row == VMOP_COMPARED_REST)
		return line->order->rest;
	return vmop_comparison_counts(of->comparison, &of->comparison->rows[line->row],
				      line->order->event);
}

bool vmop_comparison_sheet_has(const struct vmop_comparison_sheet *of, enum vmop_compared_name name)
{
	return of->comparison->rows[0].names[name];
}

/* Return the last name that the rows have. */
static enum vmop_compared_name last_name(const struct vmop_comparison_sheet *of)
{
	enum vmop_compared_name name = VMOP_N_COMPARED_NAMES - 1;
	while (name && !vmop_comparison_sheet_has(of, name))
		name--;
	return name;
}

const char *vmop_comparison_sheet_name(const struct vmop_comparison_sheet *of,
				       const struct vmop_compared_line *line,
				       enum vmop_compared_name name)
{
	if (line->row != VMOP_COMPARED_REST)
		return of->comparison->rows[line->row].names[name];
	if (name != last_name(of))
		return "";
	size_t n = line->order->n_rest;
	/* The arena grows by one text for each look at the last row, which is once or twice. */
	const char *text = vmop_comparison_sheet_text((struct vmop_comparison_sheet *)of,
						      "[%zu more row%s]", n, vmop_plural(n));
	return text ? text : "";
}

/* Order the rows of each event, and list them. */
static struct vmop_error *list_lines(struct vmop_comparison_sheet *of)
{
	const struct vmop_comparison_sheet_options *options = &of->options;
	struct vmop_ordering ordering = options->ordering;
	size_t first = options->event == VMOP_COMPARE_ALL ? 0 : options->event, n = 0;
	size_t n_events = options->event == VMOP_COMPARE_ALL ? of->comparison->n_events : 1;
	of->orders = calloc(n_events, sizeof(*of->orders));
	if (!of->orders)
		return &vmop_error_no_memory;
	uint64_t max = options->max_rows / n_events;
	if (options->max_rows && (!ordering.top || ordering.top > max))
		ordering.top = max ? max : 1;
	for (; of->n_orders < n_events; of->n_orders++) {
		struct vmop_order *order = &of->orders[of->n_orders];
		struct vmop_error *err =
			vmop_order_init(order, of->comparison, first + of->n_orders,
					options->for_people ? options->other : 0, &ordering);
		n += order->n + 1;
		if (err) {
			of->n_orders++;
			return err;
		}
	}
	of->lines = calloc(n, sizeof(*of->lines));
	if (!of->lines)
		return &vmop_error_no_memory;
	for (size_t e = 0; e < n_events; e++) {
		const struct vmop_order *order = &of->orders[e];
		for (size_t i = 0; i < order->n; i++)
			of->lines[of->sheet.n_rows++] =
				(struct vmop_compared_line){order, order->rows[i]};
		if (order->rest)
			of->lines[of->sheet.n_rows++] =
				(struct vmop_compared_line){order, VMOP_COMPARED_REST};
	}
	return NULL;
}

struct vmop_error *vmop_comparison_sheet_create(const struct vmop_comparison_sheet_options *options,
						const struct vmop_comparison *comparison,
						struct vmop_comparison_sheet **ret)
{
	struct vmop_comparison_sheet *of = calloc(1, sizeof(*of));
	if (!of)
		return &vmop_error_no_memory;
	of->options = *options;
	of->comparison = comparison;
	of->sheet.data = of;
	struct vmop_error *err = list_lines(of);
	if (!err)
		err = options->for_people ? vmop_comparison_sheet_for_people(of)
					  : vmop_comparison_sheet_for_programs(of);
	if (!err)
		err = vmop_comparison_sheet_add_lines(of);
	if (!err)
		err = vmop_comparison_sheet_add_facts(of);
	if (err) {
		vmop_comparison_sheet_destroy(of);
		return err;
	}
	*ret = of;
	return NULL;
}

void vmop_comparison_sheet_destroy(struct vmop_comparison_sheet *of)
{
	if (!of)
		return;
	for (size_t i = 0; i < of->n_orders; i++)
		vmop_order_deinit(&of->orders[i]);
	free(of->orders);
	free(of->lines);
	vmop_arena_deinit(&of->arena);
	free(of);
}

const struct vmop_sheet *vmop_comparison_sheet_of(const struct vmop_comparison_sheet *of)
{
	return &of->sheet;
}
