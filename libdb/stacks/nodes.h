// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed nodes of the tree of stacks: nodes with consecutive ids as a blob (stack_nodes.data of a
 * session file):
 *
 *	blob    = version first n body_len frame
 *	version = one byte, 1
 *	first   = varint: the first node's id
 *	n       = varint: the number of nodes
 *	body_len = varint: the length of the body
 *	frame   = the body, as a frame of Zstandard (RFC 8878) that contains its length
 *	body    = node...
 *	node    = parent [image] offset
 *	parent  = varint {bit 0: image follows; the rest: id - 1 - parent}
 *	image   = varint; absent if it is the previous node's image (the first: 0)
 *	offset  = varint
 *
 * Varints are as in pack.h.  Three of four nodes are their predecessor's callee, with 0 as parent.
 * Offsets are whole, because the same frames come again below other callers, and Zstandard finds
 * such repetitions: 3.0 bytes a node in blobs of a second, where offsets as differences to the
 * previous one of the image take 3.1, and uncompressed 4.6.  merge.c makes larger blobs of these.
 *
 * Unpacking trusts no input: parents are below their nodes, and the memory is bounded.
 */
#ifndef VMOP_LIBDB_STACKS_NODES_H
#define VMOP_LIBDB_STACKS_NODES_H

#include "libdb/types.h"

#define VMOP_STACK_NODES_MAX 65536u /* of a blob */
/* The longest node has 5 bytes each of parent and image, and 10 of offset. */
#define VMOP_STACK_NODE_MAX_BYTES 20
#define VMOP_STACK_NODES_HEAD_MAX_BYTES 31

/*
 * Levels of zstd.  In a blob of a second, levels above 3 gain 1 %.  In one of 65536 nodes, level 6
 * gains 6 to 10 %; it takes 5 ms instead of 2, and higher ones gain little more.
 */
#define VMOP_STACK_NODES_LEVEL 3
#define VMOP_STACK_NODES_MERGED_LEVEL 6

/* Return whether the node may be put after the nodes up to id - 1. */
bool vmop_stack_node_is_valid(const struct vmop_db_stack_node *node, uint32_t id);

/*
 * Pack n valid nodes, 1 <= n <= VMOP_STACK_NODES_MAX, with consecutive ids, at a level of zstd. The
 * caller frees *ret.  False: out of memory.
 */
bool vmop_stack_nodes_pack(const struct vmop_db_stack_node *nodes, size_t n, int level,
			   uint8_t **ret, size_t *ret_len_bytes);

/* A walk over the nodes of a blob.  It begins zeroed, and owns the inflated body. */
struct vmop_stack_nodes {
	uint8_t *body;
	const uint8_t *p, *end;
	uint32_t next, image;
	uint32_t n; /* nodes left */
};

enum vmop_stack_nodes_result {
	VMOP_STACK_NODES_OK = 0,
	VMOP_STACK_NODES_END, /* no further node */
	VMOP_STACK_NODES_CORRUPT,
	VMOP_STACK_NODES_NO_MEMORY,
};

/* Begin a walk. The result is OK, CORRUPT or NO_MEMORY. The blob may go afterwards. */
enum vmop_stack_nodes_result vmop_stack_nodes_begin(struct vmop_stack_nodes *nodes,
						    const void *blob, size_t len_bytes);
void vmop_stack_nodes_deinit(struct vmop_stack_nodes *nodes);

/* Set *ret to the next node. The result is OK, END or CORRUPT. */
enum vmop_stack_nodes_result vmop_stack_nodes_next(struct vmop_stack_nodes *nodes,
						   struct vmop_db_stack_node *ret);

#endif
