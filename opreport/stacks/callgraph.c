// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/callgraph.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/stacks/call-path.h"

enum { FIRST_ARCS = 1024 };

/* ---- arcs ------------------------------------------------------------------ */

static size_t slot_of(const struct vmop_callgraph *graph, uint32_t caller, uint32_t callee)
{
	uint64_t hash = ((uint64_t)caller << 32 | callee) * graph->tree->seed;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull; /* MurmurHash3's finaliser */
	size_t mask = graph->n_buckets - 1, at = (size_t)(hash ^ hash >> 33) & mask;
	for (; graph->buckets[at]; at = (at + 1) & mask) {
		const struct vmop_call_arc *arc = &graph->arcs[graph->buckets[at] - 1];
		if (arc->caller == caller && arc->callee == callee)
			break;
	}
	return at;
}

static struct vmop_error *grow(struct vmop_callgraph *graph)
{
	size_t n_events = graph->tree->n_events;
	size_t capacity = graph->arcs_capacity ? graph->arcs_capacity * 2 : FIRST_ARCS;
	void *arcs = reallocarray(graph->arcs, capacity, sizeof(*graph->arcs));
	if (!arcs)
		return &vmop_error_no_memory;
	graph->arcs = arcs;
	void *counts =
		reallocarray(graph->arc_counts, capacity, n_events * sizeof(*graph->arc_counts));
	if (!counts)
		return &vmop_error_no_memory;
	graph->arc_counts = counts;
	uint32_t *buckets = calloc(capacity * 2, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	free(graph->buckets);
	graph->buckets = buckets;
	graph->n_buckets = capacity * 2;
	graph->arcs_capacity = capacity;
	for (size_t i = 0; i < graph->n_arcs; i++)
		buckets[slot_of(graph, graph->arcs[i].caller, graph->arcs[i].callee)] =
			(uint32_t)(i + 1);
	return NULL;
}

/* Set *ret to the index of an arc, which is added if it is new. */
static struct vmop_error *find_arc(struct vmop_callgraph *graph, uint32_t caller, uint32_t callee,
				   uint32_t *ret)
{
	size_t n_events = graph->tree->n_events;
	if (graph->n_arcs == graph->arcs_capacity) {
		struct vmop_error *err = grow(graph);
		if (err)
			return err;
	}
	size_t at = slot_of(graph, caller, callee);
	if (!graph->buckets[at]) {
		graph->arcs[graph->n_arcs] = (struct vmop_call_arc){caller, callee, NULL};
		memset(graph->arc_counts + graph->n_arcs * n_events, 0,
		       n_events * sizeof(*graph->arc_counts));
		graph->buckets[at] = (uint32_t)++graph->n_arcs;
	}
	*ret = graph->buckets[at] - 1;
	return NULL;
}

/* ---- counting -------------------------------------------------------------- */

static void add_counts(struct vmop_count *to, const struct vmop_count *from, size_t n)
{
	for (size_t e = 0; e < n; e++)
		vmop_count_add(&to[e], from[e].samples, from[e].weight_events);
}

struct counting {
	struct vmop_callgraph *graph;
	struct vmop_call_path frames, arcs;
};

static struct vmop_error *count_node(struct counting *counting, uint32_t node, size_t depth)
{
	struct vmop_callgraph *graph = counting->graph;
	const struct vmop_call_tree *tree = graph->tree;
	size_t n = tree->n_events;
	uint32_t frame = tree->nodes[node].frame, parent = tree->nodes[node].parent;
	uint32_t arc = VMOP_NO_ITEM;
	bool is_first_frame = false, is_first_arc = false;
	struct vmop_error *err =
		vmop_call_path_enter(&counting->frames, depth - 1, frame, &is_first_frame);
	if (!err && parent)
		err = find_arc(graph, tree->nodes[parent].frame, frame, &arc);
	if (!err)
		err = vmop_call_path_enter(&counting->arcs, depth - 1, arc, &is_first_arc);
	if (err)
		return err;
	struct vmop_count *counts = graph->frame_counts + frame * 2 * n;
	add_counts(counts, vmop_call_tree_self(tree, node), n);
	if (is_first_frame)
		add_counts(counts + n, vmop_call_tree_total(tree, node), n);
	if (is_first_arc)
		add_counts(graph->arc_counts + arc * n, vmop_call_tree_total(tree, node), n);
	return NULL;
}

static struct vmop_error *count_all(struct vmop_callgraph *graph)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	if (!counting)
		return &vmop_error_no_memory;
	counting->graph = graph;
	size_t depth = 0;
	struct vmop_error *err = NULL;
	for (uint32_t node = 0; !err && (node = vmop_call_tree_next(graph->tree, node, &depth));)
		err = count_node(counting, node, depth);
	vmop_call_path_deinit(&counting->frames);
	vmop_call_path_deinit(&counting->arcs);
	free(counting);
	return err;
}

/* ---- order ----------------------------------------------------------------- */

static int compare_counts(const struct vmop_call_arc *a, const struct vmop_call_arc *b,
			  size_t n_events)
{
	for (size_t e = 0; e < n_events; e++) {
		if (a->counts[e].weight_events != b->counts[e].weight_events)
			return a->counts[e].weight_events < b->counts[e].weight_events ? 1 : -1;
	}
	return (a > b) - (a < b);
}

static int compare_by_callee(const void *a, const void *b, void *arg)
{
	const struct vmop_callgraph *graph = arg;
	const struct vmop_call_arc *x = &graph->arcs[*(const uint32_t *)a];
	const struct vmop_call_arc *y = &graph->arcs[*(const uint32_t *)b];
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return compare_counts(x, y, graph->tree->n_events);
}

static int compare_by_caller(const void *a, const void *b, void *arg)
{
	const struct vmop_callgraph *graph = arg;
	const struct vmop_call_arc *x = &graph->arcs[*(const uint32_t *)a];
	const struct vmop_call_arc *y = &graph->arcs[*(const uint32_t *)b];
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return compare_counts(x, y, graph->tree->n_events);
}

static struct vmop_error *sort_arcs(struct vmop_callgraph *graph)
{
	size_t n = graph->n_arcs;
	graph->by_callee = calloc(n + 1, sizeof(*graph->by_callee));
	graph->by_caller = calloc(n + 1, sizeof(*graph->by_caller));
	if (!graph->by_callee || !graph->by_caller)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		graph->arcs[i].counts = graph->arc_counts + i * graph->tree->n_events;
		graph->by_callee[i] = graph->by_caller[i] = (uint32_t)i;
	}
	qsort_r(graph->by_callee, n, sizeof(*graph->by_callee), compare_by_callee, graph);
	qsort_r(graph->by_caller, n, sizeof(*graph->by_caller), compare_by_caller, graph);
	return NULL;
}

static bool is_empty(const struct vmop_count *counts, size_t n)
{
	size_t e = 0;
	while (e < n && !counts[e].samples)
		e++;
	return e == n;
}

static struct vmop_error *list_functions(struct vmop_callgraph *graph)
{
	const struct vmop_call_tree *tree = graph->tree;
	graph->functions = calloc(tree->frames.n + 1, sizeof(*graph->functions));
	_cleanup_free_ uint32_t *by_frame = calloc(tree->frames.n + 1, sizeof(*by_frame));
	if (!graph->functions || !by_frame)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < tree->frames.n; i++) {
		const struct vmop_count *self = graph->frame_counts + i * 2 * tree->n_events;
		const struct vmop_count *total = self + tree->n_events;
		if (!vmop_frame_is_code(&tree->frames.items[i]) || is_empty(total, tree->n_events))
			continue;
		graph->functions[graph->n_functions++] =
			(struct vmop_function){.frame = (uint32_t)i, .self = self, .total = total};
		by_frame[i] = (uint32_t)graph->n_functions;
	}
	for (size_t i = graph->n_arcs; i-- > 0;) { /* backwards: the last one set is the first */
		uint32_t callee = by_frame[graph->arcs[graph->by_callee[i]].callee];
		uint32_t caller = by_frame[graph->arcs[graph->by_caller[i]].caller];
		if (callee) {
			graph->functions[callee - 1].first_caller = i;
			graph->functions[callee - 1].n_callers++;
		}
		if (caller) {
			graph->functions[caller - 1].first_callee = i;
			graph->functions[caller - 1].n_callees++;
		}
	}
	return NULL;
}

struct vmop_error *vmop_callgraph_init(struct vmop_callgraph *graph,
				       const struct vmop_call_tree *tree)
{
	*graph = (struct vmop_callgraph){.tree = tree};
	graph->frame_counts =
		calloc(tree->frames.n + 1, 2 * tree->n_events * sizeof(*graph->frame_counts));
	if (!graph->frame_counts)
		return &vmop_error_no_memory;
	struct vmop_error *err = count_all(graph);
	if (!err)
		err = sort_arcs(graph);
	return err ? err : list_functions(graph);
}

void vmop_callgraph_deinit(struct vmop_callgraph *graph)
{
	free(graph->functions);
	free(graph->arcs);
	free(graph->by_callee);
	free(graph->by_caller);
	free(graph->frame_counts);
	free(graph->arc_counts);
	free(graph->buckets);
	*graph = (struct vmop_callgraph){0};
}
