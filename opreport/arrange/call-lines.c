// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/call-lines.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"

static struct vmop_error *append(struct vmop_call_lines *lines, const struct vmop_call_line *line)
{
	if (!vmop_array_reserve(lines->items, lines->capacity, lines->n + 1))
		return &vmop_error_no_memory;
	lines->items[lines->n++] = *line;
	return NULL;
}

/* Return whether some event of total has at least percent of base. */
static bool reaches(const struct vmop_count *total, const struct vmop_count *base, size_t n_events,
		    double percent)
{
	for (size_t e = 0; e < n_events; e++)
		if (total[e].samples && vmop_share_percent(total[e], base[e]) >= percent)
			return true;
	return false;
}

static struct vmop_error *nothing_left(const struct vmop_call_lines *lines, double threshold)
{
	return lines->n_hidden
		       ? vmop_error_new(VMOP_ERROR_NOT_FOUND,
					"no function reaches %g %%; a lower --threshold shows some",
					threshold)
		       : vmop_error_new(VMOP_ERROR_NOT_FOUND, "no symbols match");
}

/* ---- the blocks of a callgraph ---------------------------------------------- */

struct block_order {
	const struct vmop_callgraph *graph;
	const struct vmop_arrangement *arrangement;
};

static struct vmop_frame *frame_of(const struct vmop_callgraph *graph, uint32_t frame)
{
	return &graph->tree->frames.items[frame];
}

static const char *symbol_of(const struct vmop_callgraph *graph,
			     const struct vmop_function *function)
{
	return vmop_frame_symbol_name(graph->tree->result, frame_of(graph, function->frame));
}

static const char *image_of(const struct vmop_callgraph *graph,
			    const struct vmop_function *function)
{
	return vmop_image_base_name(
		vmop_frame_image(graph->tree->result, frame_of(graph, function->frame))->name);
}

static int compare_weights(const struct vmop_count *a, const struct vmop_count *b, size_t n_events)
{
	for (size_t e = 0; e < n_events; e++) {
		if (a[e].weight_events != b[e].weight_events)
			return a[e].weight_events < b[e].weight_events ? 1 : -1;
	}
	return 0;
}

static int compare_functions(const void *a, const void *b, void *arg)
{
	const struct block_order *order = arg;
	const struct vmop_function *x = a, *y = b;
	const struct vmop_arrangement *arrangement = order->arrangement;
	size_t n_events = order->graph->tree->n_events;
	int result = 0;
	for (size_t i = 0; i < arrangement->n_sort && !result; i++) {
		if (arrangement->sort[i] == VMOP_SORT_SYMBOL)
			result = strcmp(symbol_of(order->graph, x), symbol_of(order->graph, y));
		else if (arrangement->sort[i] == VMOP_SORT_IMAGE)
			result = strcmp(image_of(order->graph, x), image_of(order->graph, y));
		else
			result = compare_weights(x->self, y->self, n_events);
	}
	if (!result)
		result = compare_weights(x->self, y->self, n_events);
	if (!result)
		result = compare_weights(x->total, y->total, n_events);
	if (!result)
		result = (x->frame > y->frame) - (x->frame < y->frame);
	return arrangement->reverse ? -result : result;
}

static bool is_included(const struct vmop_callgraph *graph, const struct vmop_function *function,
			const struct vmop_arrangement *arrangement)
{
	const struct vmop_frame *frame = frame_of(graph, function->frame);
	return vmop_symbol_is_included(arrangement, symbol_of(graph, function), frame->key.symbol);
}

/* Set *ret to copies of the functions to show, sorted.  The caller frees *ret. */
static struct vmop_error *select_functions(const struct vmop_callgraph *graph,
					   const struct vmop_arrangement *arrangement,
					   struct vmop_call_lines *lines,
					   struct vmop_function **ret, size_t *ret_n)
{
	const struct vmop_call_tree *tree = graph->tree;
	struct block_order order = {.graph = graph, .arrangement = arrangement};
	size_t n = 0;
	*ret = calloc(graph->n_functions + 1, sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < graph->n_functions; i++) {
		const struct vmop_function *function = &graph->functions[i];
		if (!is_included(graph, function, arrangement))
			continue;
		if (reaches(function->total, tree->result->base, tree->n_events,
			    arrangement->threshold_percent))
			(*ret)[n++] = *function;
		else
			lines->n_hidden++;
	}
	qsort_r(*ret, n, sizeof(**ret), compare_functions, &order);
	if (arrangement->top && n > arrangement->top) {
		lines->n_hidden += n - arrangement->top;
		n = arrangement->top;
	}
	*ret_n = n;
	return n ? NULL : nothing_left(lines, arrangement->threshold_percent);
}

/* Append the callers or the callees of a function: arcs list[first..first + n). */
static struct vmop_error *append_arcs(struct vmop_call_lines *lines,
				      const struct vmop_callgraph *graph,
				      const struct vmop_function *function,
				      enum vmop_call_role role, double percent)
{
	bool are_callers = role == VMOP_CALL_CALLER;
	size_t first = are_callers ? function->first_caller : function->first_callee;
	size_t n = are_callers ? function->n_callers : function->n_callees;
	const uint32_t *list = are_callers ? graph->by_callee : graph->by_caller;
	struct vmop_error *err = NULL;
	for (size_t i = first; i < first + n && !err; i++) {
		const struct vmop_call_arc *arc = &graph->arcs[list[i]];
		const struct vmop_call_line line = {
			.role = role,
			.frame = are_callers ? arc->caller : arc->callee,
			.function = function->frame,
			.total = arc->counts,
			.base = function->total,
		};
		if (reaches(arc->counts, function->total, graph->tree->n_events, percent))
			err = append(lines, &line);
	}
	return err;
}

static struct vmop_error *append_block(struct vmop_call_lines *lines,
				       const struct vmop_callgraph *graph,
				       const struct vmop_function *function, double percent)
{
	const struct vmop_call_line line = {
		.role = VMOP_CALL_FUNCTION,
		.frame = function->frame,
		.function = function->frame,
		.total = function->total,
		.self = function->self,
		.base = graph->tree->result->base,
	};
	struct vmop_error *err = append_arcs(lines, graph, function, VMOP_CALL_CALLER, percent);
	if (!err)
		err = append(lines, &line);
	return err ? err : append_arcs(lines, graph, function, VMOP_CALL_CALLEE, percent);
}

struct vmop_error *vmop_call_lines_of_graph(struct vmop_call_lines *ret,
					    const struct vmop_callgraph *graph,
					    const struct vmop_arrangement *arrangement,
					    bool with_blanks)
{
	static const struct vmop_call_line blank = {.role = VMOP_CALL_BLANK};
	_cleanup_free_ struct vmop_function *functions = NULL;
	size_t n = 0;
	*ret = (struct vmop_call_lines){0};
	struct vmop_error *err = select_functions(graph, arrangement, ret, &functions, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (arrangement->max_lines && ret->n >= arrangement->max_lines) {
			ret->n_beyond = n - i;
			ret->n_hidden += n - i;
			break;
		}
		if (i && with_blanks)
			err = append(ret, &blank);
		if (!err)
			err = append_block(ret, graph, &functions[i],
					   arrangement->threshold_percent);
	}
	return err;
}

/* ---- the nodes of a tree ----------------------------------------------------- */

struct listing {
	const struct vmop_call_tree *tree;
	const struct vmop_arrangement *arrangement;
	struct vmop_call_lines *lines;
	bool with_self;
};

static bool is_shown(const struct listing *listing, uint32_t node)
{
	const struct vmop_call_tree *tree = listing->tree;
	return reaches(vmop_call_tree_total(tree, node), tree->result->base, tree->n_events,
		       listing->arrangement->threshold_percent);
}

/* Count the shown children of a node, and the hidden ones in lines->n_hidden. */
static size_t count_shown(const struct listing *listing, uint32_t node)
{
	const struct vmop_call_node *nodes = listing->tree->nodes;
	size_t n = 0;
	for (uint32_t child = nodes[node].first_child; child; child = nodes[child].next_sibling) {
		if (is_shown(listing, child))
			n++;
		else
			listing->lines->n_hidden++;
	}
	return n;
}

/* List the descendants of a node; `above` is the node's own line. */
static struct vmop_error *list_children(const struct listing *listing, uint32_t node,
					const struct vmop_call_line *above)
{
	const struct vmop_call_tree *tree = listing->tree;
	bool are_several = count_shown(listing, node) > 1;
	uint64_t max = listing->arrangement->max_lines;
	struct vmop_error *err = NULL;
	for (uint32_t child = tree->nodes[node].first_child; child && !err;
	     child = tree->nodes[child].next_sibling) {
		if (!is_shown(listing, child))
			continue;
		if (max && listing->lines->n >= max) {
			listing->lines->n_beyond = 1;
			break;
		}
		const struct vmop_call_line line = {
			.role = VMOP_CALL_FRAME,
			.frame = tree->nodes[child].frame,
			.function = tree->nodes[child].frame,
			.depth = above->depth + 1,
			.n_branches = above->n_branches + above->is_branch,
			.is_branch = are_several,
			.total = vmop_call_tree_total(tree, child),
			.self = listing->with_self ? vmop_call_tree_self(tree, child) : NULL,
			.base = tree->result->base,
		};
		err = append(listing->lines, &line);
		if (!err)
			err = list_children(listing, child, &line);
	}
	return err;
}

struct vmop_error *vmop_call_lines_of_tree(struct vmop_call_lines *ret,
					   const struct vmop_call_tree *tree,
					   const struct vmop_arrangement *arrangement,
					   bool with_self)
{
	const struct listing listing = {tree, arrangement, ret, with_self};
	const struct vmop_call_line root = {.depth = UINT32_MAX};
	*ret = (struct vmop_call_lines){0};
	struct vmop_error *err = list_children(&listing, 0, &root);
	if (err || ret->n)
		return err;
	return nothing_left(ret, arrangement->threshold_percent);
}

void vmop_call_lines_deinit(struct vmop_call_lines *lines)
{
	free(lines->items);
	*lines = (struct vmop_call_lines){0};
}
