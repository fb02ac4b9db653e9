// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/comparison.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/compare/routine.h"
#include "opreport/query/ratio.h"

/* ---- events ----------------------------------------------------------------------- */

/* Return the slot of the event that a result calls so, else of the one that was asked for so. */
static size_t find_slot(const struct vmop_result *result, const struct vmop_event_item *event)
{
	for (size_t e = 0; e < result->n_events; e++) {
		const struct vmop_event_item *item = vmop_result_event(result, e);
		if (!strcmp(item->label, event->label) && !strcmp(item->unit, event->unit))
			return e;
	}
	for (size_t e = 0; e < result->n_events && *event->asked; e++)
		if (!strcmp(vmop_result_event(result, e)->asked, event->asked))
			return e;
	return SIZE_MAX;
}

static struct vmop_error *add_event(struct vmop_comparison *comparison, size_t slot)
{
	struct vmop_compared_event *event = &comparison->events[comparison->n_events];
	const struct vmop_event_item *item = vmop_result_event(&comparison->sides[0].result, slot);
	bool is_shared = false;
	*event = (struct vmop_compared_event){.label = item->label, .unit = item->unit};
	for (size_t s = 0; s < comparison->n_sides; s++) {
		const struct vmop_result *result = &comparison->sides[s].result;
		event->slots[s] = s ? find_slot(result, item) : slot;
		is_shared |= s && event->slots[s] != SIZE_MAX;
		event->work[s] = SIZE_MAX;
		if (comparison->per.kind != VMOP_PER_EVENT || event->slots[s] == SIZE_MAX)
			continue;
		event->work[s] = vmop_ratio_find_event(result, comparison->per.event);
		if (event->work[s] == SIZE_MAX)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "--per=%s: %c (%s) has no such event",
					      comparison->per.event, comparison->sides[s].letter,
					      comparison->sides[s].label);
	}
	comparison->n_events += is_shared;
	return NULL;
}

static void list_events(FILE *out, const struct vmop_side *side)
{
	const struct vmop_result *result = &side->result;
	fprintf(out, "%c has ", side->letter);
	for (size_t e = 0; e < result->n_events && e < 8; e++)
		fprintf(out, "%s%s", e ? ", " : "", vmop_result_event(result, e)->label);
	if (result->n_events > 8)
		fprintf(out, " and %zu more", result->n_events - 8);
}

static struct vmop_error *no_shared_event(const struct vmop_comparison *comparison)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t s = 0; s < comparison->n_sides; s++) {
		fputs(s ? "; " : "", out);
		list_events(out, &comparison->sides[s]);
	}
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "nothing to compare: no event is the same: %s",
			      text);
}

static struct vmop_error *join_events(struct vmop_comparison *comparison)
{
	size_t n = comparison->sides[0].result.n_events;
	comparison->events = calloc(n + 1, sizeof(*comparison->events));
	if (!comparison->events)
		return &vmop_error_no_memory;
	for (size_t slot = 0; slot < n; slot++) {
		struct vmop_error *err = add_event(comparison, slot);
		if (err)
			return err;
	}
	return comparison->n_events ? NULL : no_shared_event(comparison);
}

/* ---- domains ---------------------------------------------------------------------- */

/* The names and UUIDs of the domains that have rows, sorted: a file can have a million. */
struct domain_words {
	const char **items; /* n */
	size_t n;
};

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct vmop_error *list_domains(const struct vmop_result *result, struct domain_words *ret)
{
	size_t n = result->catalog.domains.n;
	_cleanup_free_ unsigned char *has_rows = calloc(n, 1);
	ret->items = calloc(2 * n, sizeof(*ret->items));
	if (!has_rows || !ret->items)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->n_rows; i++)
		has_rows[result->rows[i].group->domain ? result->rows[i].group->domain - 1 : 0] = 1;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(&result->catalog, i);
		if (has_rows[i])
			ret->items[ret->n++] = domain->name;
		if (has_rows[i] && *domain->uuid)
			ret->items[ret->n++] = domain->uuid;
	}
	qsort(ret->items, ret->n, sizeof(*ret->items), compare_words);
	return NULL;
}

static bool share_a_domain(const struct domain_words *a, const struct domain_words *b)
{
	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		int order = strcmp(a->items[i], b->items[j]);
		if (!order)
			return true;
		i += order < 0;
		j += order > 0;
	}
	return false;
}

/* Keep domains apart if another side has rows of a domain that the first side has, too. */
static struct vmop_error *decide_domains(struct vmop_comparison *comparison)
{
	struct domain_words domains[VMOP_SIDES_MAX] = {0};
	struct vmop_error *err = NULL;
	size_t n = comparison->n_sides;
	for (size_t s = 0; s < n && !err; s++)
		err = list_domains(&comparison->sides[s].result, &domains[s]);
	for (size_t s = 1; s < n && !err; s++)
		comparison->has_domains |= share_a_domain(&domains[0], &domains[s]);
	for (size_t s = 0; s < n; s++)
		free(domains[s].items);
	return err;
}

/* Return whether a side has rows of several domains. */
static bool has_several_domains(const struct vmop_comparison *comparison)
{
	for (size_t s = 0; s < comparison->n_sides; s++) {
		const struct vmop_result *result = &comparison->sides[s].result;
		for (size_t i = 1; i < result->n_rows; i++)
			if (result->rows[i].group->domain != result->rows[0].group->domain)
				return true;
	}
	return false;
}

/* ---- rows ------------------------------------------------------------------------- */

/* A row of a side, before the join. */
struct single {
	const char *names[VMOP_N_COMPARED_NAMES];
	const struct vmop_row *row;
	size_t side;
};

static int compare_names(const char *const *a, const char *const *b)
{
	int order = 0;
	for (size_t i = 0; i < VMOP_N_COMPARED_NAMES && !order; i++)
		if (a[i] && b[i] && a[i] != b[i])
			order = strcmp(a[i], b[i]);
	return order;
}

static int compare_singles(const void *a, const void *b)
{
	const struct single *x = a, *y = b;
	int order = compare_names(x->names, y->names);
	return order ? order : (x->side > y->side) - (x->side < y->side);
}

static struct vmop_error *name_single(struct vmop_comparison *comparison, struct vmop_row *row,
				      struct single *ret)
{
	struct vmop_result *result = &comparison->sides[ret->side].result;
	unsigned dimensions = result->dimensions;
	ret->row = row;
	if (comparison->has_domains)
		ret->names[VMOP_COMPARED_DOMAIN] = vmop_row_domain(result, row)->name;
	if (dimensions & VMOP_BY_CGROUP)
		ret->names[VMOP_COMPARED_CGROUP] = vmop_row_cgroup(result, row);
	if (dimensions & VMOP_BY_TASK)
		ret->names[VMOP_COMPARED_TASK] = vmop_row_task(result, row)->comm;
	if (dimensions & VMOP_BY_IMAGE)
		ret->names[VMOP_COMPARED_IMAGE] = vmop_routine_image(vmop_row_image(result, row));
	if (!(dimensions & VMOP_BY_SYMBOL))
		return NULL;
	ret->names[VMOP_COMPARED_SYMBOL] =
		vmop_routine_function(&comparison->arena, vmop_result_symbol_name(result, row));
	return ret->names[VMOP_COMPARED_SYMBOL] ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *list_singles(struct vmop_comparison *comparison, struct single **ret,
				       size_t *ret_n)
{
	size_t n = 0;
	for (size_t s = 0; s < comparison->n_sides; s++)
		n += comparison->sides[s].result.n_rows;
	*ret_n = 0;
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	for (size_t s = 0; s < comparison->n_sides; s++) {
		struct vmop_result *result = &comparison->sides[s].result;
		for (size_t i = 0; i < result->n_rows; i++) {
			struct single *single = &(*ret)[(*ret_n)++];
			single->side = s;
			struct vmop_error *err = name_single(comparison, &result->rows[i], single);
			if (err)
				return err;
		}
	}
	qsort(*ret, n, sizeof(**ret), compare_singles);
	return NULL;
}

/* Add a side's row to the counts of the comparison's row. */
static void add_counts(struct vmop_comparison *comparison, size_t at, const struct single *single)
{
	const struct vmop_result *result = &comparison->sides[single->side].result;
	for (size_t e = 0; e < comparison->n_events; e++) {
		size_t slot = comparison->events[e].slots[single->side];
		if (slot == SIZE_MAX)
			continue;
		struct vmop_count sum = vmop_result_sum(result, single->row->counts, slot);
		vmop_count_add(
			&comparison->counts[(at * comparison->n_events + e) * comparison->n_sides +
					    single->side],
			sum.samples, sum.weight_events);
	}
}

static bool has_samples(const struct vmop_comparison *comparison, size_t row)
{
	size_t n = comparison->n_events * comparison->n_sides;
	for (size_t i = 0; i < n; i++)
		if (comparison->counts[row * n + i].samples)
			return true;
	return false;
}

/* Sum the singles of one name into a row.  A row without samples of the shared events is dropped.
 */
static void join_rows(struct vmop_comparison *comparison, const struct single *singles, size_t n)
{
	size_t width = comparison->n_events * comparison->n_sides, rows = 0;
	for (size_t i = 0, end; i < n; i = end) {
		memset(&comparison->counts[rows * width], 0, width * sizeof(*comparison->counts));
		for (end = i; end < n && !compare_names(singles[i].names, singles[end].names);
		     end++)
			add_counts(comparison, rows, &singles[end]);
		if (!has_samples(comparison, rows))
			continue;
		struct vmop_compared_row *row = &comparison->rows[rows];
		for (size_t j = i; j < end; j++)
			row->modes |= singles[j].row->modes;
		memcpy(row->names, singles[i].names, sizeof(row->names));
		row->counts = rows++;
	}
	comparison->n_rows = rows;
}

/* Return whether a row has samples of the first side and of another one. */
static bool is_common(const struct vmop_comparison *comparison, size_t row)
{
	for (size_t e = 0; e < comparison->n_events; e++) {
		const struct vmop_count *counts =
			vmop_comparison_counts(comparison, &comparison->rows[row], e);
		for (size_t s = 1; s < comparison->n_sides; s++)
			if (counts[0].samples && counts[s].samples)
				return true;
	}
	return false;
}

static struct vmop_error *check_common(const struct vmop_comparison *comparison)
{
	for (size_t i = 0; i < comparison->n_rows; i++)
		if (is_common(comparison, i))
			return NULL;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "nothing to compare: %c (%s) has no row in common with the others",
			      comparison->sides[0].letter, comparison->sides[0].label);
}

static struct vmop_error *check_per(const struct vmop_per *per, size_t n_sides)
{
	if (per->kind != VMOP_PER_UNITS || per->n_units == 1 || per->n_units == n_sides)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--per takes one number, or one for each of the %zu sides, not %zu",
			      n_sides, per->n_units);
}

struct vmop_error *vmop_comparison_init(struct vmop_comparison *ret, struct vmop_side *sides,
					size_t n_sides, unsigned by, const struct vmop_per *per)
{
	_cleanup_free_ struct single *singles = NULL;
	size_t n = 0;
	*ret = (struct vmop_comparison){.sides = sides,
					.n_sides = n_sides,
					.per = *per,
					.has_domains = by & VMOP_BY_DOMAIN};
	struct vmop_error *err = check_per(per, n_sides);
	if (!err)
		err = join_events(ret);
	if (!err && !ret->has_domains && has_several_domains(ret))
		err = decide_domains(ret);
	if (!err)
		err = list_singles(ret, &singles, &n);
	if (err)
		return err;
	ret->rows = calloc(n + 1, sizeof(*ret->rows));
	/* One more for the row that join_rows begins last. */
	ret->counts = calloc((n + 1) * ret->n_events * n_sides, sizeof(*ret->counts));
	if (!ret->rows || !ret->counts)
		return &vmop_error_no_memory;
	join_rows(ret, singles, n);
	return check_common(ret);
}

void vmop_comparison_deinit(struct vmop_comparison *comparison)
{
	free(comparison->events);
	free(comparison->rows);
	free(comparison->counts);
	vmop_arena_deinit(&comparison->arena);
	*comparison = (struct vmop_comparison){0};
}

struct vmop_count vmop_comparison_all(const struct vmop_comparison *comparison, size_t event,
				      size_t side)
{
	size_t slot = comparison->events[event].slots[side];
	return slot == SIZE_MAX ? (struct vmop_count){0}
				: comparison->sides[side].result.selected[slot];
}
