// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/rows.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/stacks/call-path.h"

struct making {
	const struct vmop_call_tree *tree;
	size_t event;
	struct vmop_page_rows *rows;
	size_t capacity;
	uint32_t *buckets; /* n_buckets, a power of two: row + 1, or 0 */
	size_t n_buckets;
	struct vmop_call_path path; /* of rows: a recursive function counts once */
};

static uint32_t *bucket_of(const struct making *making, uint32_t domain, uint32_t frame)
{
	size_t mask = making->n_buckets - 1;
	uint64_t hash = ((uint64_t)domain << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash >> 32) & mask;
	for (; making->buckets[at]; at = (at + 1) & mask) {
		const struct vmop_page_row *row = &making->rows->items[making->buckets[at] - 1];
		if (row->domain == domain && row->frame == frame)
			break;
	}
	return &making->buckets[at];
}

/* Set *ret to the row of a frame in a domain; make it if it is missing. */
static struct vmop_error *find_row(struct making *making, uint32_t domain, uint32_t frame,
				   uint32_t *ret)
{
	struct vmop_page_rows *rows = making->rows;
	uint32_t *bucket = bucket_of(making, domain, frame);
	if (!*bucket) {
		if (!vmop_array_reserve(rows->items, making->capacity, rows->n + 1))
			return &vmop_error_no_memory;
		rows->items[rows->n++] = (struct vmop_page_row){.domain = domain, .frame = frame};
		*bucket = (uint32_t)rows->n;
	}
	*ret = *bucket - 1;
	return NULL;
}

/* Add a node's samples to its row. */
static struct vmop_error *add_node(struct making *making, uint32_t node, size_t depth,
				   uint32_t domain)
{
	const struct vmop_call_tree *tree = making->tree;
	const struct vmop_count *total = &vmop_call_tree_total(tree, node)[making->event];
	const struct vmop_count *self = &vmop_call_tree_self(tree, node)[making->event];
	const struct vmop_frame *frame = vmop_call_tree_frame(tree, node);
	uint32_t row = VMOP_NO_ITEM;
	bool is_first = false;
	struct vmop_error *err = NULL;
	bool is_row = vmop_frame_is_code(frame) || frame->key.kind == VMOP_FRAME_LEFT_OUT;
	if (is_row && total->samples)
		err = find_row(making, domain, tree->nodes[node].frame, &row);
	if (!err && depth <= VMOP_CALL_PATH_MAX)
		err = vmop_call_path_enter(&making->path, depth - 1, row, &is_first);
	making->rows->row_of[node] = row;
	if (err || row == VMOP_NO_ITEM)
		return err;
	struct vmop_page_row *item = &making->rows->items[row];
	vmop_count_add(&item->self, self->samples, self->weight_events);
	if (is_first)
		vmop_count_add(&item->total, total->samples, total->weight_events);
	return NULL;
}

static struct vmop_error *add_nodes(struct making *making)
{
	const struct vmop_call_tree *tree = making->tree;
	uint32_t domain = VMOP_NO_FRAME;
	struct vmop_error *err = NULL;
	size_t depth = 0;
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node && !err;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		if (depth == 1)
			domain = VMOP_NO_FRAME;
		if (vmop_call_tree_frame(tree, node)->key.kind == VMOP_FRAME_DOMAIN)
			domain = tree->nodes[node].frame;
		err = add_node(making, node, depth, domain);
	}
	return err;
}

static int compare_counts(const struct vmop_count *x, const struct vmop_count *y)
{
	if (x->weight_events != y->weight_events)
		return x->weight_events < y->weight_events ? 1 : -1;
	return (x->samples < y->samples) - (x->samples > y->samples);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct vmop_page_row *rows = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int order = compare_counts(&rows[i].self, &rows[j].self);
	if (!order)
		order = compare_counts(&rows[i].total, &rows[j].total);
	return order ? order : (i > j) - (i < j);
}

/* Sort the rows, and sum up those beyond the first max_rows. */
static struct vmop_error *keep_first(struct vmop_page_rows *rows, size_t n_nodes, size_t max_rows)
{
	_cleanup_free_ uint32_t *order = calloc(rows->n + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place = calloc(rows->n + 1, sizeof(*place));
	rows->n_kept = rows->n < max_rows ? rows->n : max_rows;
	struct vmop_page_row *kept = calloc(rows->n_kept + 1, sizeof(*kept));
	if (!order || !place || !kept) {
		free(kept);
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < rows->n; i++)
		order[i] = (uint32_t)i;
	if (rows->n)
		qsort_r(order, rows->n, sizeof(*order), compare_rows, rows->items);
	for (size_t i = 0; i < rows->n; i++) {
		const struct vmop_page_row *row = &rows->items[order[i]];
		place[order[i]] = i < rows->n_kept ? (uint32_t)i : VMOP_NO_FRAME;
		if (i < rows->n_kept)
			kept[i] = *row;
		else
			vmop_count_add(&rows->rest, row->self.samples, row->self.weight_events);
	}
	for (size_t node = 0; node < n_nodes; node++)
		if (rows->row_of[node] != VMOP_NO_FRAME)
			rows->row_of[node] = place[rows->row_of[node]];
	free(rows->items);
	rows->items = kept;
	return NULL;
}

struct vmop_error *vmop_page_rows_init(struct vmop_page_rows *ret,
				       const struct vmop_call_tree *tree, size_t event,
				       size_t max_rows)
{
	_Static_assert(VMOP_NO_ITEM == VMOP_NO_FRAME, "row_of has both");
	struct making making = {.tree = tree, .event = event, .rows = ret, .n_buckets = 2};
	*ret = (struct vmop_page_rows){0};
	while (making.n_buckets < 2 * tree->n_nodes)
		making.n_buckets *= 2;
	making.buckets = calloc(making.n_buckets, sizeof(*making.buckets));
	ret->row_of = malloc(tree->n_nodes * sizeof(*ret->row_of));
	struct vmop_error *err = making.buckets && ret->row_of ? NULL : &vmop_error_no_memory;
	if (!err) {
		memset(ret->row_of, 0xff, tree->n_nodes * sizeof(*ret->row_of));
		err = add_nodes(&making);
	}
	if (!err)
		err = keep_first(ret, tree->n_nodes, max_rows);
	free(making.buckets);
	vmop_call_path_deinit(&making.path);
	return err;
}

void vmop_page_rows_cut(struct vmop_page_rows *rows, size_t n_nodes, size_t max_rows)
{
	if (max_rows >= rows->n_kept)
		return;
	for (size_t i = max_rows; i < rows->n_kept; i++)
		vmop_count_add(&rows->rest, rows->items[i].self.samples,
			       rows->items[i].self.weight_events);
	rows->n_kept = max_rows;
	for (size_t node = 0; node < n_nodes; node++)
		if (rows->row_of[node] != VMOP_NO_FRAME && rows->row_of[node] >= max_rows)
			rows->row_of[node] = VMOP_NO_FRAME;
}

void vmop_page_rows_deinit(struct vmop_page_rows *rows)
{
	free(rows->items);
	free(rows->row_of);
	*rows = (struct vmop_page_rows){0};
}
