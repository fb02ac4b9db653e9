// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/resolve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "libutil/progress.h"
#include "opreport/query/idle.h"

struct vmop_error *vmop_result_row_at(struct vmop_result *result, uint32_t group, uint64_t value,
				      uint8_t mode, struct vmop_count **ret, size_t *ret_row)
{
	struct vmop_error *err = vmop_tally_at(&result->rows_tally, group, value, ret, ret_row);
	if (err || *ret_row == VMOP_TALLY_LEFT_OUT)
		return err;
	size_t before = result->modes_capacity;
	if (*ret_row < before) {
		result->modes[*ret_row] |= (uint8_t)(1u << (mode & 7));
		return NULL;
	}
	if (!vmop_array_reserve(result->modes, result->modes_capacity, *ret_row + 1))
		return &vmop_error_no_memory;
	memset(result->modes + before, 0, result->modes_capacity - before);
	result->modes[*ret_row] |= (uint8_t)(1u << (mode & 7));
	return NULL;
}

/* ---- from cells to symbols ----------------------------------------------- */

/* Set *ret to the indexes of the cells in the order of their images.  The caller frees *ret. */
static struct vmop_error *order_by_image(const struct vmop_result *result, uint32_t **ret)
{
	size_t n_images = result->catalog.images.n;
	_cleanup_free_ size_t *next = calloc(n_images + 1, sizeof(*next));
	uint32_t *order = calloc(result->cells.n + 1, sizeof(*order));
	*ret = order;
	if (!next || !order)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->cells.n; i++)
		next[result->groups.items[result->cells.keys[i].group].image]++;
	/* a group has index + 1, so next[index] becomes the start of index */
	for (size_t image = 1; image <= n_images; image++)
		next[image] += next[image - 1];
	for (size_t i = 0; i < result->cells.n; i++) {
		size_t image = result->groups.items[result->cells.keys[i].group].image - 1;
		order[next[image]++] = (uint32_t)i;
	}
	return NULL;
}

static bool is_below_threshold(const struct vmop_result *result, size_t image, double percent)
{
	size_t row_image = vmop_catalog_image(&result->catalog, image)->row;
	if (!result->image_weights)
		return false;
	for (size_t e = 0; e < result->n_events; e++) {
		double weight = (double)result->image_weights[row_image * result->n_events + e];
		if (weight * 100 >= percent * (double)result->base[e].weight_events)
			return false;
	}
	return true;
}

static void note_missing(struct vmop_result *result, size_t image, uint64_t samples,
			 const char *why)
{
	if (!samples)
		return;
	why = why ? why : "addresses outside all of its symbols";
	vmop_log_info("no symbols for %" PRIu64 " sample%s in %s: %s", samples,
		      vmop_plural(samples), vmop_catalog_image(&result->catalog, image)->name, why);
	result->missing.samples += samples;
	if (samples <= result->missing.top_samples)
		return;
	result->missing.top_samples = samples;
	result->missing.top_image = image;
	result->missing.top_why = why;
}

/* The row's group of the cell before. */
struct last_group {
	uint32_t of_cell, number;
	size_t row_image;
	uint8_t mode;
	bool is_known;
};

/* The state while cells become rows. */
struct resolving {
	const struct vmop_query *query;
	struct vmop_result *result;
	size_t *rows; /* row of each cell; NULL: not needed */
	uint32_t
		*kernels; /* index of the kernel of each domain row, 0: none; NULL: not found yet */
	struct last_group last;
};

/* Set resolving->last to the group of rows that cells of a group, and of an image's row, have. */
static struct vmop_error *find_group(struct resolving *resolving, uint32_t of_cell,
				     size_t row_image)
{
	struct vmop_result *result = resolving->result;
	struct last_group *last = &resolving->last;
	if (last->is_known && last->of_cell == of_cell && last->row_image == row_image)
		return NULL;
	struct vmop_group group = result->groups.items[of_cell];
	group.mode &= (uint16_t)~VMOP_GROUP_IDLE;
	*last = (struct last_group){.of_cell = of_cell,
				    .row_image = row_image,
				    .mode = (uint8_t)(group.mode - 1),
				    .is_known = true};
	group.image = (uint32_t)row_image + 1;
	if (!(result->dimensions & VMOP_BY_MODE))
		group.mode = 0;
	return vmop_groups_intern(&result->groups, &group, &last->number);
}

/* Add a cell to its row.  The group of a cell has its image, the group of a row the image's row. */
static struct vmop_error *add_to_row(struct resolving *resolving, size_t cell, size_t row_image,
				     const struct vmop_symbol *symbol, size_t *ret_row)
{
	struct vmop_result *result = resolving->result;
	struct last_group *last = &resolving->last;
	struct vmop_count *to;
	struct vmop_error *err = find_group(resolving, result->cells.keys[cell].group, row_image);
	if (!err)
		err = vmop_result_row_at(result, last->number, (uintptr_t)symbol, last->mode, &to,
					 ret_row);
	if (err)
		return err;
	const struct vmop_count *from = vmop_tally_counts(&result->cells, cell);
	for (size_t i = 0; i < result->cells.n_slots; i++)
		vmop_count_add(&to[i], from[i].samples, from[i].weight_events);
	return NULL;
}

struct vmop_error *vmop_result_find_kernels(const struct vmop_result *result, uint32_t **ret)
{
	const struct vmop_catalog *catalog = &result->catalog;
	*ret = calloc(catalog->domains.n, sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	for (size_t i = catalog->images.n; i-- > 1;) {
		const struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		if (image->kind == VMOP_IMAGE_KERNEL || image->kind == VMOP_IMAGE_GUEST_KERNEL)
			(*ret)[image->domain] = image->row;
	}
	return NULL;
}

/* Return whether a cell's samples are of an idle CPU: by the function if known, else by the task.
 */
static bool is_idle(const struct resolving *resolving, size_t image, size_t cell,
		    const struct vmop_symtab *symtab, const struct vmop_symbol *symbol)
{
	const struct vmop_result *result = resolving->result;
	if (resolving->query->idle_functions && !resolving->query->exclude_idle)
		return false;
	if (symbol)
		return vmop_symbols_is_idle(result->symbols, image, symtab, symbol);
	const struct vmop_group *group = &result->groups.items[result->cells.keys[cell].group];
	return group->mode & VMOP_GROUP_IDLE;
}

/*
 * Count a cell of a guest's or hypervisor's idle function as idle; with exclude_idle, subtract it
 * from the totals instead.  Cells of a host were counted, or skipped, by their task.
 */
static void count_idle(const struct resolving *resolving, const struct vmop_image_item *item,
		       size_t cell)
{
	struct vmop_result *result = resolving->result;
	const struct vmop_count *counts = vmop_tally_counts(&result->cells, cell);
	bool is_host = vmop_catalog_domain(&result->catalog, item->domain)->is_host;
	if (!is_host && !resolving->query->exclude_idle) {
		struct vmop_count sum = vmop_result_sum(result, counts, 0);
		vmop_count_add(&result->idle, sum.samples, sum.weight_events);
	}
	for (size_t e = 0; e < result->n_events && resolving->query->exclude_idle; e++) {
		struct vmop_count sum = vmop_result_sum(result, counts, e);
		vmop_count_subtract(&result->selected[e], sum);
		if (!resolving->query->of_whole_session)
			vmop_count_subtract(&result->base[e], sum);
		result->image_samples[item->row] -= sum.samples;
	}
}

static struct vmop_error *resolve_cell(struct resolving *resolving, size_t image, size_t cell,
				       const struct vmop_symtab *symtab, bool *ret_is_missing)
{
	struct vmop_result *result = resolving->result;
	const struct vmop_image_item *item = vmop_catalog_image(&result->catalog, image);
	uint64_t offset = result->cells.keys[cell].value;
	const struct vmop_symbol *symbol = symtab ? vmop_symtab_find(symtab, offset) : NULL;
	size_t row_image = item->row, row = VMOP_TALLY_LEFT_OUT;
	struct vmop_error *err = NULL;
	bool idle = is_idle(resolving, image, cell, symtab, symbol);
	*ret_is_missing = !symbol && !idle;
	if (idle) {
		count_idle(resolving, item, cell);
		symbol = &vmop_idle_symbol;
		if (item->kind == VMOP_IMAGE_MODULE && !resolving->kernels)
			err = vmop_result_find_kernels(result, &resolving->kernels);
		if (!err && item->kind == VMOP_IMAGE_MODULE && resolving->kernels[item->domain])
			row_image = resolving->kernels[item->domain];
	} else if (symbol && vmop_catalog_image(&result->catalog, item->row)->is_shared) {
		err = vmop_symbols_unify(result->symbols, item->row, &symbol);
	}
	if (!err && !(idle && resolving->query->exclude_idle))
		err = add_to_row(resolving, cell, row_image, symbol, &row);
	if (!err && resolving->rows)
		resolving->rows[cell] = row;
	return err;
}

/* Resolve order[0..n), the cells of one image. */
static struct vmop_error *resolve_image(struct resolving *resolving, size_t image,
					const uint32_t *order, size_t n)
{
	struct vmop_result *result = resolving->result;
	const struct vmop_symtab *symtab = NULL;
	const char *why = NULL;
	double percent = resolving->query->threshold_percent;
	bool skip = percent > 0 && is_below_threshold(result, image, percent);
	struct vmop_error *err =
		skip ? NULL : vmop_symbols_of(result->symbols, image, &symtab, &why);
	uint64_t missing = 0;
	for (size_t i = 0; i < n && !err; i++) {
		bool is_missing = false;
		err = resolve_cell(resolving, image, order[i], symtab, &is_missing);
		for (size_t slot = 0; !skip && is_missing && slot < result->cells.n_slots; slot++)
			missing += vmop_tally_counts(&result->cells, order[i])[slot].samples;
	}
	if (!err && vmop_catalog_image(&result->catalog, image)->kind != VMOP_IMAGE_NONE)
		note_missing(result, image, missing, symtab ? NULL : why);
	return err;
}

static int compare_details(const void *a, const void *b)
{
	const struct vmop_detail *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Make the details.  Cells of equal images at one address become one detail. */
static struct vmop_error *make_details(struct vmop_result *result, const size_t *rows)
{
	size_t n = 0;
	result->details = calloc(result->cells.n + 1, sizeof(*result->details));
	if (!result->details)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->cells.n; i++) {
		const struct vmop_tally_key *key = &result->cells.keys[i];
		size_t image = result->groups.items[key->group].image - 1;
		if (rows[i] == VMOP_TALLY_LEFT_OUT)
			continue;
		result->details[n++] = (struct vmop_detail){
			.address = vmop_catalog_image(&result->catalog, image)->base + key->value,
			.counts = vmop_tally_counts(&result->cells, i),
			.row = rows[i],
		};
	}
	qsort(result->details, n, sizeof(*result->details), compare_details);
	for (size_t i = 0; i < n; i++) {
		struct vmop_detail *last =
			result->n_details ? &result->details[result->n_details - 1] : NULL;
		const struct vmop_detail *this = &result->details[i];
		if (!last || compare_details(last, this) != 0) {
			result->details[result->n_details++] = *this;
			continue;
		}
		size_t cell = (size_t)(last->counts - result->cells.counts);
		for (size_t slot = 0; slot < result->cells.n_slots; slot++)
			vmop_count_add(&result->cells.counts[cell + slot],
				       this->counts[slot].samples,
				       this->counts[slot].weight_events);
	}
	return NULL;
}

struct vmop_error *vmop_result_resolve(const struct vmop_query *query, struct vmop_result *result)
{
	_cleanup_free_ uint32_t *order = NULL, *kernels = NULL;
	_cleanup_free_ size_t *rows = NULL;
	struct resolving resolving = {.query = query, .result = result};
	struct vmop_error *err = order_by_image(result, &order);
	bool with_details = query->details && !result->left_out.details;
	if (!err && with_details) {
		rows = calloc(result->cells.n + 1, sizeof(*rows));
		err = rows ? NULL : &vmop_error_no_memory;
	} else if (!err) { /* nearly each cell is a row */
		err = vmop_tally_reserve(&result->rows_tally, result->cells.n);
	}
	resolving.rows = rows;
	struct vmop_progress progress;
	vmop_progress_begin(&progress, "resolving samples' addresses", result->cells.n);
	for (size_t i = 0, end; i < result->cells.n && !err; i = end) {
		uint32_t image = result->groups.items[result->cells.keys[order[i]].group].image;
		for (end = i; end < result->cells.n; end++) {
			uint32_t group = result->cells.keys[order[end]].group;
			if (result->groups.items[group].image != image)
				break;
		}
		err = resolve_image(&resolving, image - 1, order + i, end - i);
		vmop_progress_step(&progress, end);
	}
	vmop_progress_end(&progress);
	kernels = resolving.kernels;
	return err || !with_details ? err : make_details(result, rows);
}
