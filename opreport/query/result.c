// SPDX-License-Identifier: GPL-2.0-or-later
/* Make and read the rows of a query's result. */
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/label.h"
#include "opreport/query/idle.h"
#include "opreport/query/kept-sums.h"
#include "opreport/query/query.h"

static void add_details_to_rows(struct vmop_result *result)
{
	if (result->left_out.details)
		result->n_details = 0;
	for (size_t i = 0; i < result->n_details; i++) {
		struct vmop_row *row = &result->rows[result->details[i].row];
		if (!row->n_details++)
			row->first_detail = i;
	}
}

struct vmop_error *vmop_result_make_rows(struct vmop_result *result)
{
	const struct vmop_tally *tally = &result->rows_tally;
	free(result->rows);
	result->n_rows = 0;
	result->rows = calloc(tally->n + 1, sizeof(*result->rows));
	if (!result->rows)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < tally->n; i++) {
		const struct vmop_symbol *symbol =
			(const struct vmop_symbol *)(uintptr_t)tally->keys[i].value;
		struct vmop_row *row = &result->rows[result->n_rows++];
		*row = (struct vmop_row){
			.group = &result->groups.items[tally->keys[i].group],
			.symbol = symbol,
			.counts = vmop_tally_counts(tally, i),
			.below = result->below ? result->below + i * result->n_events : NULL,
			.modes = result->modes[i],
			.index = i,
		};
		if (symbol && symbol != &vmop_idle_symbol)
			row->address = vmop_row_image(result, row)->base + symbol->offset;
		/* They lie in this order, not in that of the samples. */
		if (symbol && vmop_kept_sums_name(result->kept, symbol))
			vmop_result_symbol_name(result, row);
	}
	add_details_to_rows(result);
	return NULL;
}

void vmop_result_deinit(struct vmop_result *result)
{
	free(result->rows);
	free(result->modes);
	free(result->below);
	free(result->details);
	free(result->events);
	free(result->selected);
	free(result->base);
	free(result->time_base);
	free(result->image_samples);
	free(result->image_weights);
	free(result->omitted);
	vmop_tally_deinit(&result->cells);
	vmop_tally_deinit(&result->rows_tally);
	vmop_time_slots_deinit(&result->times);
	vmop_groups_deinit(&result->groups);
	vmop_symbols_destroy(result->symbols);
	vmop_kept_sums_destroy(result->kept);
	vmop_choice_deinit(&result->choice);
	vmop_catalog_deinit(&result->catalog);
	*result = (struct vmop_result){0};
}

struct vmop_count vmop_result_sum(const struct vmop_result *result, const struct vmop_count *counts,
				  size_t event)
{
	struct vmop_count sum = {0};
	for (size_t part = 0; part < result->n_parts; part++) {
		const struct vmop_count *count = &counts[event * result->n_parts + part];
		vmop_count_add(&sum, count->samples, count->weight_events);
	}
	return sum;
}

const char *vmop_result_name_of(struct vmop_result *result, const struct vmop_symbol *symbol)
{
	if (!symbol)
		return "(no symbols)";
	if (symbol == &vmop_idle_symbol)
		return vmop_idle_symbol.name;
	const char *name = vmop_kept_sums_name(result->kept, symbol);
	if (!name)
		name = vmop_symbols_name(result->symbols, symbol);
	if (!vmop_label_is_quoted(VMOP_LABEL_SYMBOL, name))
		return name;
	_cleanup_free_ char *label = vmop_label(VMOP_LABEL_SYMBOL, name);
	const char *kept = label ? vmop_arena_text(&result->catalog.arena, label) : NULL;
	return kept ? kept : "''"; /* out of memory */
}

const char *vmop_result_symbol_name(struct vmop_result *result, struct vmop_row *row)
{
	if (!row->name)
		row->name = vmop_result_name_of(result, row->symbol);
	return row->name;
}

const struct vmop_domain_item *vmop_row_domain(const struct vmop_result *result,
					       const struct vmop_row *row)
{
	return vmop_catalog_domain(&result->catalog,
				   row->group->domain ? row->group->domain - 1 : 0);
}

const struct vmop_image_item *vmop_row_image(const struct vmop_result *result,
					     const struct vmop_row *row)
{
	return vmop_catalog_image(&result->catalog, row->group->image ? row->group->image - 1 : 0);
}

const struct vmop_task_item *vmop_row_task(const struct vmop_result *result,
					   const struct vmop_row *row)
{
	return vmop_catalog_task(&result->catalog, row->group->task ? row->group->task - 1 : 0);
}

const char *vmop_row_cgroup(const struct vmop_result *result, const struct vmop_row *row)
{
	size_t task = row->group->cgroup ? row->group->cgroup - 1 : 0;
	const char *cgroup = vmop_catalog_task(&result->catalog, task)->cgroup;
	return *cgroup ? cgroup : "[unknown]";
}

const char *vmop_row_session(const struct vmop_result *result, const struct vmop_row *row)
{
	return row->group->session ? result->catalog.sessions[row->group->session - 1].name : "";
}
