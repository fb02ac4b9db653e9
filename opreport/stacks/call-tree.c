// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/call-tree.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/hash-seed.h"

enum { FIRST_CAPACITY = 1024, ROOT = 0 };

/* Return the bytes of a tree with room for `capacity` nodes, totals included. */
static size_t bytes_of(const struct vmop_call_tree *tree, size_t capacity)
{
	return capacity * (sizeof(*tree->nodes) + 2 * sizeof(*tree->buckets) +
			   tree->n_events * (sizeof(*tree->selfs) + sizeof(*tree->totals)));
}

/* The finaliser of MurmurHash3 (public domain). */
static uint32_t hash_of(const struct vmop_call_tree *tree, uint32_t parent, uint32_t frame)
{
	uint64_t hash = ((uint64_t)parent << 32 | frame) * tree->seed;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
	return (uint32_t)(hash ^ hash >> 33);
}

/* Return the bucket of a child of parent, or the empty one where it belongs. */
static struct vmop_call_bucket *bucket_of(const struct vmop_call_tree *tree, uint32_t hash,
					  uint32_t parent, uint32_t frame)
{
	_Static_assert(VMOP_CALL_TREE_MAX_BYTES / sizeof(struct vmop_call_bucket) <= UINT32_MAX,
		       "a hash of 32 bits reaches all buckets");
	size_t mask = tree->n_buckets - 1, at = hash & mask;
	for (; tree->buckets[at].node; at = (at + 1) & mask) {
		const struct vmop_call_node *node = &tree->nodes[tree->buckets[at].node];
		if (tree->buckets[at].hash == hash && node->parent == parent &&
		    node->frame == frame)
			break;
	}
	return &tree->buckets[at];
}

static struct vmop_error *grow_nodes(struct vmop_call_tree *tree)
{
	size_t capacity = tree->capacity ? tree->capacity * 2 : FIRST_CAPACITY;
	void *nodes = reallocarray(tree->nodes, capacity, sizeof(*tree->nodes));
	if (!nodes)
		return &vmop_error_no_memory;
	tree->nodes = nodes;
	void *selfs = reallocarray(tree->selfs, capacity, tree->n_events * sizeof(*tree->selfs));
	if (!selfs)
		return &vmop_error_no_memory;
	tree->selfs = selfs;
	tree->capacity = capacity;
	return NULL;
}

/* At most half of the buckets are used, so there are at most twice as many as nodes have room. */
static struct vmop_error *grow_buckets(struct vmop_call_tree *tree)
{
	size_t n_buckets = tree->n_buckets ? tree->n_buckets * 2 : FIRST_CAPACITY;
	size_t mask = n_buckets - 1;
	struct vmop_call_bucket *buckets = calloc(n_buckets, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < tree->n_buckets; i++) {
		size_t at = tree->buckets[i].hash & mask;
		if (!tree->buckets[i].node)
			continue;
		while (buckets[at].node)
			at = (at + 1) & mask;
		buckets[at] = tree->buckets[i];
	}
	free(tree->buckets);
	tree->buckets = buckets;
	tree->n_buckets = n_buckets;
	return NULL;
}

static uint32_t append(struct vmop_call_tree *tree, uint32_t parent, uint32_t frame)
{
	size_t i = tree->n_nodes++;
	tree->nodes[i] = (struct vmop_call_node){.parent = parent, .frame = frame};
	memset(tree->selfs + i * tree->n_events, 0, tree->n_events * sizeof(*tree->selfs));
	return (uint32_t)i;
}

struct vmop_error *vmop_call_tree_init(struct vmop_call_tree *tree, struct vmop_result *result,
				       const struct vmop_call_tree_options *options)
{
	static const struct vmop_frame_key left_out = {.kind = VMOP_FRAME_LEFT_OUT};
	*tree = (struct vmop_call_tree){.result = result,
					.options = *options,
					.n_events = result->n_events,
					.seed = vmop_hash_seed()};
	uint32_t frame;
	struct vmop_error *err = grow_nodes(tree);
	if (!err)
		err = grow_buckets(tree);
	if (!err)
		err = vmop_frames_intern(&tree->frames, &left_out, 0, &frame);
	if (err)
		return err;
	append(tree, ROOT, 0);
	return vmop_call_tree_child(tree, ROOT, frame, &tree->left_out_node);
}

void vmop_call_tree_deinit(struct vmop_call_tree *tree)
{
	vmop_frames_deinit(&tree->frames);
	vmop_time_counts_deinit(&tree->times);
	vmop_time_counts_deinit(&tree->bills);
	free(tree->nodes);
	free(tree->selfs);
	free(tree->totals);
	free(tree->buckets);
	*tree = (struct vmop_call_tree){0};
}

/* Append a child to a parent without that frame; *ret is left_out_node if there is no room. */
static struct vmop_error *add_child(struct vmop_call_tree *tree, uint32_t parent, uint32_t frame,
				    uint32_t *ret)
{
	bool is_oldest = !tree->nodes[parent].first_child;
	struct vmop_error *err = NULL;
	*ret = tree->left_out_node;
	if (tree->n_nodes == tree->capacity) {
		if (bytes_of(tree, tree->capacity * 2) > VMOP_CALL_TREE_MAX_BYTES)
			return NULL;
		err = grow_nodes(tree);
	}
	if (!err && !is_oldest && tree->n_used * 2 == tree->n_buckets)
		err = grow_buckets(tree);
	if (err)
		return err;
	*ret = append(tree, parent, frame);
	if (is_oldest) {
		tree->nodes[parent].first_child = *ret;
		return NULL;
	}
	uint32_t hash = hash_of(tree, parent, frame);
	*bucket_of(tree, hash, parent, frame) = (struct vmop_call_bucket){*ret, hash};
	tree->n_used++;
	tree->nodes[parent].next_sibling = *ret;
	return NULL;
}

/*
 * A look-up by hash misses the CPU's caches twice.  Most nodes have one child, which is their
 * neighbour, and most other look-ups repeat the one before.
 */
struct vmop_error *vmop_call_tree_child(struct vmop_call_tree *tree, uint32_t parent,
					uint32_t frame, uint32_t *ret)
{
	*ret = tree->left_out_node;
	if (frame == VMOP_NO_FRAME || (parent == tree->left_out_node && parent != ROOT))
		return NULL;
	struct vmop_call_node *node = &tree->nodes[parent];
	const uint32_t likely[] = {node->first_child, node->next_sibling};
	for (size_t i = 0; i < 2; i++) {
		if (likely[i] && tree->nodes[likely[i]].frame == frame) {
			*ret = likely[i];
			return NULL;
		}
	}
	uint32_t known = 0;
	if (likely[1])
		known = bucket_of(tree, hash_of(tree, parent, frame), parent, frame)->node;
	if (!known)
		return add_child(tree, parent, frame, ret);
	*ret = node->next_sibling = known;
	return NULL;
}

/* ---- finishing ------------------------------------------------------------- */

static struct vmop_error *sum_totals(struct vmop_call_tree *tree)
{
	size_t n_events = tree->n_events;
	tree->totals = calloc(tree->n_nodes, n_events * sizeof(*tree->totals));
	if (!tree->totals)
		return &vmop_error_no_memory;
	memcpy(tree->totals, tree->selfs, tree->n_nodes * n_events * sizeof(*tree->totals));
	for (size_t i = tree->n_nodes; i-- > 1;) { /* parents have lower numbers */
		const struct vmop_count *from = tree->totals + i * n_events;
		struct vmop_count *to = tree->totals + tree->nodes[i].parent * n_events;
		for (size_t e = 0; e < n_events; e++)
			vmop_count_add(&to[e], from[e].samples, from[e].weight_events);
	}
	return NULL;
}

static bool is_empty(const struct vmop_call_tree *tree, uint32_t node)
{
	const struct vmop_count *total = vmop_call_tree_total(tree, node);
	for (size_t e = 0; e < tree->n_events; e++)
		if (total[e].samples)
			return false;
	return true;
}

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct vmop_call_tree *tree = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct vmop_count *x = vmop_call_tree_total(tree, i);
	const struct vmop_count *y = vmop_call_tree_total(tree, j);
	for (size_t e = 0; e < tree->n_events; e++) {
		if (x[e].weight_events != y[e].weight_events)
			return x[e].weight_events < y[e].weight_events ? 1 : -1;
		if (x[e].samples != y[e].samples)
			return x[e].samples < y[e].samples ? 1 : -1;
	}
	return (i > j) - (i < j);
}

/* Sort order[first..end), the children of parent, and link those that have samples. */
static void link_children(struct vmop_call_tree *tree, uint32_t parent, uint32_t *order,
			  size_t first, size_t end)
{
	if (end - first > 1)
		qsort_r(order + first, end - first, sizeof(*order), compare_siblings, tree);
	uint32_t *link = &tree->nodes[parent].first_child;
	*link = 0;
	for (size_t i = first; i < end && !is_empty(tree, order[i]); i++) {
		*link = order[i];
		link = &tree->nodes[order[i]].next_sibling;
	}
	*link = 0;
}

struct vmop_error *vmop_call_tree_finish(struct vmop_call_tree *tree)
{
	size_t n = tree->n_nodes;
	struct vmop_error *err = sum_totals(tree);
	tree->nodes[ROOT].next_sibling = 0;
	_cleanup_free_ uint32_t *ends = calloc(n + 1, sizeof(*ends));
	_cleanup_free_ uint32_t *order = calloc(n, sizeof(*order));
	if (err || !ends || !order)
		return err ? err : &vmop_error_no_memory;
	/* A counting sort by parent: ends[p] is where p's children begin, and at last where they
	 * end. */
	for (size_t i = 1; i < n; i++)
		ends[tree->nodes[i].parent + 1]++;
	for (size_t p = 1; p <= n; p++)
		ends[p] += ends[p - 1];
	for (size_t i = 1; i < n; i++)
		order[ends[tree->nodes[i].parent]++] = (uint32_t)i;
	for (size_t p = 0; p < n; p++)
		link_children(tree, (uint32_t)p, order, p ? ends[p - 1] : 0, ends[p]);
	return NULL;
}

uint32_t vmop_call_tree_next(const struct vmop_call_tree *tree, uint32_t node, size_t *depth)
{
	const struct vmop_call_node *nodes = tree->nodes;
	if (nodes[node].first_child) {
		++*depth;
		node = nodes[node].first_child;
	} else {
		while (node && !nodes[node].next_sibling) {
			node = nodes[node].parent;
			--*depth;
		}
		node = node ? nodes[node].next_sibling : 0;
	}
	/* Siblings are far apart: load the next one while the caller is busy with this. */
	uint32_t next = nodes[node].next_sibling;
	__builtin_prefetch(&nodes[next]);
	__builtin_prefetch(&tree->selfs[next * tree->n_events]);
	__builtin_prefetch(&tree->totals[next * tree->n_events]);
	return node;
}
