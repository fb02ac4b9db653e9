// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree of frames of a session (vmop/stack.h): finds or adds the node of a frame below its
 * caller's node, and stores the new nodes with each interval.
 *
 * Node ids are unique in the session and ascend from 1. The look-up table is bounded: when it is
 * full, vmop_stack_tree_stored drops it, and the same frames get new ids. Such a generation of
 * nodes has a reference to each image in it.
 *
 * The caller counts as sampled the images that it adds frames of (vmop_image_mark_sampled), before
 * they are stored.
 */
#ifndef VMOP_DAEMON_STACK_TREE_H
#define VMOP_DAEMON_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "libdb/db.h"
#include "libutil/error.h"
#include "vmop/ids.h"
#include "vmop/stack.h"

/* Bounds. A node takes 28 bytes of memory, and about 4 in the session file. */
#define VMOP_STACK_TREE_NODES_MAX (1024 * 1024)	  /* in the table */
#define VMOP_STACK_TREE_INTERVAL_MAX (256 * 1024) /* new ones in an interval */

struct vmop_stack_tree;

struct vmop_stack_tree_limits {
	uint32_t max_nodes;    /* at least twice max_interval */
	uint32_t max_interval; /* nodes that wait for their store */
	uint32_t max_images;   /* slots of images */
};

/* Create an empty tree, which the caller owns. images must outlive it. */
struct vmop_error *vmop_stack_tree_create(struct vmop_images *images,
					  const struct vmop_stack_tree_limits *limits,
					  struct vmop_stack_tree **ret);
void vmop_stack_tree_destroy(struct vmop_stack_tree *tree); /* NULL is allowed */

/* A frame that made a call, or was interrupted by the kernel or a signal. */
struct vmop_stack_caller {
	struct vmop_image *image;
	uint64_t offset; /* as in struct vmop_db_stack_node */
};

/* A node, as long as its id is valid. */
struct vmop_stack_node {
	struct vmop_stack_id id;
	uint32_t hash; /* of the frames from the end mark to the node */
};

/* Return the node of an end mark. */
struct vmop_stack_node vmop_stack_tree_end(struct vmop_stack_tree *tree, enum vmop_stack_end end);

/*
 * Set nodes[i] to the node of callers[i], for i from 0 to n - 1: the first one is below parent,
 * each other one below the one before. Return the number of nodes: fewer than n if the interval has
 * no room for new ones. n is at most VMOP_STACK_FRAMES_MAX. On the per-sample path.
 */
size_t vmop_stack_tree_add(struct vmop_stack_tree *tree, struct vmop_stack_node parent,
			   const struct vmop_stack_caller *callers, size_t n,
			   struct vmop_stack_node *nodes);

/* Put the nodes that are not stored yet into the open interval of db. Their images have ids. */
struct vmop_error *vmop_stack_tree_store(struct vmop_stack_tree *tree, struct vmop_db *db);

/*
 * Note that the interval was committed. Afterwards no id from before may be used: the table may be
 * dropped, because it is nearly full or because images are short of room.
 */
void vmop_stack_tree_stored(struct vmop_stack_tree *tree);

/*
 * While memory is short, refuse new nodes, and drop the table down to its first size. Call it after
 * vmop_stack_tree_stored.
 */
void vmop_stack_tree_save_memory(struct vmop_stack_tree *tree, bool is_short);

/* Return whether the table is nearly full, and grows at the next vmop_stack_tree_stored. */
bool vmop_stack_tree_wants_flush(const struct vmop_stack_tree *tree);

struct vmop_stack_tree_facts {
	uint64_t n_nodes;	/* in the session, stored or not */
	uint64_t n_generations; /* tables that were dropped */
	uint64_t n_refused;	/* stacks for which vmop_stack_tree_add had no room */
	uint64_t n_short;	/* those of them that were refused while memory was short */
	uint32_t n_waiting;	/* not stored yet */
};
void vmop_stack_tree_facts(const struct vmop_stack_tree *tree, struct vmop_stack_tree_facts *ret);

#endif
