// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed cells with stacks: the cells of one chunk as a blob (chunk.cells of a session file, from
 * schema version 2 on).  pack.h packs cells without stacks; the first byte distinguishes them:
 *
 *	blob   = head [period] cell...
 *	head   = one byte: 0x20 + flags
 *	period = varint, with VMOP_PACK_UNIFORM: weight of a cell = samples * period
 *	cell   = stack offset [samples] [weight]
 *	stack  = varint {bit 0: samples follows; the rest: the stack minus that of the previous
 *		 cell, of the first cell the stack}
 *	offset = varint.  In a cell with the previous cell's stack: offset - 1 - previous offset.
 *		 In others: the difference modulo 2^64 to the previous offset (of the first cell: to
 *		 0) as a signed number d, in zigzag form: 2 * d, or -2 * d - 1 if d is below 0
 *	samples, weight as in pack.h
 *
 * A cell takes 4.3 bytes in a second of a mixed load and 3.7 in a minute.  Compressing the blobs
 * would save 6 and 16 % of that, and cost more time than unpacking them.
 *
 * Decoding trusts no input, as in pack.h, and allocates nothing.
 */
#ifndef VMOP_LIBDB_STACKS_CELLS_H
#define VMOP_LIBDB_STACKS_CELLS_H

#include "libdb/pack.h"

#define VMOP_PACK_STACKS_VERSION 2
/* The longest cell has 5 bytes of stack and 10 bytes each of offset, samples and weight. */
#define VMOP_PACK_STACK_CELL_MAX_BYTES 35

/* Return the room that n <= VMOP_PACK_MAX_CELLS packed cells need at most. */
static inline size_t vmop_pack_stacks_bound_bytes(size_t n)
{
	return VMOP_PACK_HEAD_MAX_BYTES + n * VMOP_PACK_STACK_CELL_MAX_BYTES;
}

/*
 * Pack n >= 1 cells (ascending by stack and offset, distinct, samples >= 1) into buf, which has
 * vmop_pack_stacks_bound_bytes(n) bytes.  Returns the length, or 0 if the cells are invalid.
 */
size_t vmop_pack_stacks(const struct vmop_db_stack_cell *cells, size_t n, uint8_t *buf);

/* Return whether the blob, damaged or not, is one of cells with stacks. */
static inline bool vmop_pack_has_stacks(const void *blob, size_t len_bytes)
{
	return len_bytes > 0 && *(const uint8_t *)blob >> 4 == VMOP_PACK_STACKS_VERSION;
}

/* A walk over the cells of a blob. */
struct vmop_unpack_stacks {
	const uint8_t *p, *end;
	uint64_t period;
	bool uniform, is_first;
	struct vmop_stack_id stack; /* of the previous cell */
	uint64_t offset;
};

/* Begin a walk. False: not a blob of this version. The blob must outlive the walk. */
bool vmop_unpack_stacks_begin(struct vmop_unpack_stacks *unpack, const void *blob,
			      size_t len_bytes);

/* Unpack up to max >= 1 cells into ret, as vmop_unpack_some does. */
enum vmop_unpack_result vmop_unpack_stacks_some(struct vmop_unpack_stacks *unpack,
						struct vmop_db_stack_cell *ret, size_t max,
						size_t *ret_n);

/*
 * Copy the leading cells that have the stack of the first one to ret, which has room for n >= 1,
 * and return their number.
 */
size_t vmop_stack_cells_split(const struct vmop_db_stack_cell *cells, size_t n,
			      struct vmop_db_cell *ret);

#endif
