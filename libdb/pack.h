// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed cells: the cells of one chunk as a blob (chunk.cells of a session file).  Version 1:
 *
 *	blob   = head [period] cell...
 *	head   = one byte: 0x10 + flags
 *	period = varint, with VMOP_PACK_UNIFORM: weight of a cell = samples * period
 *	cell   = step [samples] [weight]
 *	step   = offset - 1 - the previous cell's offset (the first: the offset), as
 *		 one byte {bit 7: more bytes, bit 6: samples follows, 6 low bits} and
 *		 then 7 bits a byte, low ones first, bit 7: more bytes
 *	samples = varint of samples - 2; absent if there is one sample
 *	weight = varint; absent with VMOP_PACK_UNIFORM
 *
 * A varint (libutil/varint.h) has at most 10 bytes.  So a cell of one sample takes one byte within
 * 64 bytes of its neighbour, and two bytes within 8 KiB.
 *
 * Decoding trusts no input: every read is bounded, offsets ascend by construction, and a sum
 * beyond 64 bits is refused.  Nothing here depends on SQLite, and only vmop_unpack_all allocates.
 */
#ifndef VMOP_LIBDB_PACK_H
#define VMOP_LIBDB_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"
#include "libutil/varint.h"

#define VMOP_PACK_VERSION 1
#define VMOP_PACK_UNIFORM 0x01

/* The most cells of a chunk: 400 MiB when unpacked. */
#define VMOP_PACK_MAX_CELLS (1u << 24)
/* The longest cell has 10 bytes each of step, samples and weight. */
#define VMOP_PACK_CELL_MAX_BYTES 30
#define VMOP_PACK_HEAD_MAX_BYTES 11

/* Return the room that n <= VMOP_PACK_MAX_CELLS packed cells need at most. */
static inline size_t vmop_pack_bound_bytes(size_t n)
{
	return VMOP_PACK_HEAD_MAX_BYTES + n * VMOP_PACK_CELL_MAX_BYTES;
}

/*
 * Pack n >= 1 cells (ascending distinct offsets, samples >= 1) into buf, which has
 * vmop_pack_bound_bytes(n) bytes.  Returns the length, or 0 if the cells are invalid.
 */
size_t vmop_pack(const struct vmop_db_cell *cells, size_t n, uint8_t *buf);

/*
 * Read the head of a blob of cells: its version, whether all cells have one period, and that
 * period. Return the first byte of the cells; NULL: another version, malformed, or no cells.
 */
const uint8_t *vmop_pack_get_header(const uint8_t *p, const uint8_t *end, unsigned version,
				    bool *ret_uniform, uint64_t *ret_period);

/*
 * Read the samples of a cell, if they follow, and its weight. period: of all cells; NULL: each has
 * a weight. Return the first byte after them; NULL: malformed.
 */
static inline const uint8_t *vmop_pack_get_counts(const uint8_t *p, const uint8_t *end,
						  bool samples_follow, const uint64_t *period,
						  uint64_t *ret_samples, uint64_t *ret_weight)
{
	uint64_t samples = 1;
	if (samples_follow) {
		p = vmop_varint_get(p, end, &samples);
		if (!p || samples > UINT64_MAX - 2)
			return NULL;
		samples += 2;
	}
	*ret_samples = samples;
	if (!period)
		return vmop_varint_get(p, end, ret_weight);
	return __builtin_mul_overflow(samples, *period, ret_weight) ? NULL : p;
}

/* A walk over the cells of a blob. */
struct vmop_unpack {
	const uint8_t *p, *end;
	uint64_t before; /* offset of the previous cell; UINT64_MAX at first */
	uint64_t period;
	bool uniform;
};

/* Begin a walk. False: not a blob of this version. The blob must outlive the walk. */
bool vmop_unpack_begin(struct vmop_unpack *unpack, const void *blob, size_t len_bytes);

enum vmop_unpack_result {
	VMOP_UNPACK_END,
	VMOP_UNPACK_CELL,
	VMOP_UNPACK_BAD,
};
/* Unpack the next cell into *ret. */
enum vmop_unpack_result vmop_unpack_next(struct vmop_unpack *unpack, struct vmop_db_cell *ret);

/*
 * Unpack up to max >= 1 cells into ret, and set *ret_n to their number.  VMOP_UNPACK_CELL: there
 * may be more cells.  Otherwise the cells are the last ones before the end or before the damage.
 */
enum vmop_unpack_result vmop_unpack_some(struct vmop_unpack *unpack, struct vmop_db_cell *ret,
					 size_t max, size_t *ret_n);

/* An array of cells that grows.  It begins zeroed, and its owner frees it: free(cells.all). */
struct vmop_cells {
	struct vmop_db_cell *all;
	size_t n, capacity;
};

enum vmop_unpack_error {
	VMOP_UNPACK_OK = 0,
	VMOP_UNPACK_CORRUPT,
	VMOP_UNPACK_NO_MEMORY,
	VMOP_UNPACK_LIMIT, /* too many sums: see sum.h */
};
/* Unpack a whole blob into cells, whose previous content is replaced. */
enum vmop_unpack_error vmop_unpack_all(const void *blob, size_t len_bytes,
				       struct vmop_cells *cells);

#endif
