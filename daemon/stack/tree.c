// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libutil/cleanup.h"

/*
 * Nodes for which the look-up table has room at first. A small table stays in the cache, and grows
 * with the number of stacks.
 */
#define ROOM_AT_FIRST (32 * 1024)

/* The image slot of end marks. */
#define NO_SLOT UINT32_MAX

struct node {
	uint64_t offset;
	uint32_t parent; /* id */
	uint32_t slot;	 /* of the image, which the tree has a reference to; or NO_SLOT */
};

struct slot {
	uint32_t hash; /* of the frames from the end mark to the node */
	uint32_t at;   /* index of the node + 1; 0: free */
};

struct vmop_stack_tree {
	struct vmop_images *images;
	struct vmop_stack_tree_limits limits;
	uint32_t ends[VMOP_N_STACK_ENDS]; /* ids of the end marks; 0: none yet */
	/* The present generation: node i has the id first_id + i. */
	struct node *nodes;
	uint32_t n, n_stored, first_id;
	struct slot *slots;  /* hash table */
	uint32_t mask, room; /* room: nodes that the hash table is made for, beside end marks */
	bool *has_image;     /* by slot of images: the tree has a reference */
	uint64_t n_generations, n_refused, n_short;
	bool is_short; /* of memory */
};

/* Replace the hash table by an empty one for `room` nodes. False: out of memory, nothing changes.
 */
static bool make_slots(struct vmop_stack_tree *tree, uint32_t room)
{
	uint32_t size = 16;
	while (size < 2 * (room + VMOP_N_STACK_ENDS))
		size *= 2;
	struct slot *slots = calloc(size, sizeof(*slots));
	if (!slots)
		return false;
	free(tree->slots);
	tree->slots = slots;
	tree->mask = size - 1;
	tree->room = room;
	return true;
}

struct vmop_error *vmop_stack_tree_create(struct vmop_images *images,
					  const struct vmop_stack_tree_limits *limits,
					  struct vmop_stack_tree **ret)
{
	struct vmop_stack_tree *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return &vmop_error_no_memory;
	uint32_t room = limits->max_nodes < ROOM_AT_FIRST ? limits->max_nodes : ROOM_AT_FIRST;
	tree->images = images;
	tree->limits = *limits;
	tree->first_id = 1;
	/* One node more for each end mark, which always has room. Only used pages take memory. */
	tree->nodes = malloc((limits->max_nodes + VMOP_N_STACK_ENDS) * sizeof(*tree->nodes));
	tree->has_image = calloc(limits->max_images, sizeof(*tree->has_image));
	if (!tree->nodes || !tree->has_image || !make_slots(tree, room)) {
		vmop_stack_tree_destroy(tree);
		return &vmop_error_no_memory;
	}
	*ret = tree;
	return NULL;
}

static void release_images(struct vmop_stack_tree *tree)
{
	for (uint32_t i = 0; i < tree->limits.max_images; i++) {
		if (!tree->has_image[i])
			continue;
		tree->has_image[i] = false;
		vmop_image_unref(tree->images, tree->images->slots[i]);
	}
}

void vmop_stack_tree_destroy(struct vmop_stack_tree *tree)
{
	if (!tree)
		return;
	if (tree->has_image)
		release_images(tree);
	free(tree->nodes);
	free(tree->slots);
	free(tree->has_image);
	free(tree);
}

/*
 * Return the hash of a frame below a node with the hash `parent`. It does not depend on ids, so
 * that the slots of a whole stack can be fetched at once: they are in no near cache.
 */
static uint32_t hash_frame(uint32_t parent, uint32_t slot, uint64_t offset)
{
	const uint64_t multiplier = 0x9e3779b97f4a7c15ull;
	uint64_t value = (offset ^ (uint64_t)slot << 44) * multiplier;
	value = (value ^ value >> 32 ^ parent) * multiplier;
	return (uint32_t)(value >> 32);
}

/* Return the slot of the hash table that has node, or the free one for it. */
static struct slot *find(struct vmop_stack_tree *tree, const struct node *node, uint32_t hash)
{
	uint32_t i = hash & tree->mask;
	for (; tree->slots[i].at; i = (i + 1) & tree->mask) {
		const struct node *other = &tree->nodes[tree->slots[i].at - 1];
		if (tree->slots[i].hash == hash && other->offset == node->offset &&
		    other->parent == node->parent && other->slot == node->slot)
			break;
	}
	return &tree->slots[i];
}

/* Append a node, and return its id. */
static uint32_t append(struct vmop_stack_tree *tree, const struct node *node)
{
	tree->nodes[tree->n] = *node;
	return tree->first_id + tree->n++;
}

struct vmop_stack_node vmop_stack_tree_end(struct vmop_stack_tree *tree, enum vmop_stack_end end)
{
	/* An end mark keeps its id when the table is dropped. It is not in the hash table. */
	const struct node node = {.offset = end, .slot = NO_SLOT};
	if (!tree->ends[end])
		tree->ends[end] = append(tree, &node);
	return (struct vmop_stack_node){.id = {tree->ends[end]},
					.hash = hash_frame(0, NO_SLOT, end)};
}

/* Return whether the tables have room for another frame, beside all end marks. */
static bool has_room(const struct vmop_stack_tree *tree)
{
	return !tree->is_short && tree->n < tree->room &&
	       tree->n - tree->n_stored < tree->limits.max_interval &&
	       tree->first_id < UINT32_MAX - 2 * tree->limits.max_nodes;
}

/* Return the id of a frame's node; 0: no room. */
static uint32_t find_or_append(struct vmop_stack_tree *tree, const struct node *node, uint32_t hash)
{
	struct slot *slot = find(tree, node, hash);
	if (slot->at)
		return tree->first_id + slot->at - 1;
	if (!has_room(tree) || node->slot >= tree->limits.max_images)
		return 0;
	if (!tree->has_image[node->slot]) {
		tree->has_image[node->slot] = true;
		vmop_image_ref(tree->images->slots[node->slot]);
	}
	uint32_t id = append(tree, node);
	*slot = (struct slot){.hash = hash, .at = tree->n};
	return id;
}

/* Set the hashes of the frames' nodes, and fetch the tables' entries for them. */
static void fetch(const struct vmop_stack_tree *tree, uint32_t hash,
		  const struct vmop_stack_caller *callers, size_t n, struct vmop_stack_node *nodes)
{
	for (size_t i = 0; i < n; i++) {
		const struct vmop_image *image = vmop_image_canonical(callers[i].image);
		hash = hash_frame(hash, image->slot.at, callers[i].offset);
		nodes[i].hash = hash;
		__builtin_prefetch(&tree->slots[hash & tree->mask]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t at = tree->slots[nodes[i].hash & tree->mask].at;
		if (at)
			__builtin_prefetch(&tree->nodes[at - 1]);
	}
}

size_t vmop_stack_tree_add(struct vmop_stack_tree *tree, struct vmop_stack_node parent,
			   const struct vmop_stack_caller *callers, size_t n,
			   struct vmop_stack_node *nodes)
{
	struct node node = {.parent = parent.id.number};
	fetch(tree, parent.hash, callers, n, nodes);
	for (size_t i = 0; i < n; i++) {
		node.slot = vmop_image_canonical(callers[i].image)->slot.at;
		node.offset = callers[i].offset;
		node.parent = find_or_append(tree, &node, nodes[i].hash);
		if (!node.parent) {
			tree->n_refused++;
			tree->n_short += tree->is_short;
			return i;
		}
		nodes[i].id.number = node.parent;
	}
	return n;
}

static void describe(const struct vmop_stack_tree *tree, uint32_t i, struct vmop_db_stack_node *ret)
{
	const struct node *node = &tree->nodes[i];
	*ret = (struct vmop_db_stack_node){
		.id = {tree->first_id + i},
		.parent = {node->parent},
		.offset = node->offset,
	};
	if (node->slot != NO_SLOT)
		ret->image = vmop_image_canonical(tree->images->slots[node->slot])->id;
}

struct vmop_error *vmop_stack_tree_store(struct vmop_stack_tree *tree, struct vmop_db *db)
{
	_cleanup_free_ struct vmop_db_stack_node *rows = NULL;
	if (tree->n == tree->n_stored)
		return NULL;
	size_t n_rows = tree->n - tree->n_stored;
	rows = malloc(n_rows * sizeof(*rows));
	if (!rows)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < n_rows; i++)
		describe(tree, tree->n_stored + i, &rows[i]);
	return vmop_db_put_stack_nodes(db, rows, n_rows);
}

bool vmop_stack_tree_wants_flush(const struct vmop_stack_tree *tree)
{
	return tree->room < tree->limits.max_nodes && tree->n > tree->room / 4 * 3;
}

/* Double the room of the hash table. Without memory it stays. */
static void grow(struct vmop_stack_tree *tree)
{
	uint32_t max = tree->limits.max_nodes, n_slots = tree->mask + 1;
	_cleanup_free_ struct slot *old = vmop_steal(&tree->slots);
	if (!make_slots(tree, tree->room < max / 2 ? 2 * tree->room : max)) {
		tree->slots = vmop_steal(&old);
		return;
	}
	for (uint32_t i = 0; i < n_slots; i++) {
		uint32_t to = old[i].hash & tree->mask;
		if (!old[i].at)
			continue;
		while (tree->slots[to].at)
			to = (to + 1) & tree->mask;
		tree->slots[to] = old[i];
	}
}

/* Begin a new generation. */
static void drop(struct vmop_stack_tree *tree)
{
	tree->first_id += tree->n;
	tree->n = tree->n_stored = 0;
	tree->n_generations++;
	memset(tree->slots, 0, ((size_t)tree->mask + 1) * sizeof(*tree->slots));
	release_images(tree);
}

void vmop_stack_tree_stored(struct vmop_stack_tree *tree)
{
	const struct vmop_images *images = tree->images;
	tree->n_stored = tree->n;
	/* The next interval must have room for all nodes that it may add. */
	if (tree->n > tree->limits.max_nodes - tree->limits.max_interval ||
	    (tree->n && images->n > images->max / 4 * 3))
		drop(tree);
	else if (tree->n > tree->room / 2 && tree->room < tree->limits.max_nodes)
		grow(tree);
}

/* Give back the pages of the nodes: only the table uses their memory. */
static void release_pages(struct vmop_stack_tree *tree)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (tree->limits.max_nodes + VMOP_N_STACK_ENDS) * sizeof(*tree->nodes);
	uintptr_t begin = ((uintptr_t)tree->nodes + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)tree->nodes + bytes) / page * page;
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void vmop_stack_tree_save_memory(struct vmop_stack_tree *tree, bool is_short)
{
	bool was_short = tree->is_short;
	tree->is_short = is_short;
	if (!is_short || was_short || tree->n != tree->n_stored)
		return;
	drop(tree);
	release_pages(tree);
	if (tree->room > ROOM_AT_FIRST)
		make_slots(tree, ROOM_AT_FIRST);
}

void vmop_stack_tree_facts(const struct vmop_stack_tree *tree, struct vmop_stack_tree_facts *ret)
{
	*ret = (struct vmop_stack_tree_facts){
		.n_nodes = tree->first_id - 1 + tree->n,
		.n_generations = tree->n_generations,
		.n_refused = tree->n_refused,
		.n_short = tree->n_short,
		.n_waiting = tree->n - tree->n_stored,
	};
}
