// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/shares.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "opreport/compare/routine.h"

static const unsigned dimension_of[VMOP_N_COMPARED_NAMES] = {
	[VMOP_COMPARED_DOMAIN] = VMOP_BY_DOMAIN, [VMOP_COMPARED_CGROUP] = VMOP_BY_CGROUP,
	[VMOP_COMPARED_TASK] = VMOP_BY_TASK,	 [VMOP_COMPARED_IMAGE] = VMOP_BY_IMAGE,
	[VMOP_COMPARED_SYMBOL] = VMOP_BY_SYMBOL,
};

/* Return a copy of a name in the arena, as JSON would have it; NULL: no memory. */
static const char *keep(struct vmop_arena *arena, const char *name)
{
	if (vmop_is_utf8(name))
		return vmop_arena_text(arena, name);
	_cleanup_free_ char *escaped = vmop_escape(name, VMOP_CHARSET_UTF8);
	return escaped ? vmop_arena_text(arena, escaped) : NULL;
}

/* ---- events -------------------------------------------------------------------------- */

static struct vmop_error *init_events(struct vmop_shares *shares, size_t n)
{
	shares->n_events = n;
	shares->events = vmop_arena_alloc(&shares->arena, n * sizeof(*shares->events));
	if (!shares->events)
		return &vmop_error_no_memory;
	memset(shares->events, 0, n * sizeof(*shares->events));
	return NULL;
}

static struct vmop_error *set_event(struct vmop_shares *shares, size_t at,
				    const struct vmop_shares_event *like)
{
	struct vmop_shares_event *event = &shares->events[at];
	*event = *like;
	event->all = (struct vmop_count){0};
	event->name = keep(&shares->arena, like->name);
	event->unit = keep(&shares->arena, like->unit);
	event->asked = keep(&shares->arena, like->asked);
	return event->name && event->unit && event->asked ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_shares_init(struct vmop_shares *ret, struct vmop_result *result,
				    unsigned dimensions)
{
	*ret = (struct vmop_shares){.dimensions = (dimensions & VMOP_COMPARED_DIMENSIONS) |
						  VMOP_BY_DOMAIN};
	struct vmop_error *err = init_events(ret, result->n_events);
	for (size_t e = 0; e < result->n_events && !err; e++) {
		const struct vmop_event_item *item = vmop_result_event(result, e);
		err = set_event(
			ret, e,
			&(const struct vmop_shares_event){.name = item->label,
							  .unit = item->unit,
							  .asked = item->asked,
							  .period_events = item->period_events,
							  .frequency_hz = item->frequency_hz});
	}
	return err;
}

struct vmop_error *vmop_shares_init_like(struct vmop_shares *ret, const struct vmop_shares *like)
{
	*ret = (struct vmop_shares){.dimensions = like->dimensions};
	struct vmop_error *err = init_events(ret, like->n_events);
	for (size_t e = 0; e < like->n_events && !err; e++)
		err = set_event(ret, e, &like->events[e]);
	return err;
}

void vmop_shares_deinit(struct vmop_shares *shares)
{
	free(shares->rows);
	vmop_arena_deinit(&shares->arena);
	*shares = (struct vmop_shares){0};
}

size_t vmop_shares_find_event(const struct vmop_shares *shares, const char *name, const char *unit,
			      const char *asked)
{
	for (size_t e = 0; e < shares->n_events; e++)
		if (!strcmp(shares->events[e].name, name) && !strcmp(shares->events[e].unit, unit))
			return e;
	for (size_t e = 0; e < shares->n_events && *asked; e++)
		if (!strcmp(shares->events[e].asked, asked) &&
		    !strcmp(shares->events[e].unit, unit))
			return e;
	return SIZE_MAX;
}

/* ---- rows ---------------------------------------------------------------------------- */

struct vmop_error *vmop_shares_add(struct vmop_shares *shares,
				   const char *const names[VMOP_N_COMPARED_NAMES],
				   struct vmop_shares_row **ret)
{
	if (shares->n_rows >= VMOP_SHARES_ROWS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "more than %zu rows to compare",
				      VMOP_SHARES_ROWS_MAX);
	if (!vmop_array_reserve(shares->rows, shares->capacity, shares->n_rows + 1))
		return &vmop_error_no_memory;
	struct vmop_shares_row *row = &shares->rows[shares->n_rows];
	const size_t bytes = shares->n_events * sizeof(*row->counts);
	*row = (struct vmop_shares_row){.counts = vmop_arena_alloc(&shares->arena, bytes)};
	if (!row->counts)
		return &vmop_error_no_memory;
	memset(row->counts, 0, bytes);
	for (size_t i = 0; i < VMOP_N_COMPARED_NAMES; i++) {
		if (!(shares->dimensions & dimension_of[i]))
			continue;
		row->names[i] = keep(&shares->arena, names[i] ? names[i] : "");
		if (!row->names[i])
			return &vmop_error_no_memory;
	}
	shares->n_rows++;
	*ret = row;
	return NULL;
}

static struct vmop_error *add_row(struct vmop_shares *shares, struct vmop_result *result,
				  struct vmop_row *of, const size_t *slots)
{
	const char *names[VMOP_N_COMPARED_NAMES] = {0};
	struct vmop_shares_row *row;
	names[VMOP_COMPARED_DOMAIN] = vmop_row_domain(result, of)->name;
	if (shares->dimensions & VMOP_BY_CGROUP)
		names[VMOP_COMPARED_CGROUP] = vmop_row_cgroup(result, of);
	if (shares->dimensions & VMOP_BY_TASK)
		names[VMOP_COMPARED_TASK] = vmop_row_task(result, of)->comm;
	if (shares->dimensions & VMOP_BY_IMAGE)
		names[VMOP_COMPARED_IMAGE] = vmop_image_base_name(vmop_row_image(result, of)->name);
	if (shares->dimensions & VMOP_BY_SYMBOL) {
		names[VMOP_COMPARED_SYMBOL] =
			vmop_routine_function(&shares->arena, vmop_result_symbol_name(result, of));
		if (!names[VMOP_COMPARED_SYMBOL])
			return &vmop_error_no_memory;
	}
	struct vmop_error *err = vmop_shares_add(shares, names, &row);
	for (size_t e = 0; e < result->n_events && !err; e++) {
		struct vmop_count sum = vmop_result_sum(result, of->counts, e);
		if (slots[e] != SIZE_MAX)
			vmop_count_add(&row->counts[slots[e]], sum.samples, sum.weight_events);
	}
	return err;
}

struct vmop_error *vmop_shares_add_result(struct vmop_shares *shares, struct vmop_result *result)
{
	_cleanup_free_ size_t *slots = calloc(result->n_events + 1, sizeof(*slots));
	struct vmop_error *err = slots ? NULL : &vmop_error_no_memory;
	for (size_t e = 0; e < result->n_events && !err; e++) {
		const struct vmop_event_item *item = vmop_result_event(result, e);
		slots[e] = vmop_shares_find_event(shares, item->label, item->unit, item->asked);
		if (slots[e] != SIZE_MAX)
			vmop_count_add(&shares->events[slots[e]].all, result->selected[e].samples,
				       result->selected[e].weight_events);
	}
	for (size_t i = 0; i < result->n_rows && !err; i++)
		err = add_row(shares, result, &result->rows[i], slots);
	return err;
}

int vmop_shares_compare(const struct vmop_shares_row *a, const struct vmop_shares_row *b)
{
	int order = 0;
	for (size_t i = 0; i < VMOP_N_COMPARED_NAMES && !order; i++)
		if (a->names[i] && b->names[i])
			order = strcmp(a->names[i], b->names[i]);
	return order;
}

static int compare_rows(const void *a, const void *b)
{
	return vmop_shares_compare(a, b);
}

void vmop_shares_merge(struct vmop_shares *shares)
{
	size_t n = 0;
	if (shares->n_rows)
		qsort(shares->rows, shares->n_rows, sizeof(*shares->rows), compare_rows);
	for (size_t i = 0; i < shares->n_rows; i++) {
		struct vmop_shares_row *row = &shares->rows[i];
		if (!n || vmop_shares_compare(&shares->rows[n - 1], row) != 0) {
			shares->rows[n++] = *row;
			continue;
		}
		for (size_t e = 0; e < shares->n_events; e++)
			vmop_count_add(&shares->rows[n - 1].counts[e], row->counts[e].samples,
				       row->counts[e].weight_events);
	}
	shares->n_rows = n;
}

char *vmop_shares_name(const struct vmop_shares_row *row)
{
	static const char *const tags[VMOP_N_COMPARED_NAMES] = {
		[VMOP_COMPARED_DOMAIN] = "domain", [VMOP_COMPARED_CGROUP] = "cgroup",
		[VMOP_COMPARED_TASK] = "task",	   [VMOP_COMPARED_IMAGE] = "image",
		[VMOP_COMPARED_SYMBOL] = "symbol",
	};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool any = false;
	for (size_t i = VMOP_N_COMPARED_NAMES; out && i-- > 0;) {
		if (!row->names[i] || !*row->names[i])
			continue;
		fprintf(out, "%s%s:%s", any ? " " : "", tags[i], row->names[i]);
		any = true;
	}
	if (out && fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
