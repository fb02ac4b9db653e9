// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed cells: the places of one chunk as a blob (chunk.cells of a session
 * file).  Version 1:
 *
 *	blob   = head [period] cell...
 *	head   = one byte: 0x10 + flags
 *	period = varint, with VMOP_PACK_UNIFORM: weight of a cell = samples * period
 *	cell   = step [samples] [weight]
 *	step   = offset - 1 - the cell's before it (the first: the offset itself), as
 *		 one byte {bit 7: more bytes, bit 6: samples follows, 6 low bits} and
 *		 then 7 bits a byte, low ones first, bit 7: more bytes
 *	samples = varint of samples - 2; left out when there is one sample
 *	weight = varint; left out with VMOP_PACK_UNIFORM
 *
 * A varint is 7 bits a byte, low ones first, bit 7 set on all but the last
 * (LEB128), 10 bytes at most.  So a lone sample within 64 bytes of its
 * neighbour takes one byte, and within 8 KiB two.
 *
 * Decoding trusts nothing: every read is bounded, offsets ascend by
 * construction, and a sum that leaves 64 bits is refused.  No function here
 * knows SQLite or allocates but where it says so.
 */
#ifndef VMOP_LIBDB_PACK_H
#define VMOP_LIBDB_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"

#define VMOP_PACK_VERSION 1
#define VMOP_PACK_UNIFORM 0x01

/* Bounds of one chunk: 400 MiB of cells when opened. */
#define VMOP_PACK_MAX_CELLS (1u << 24)
/* The longest cell: step 10, samples 10, weight 10 bytes. */
#define VMOP_PACK_CELL_MAX_BYTES 30
#define VMOP_PACK_HEAD_MAX_BYTES 11

/* Room that n cells can need at most. n <= VMOP_PACK_MAX_CELLS. */
static inline size_t vmop_pack_bound_bytes(size_t n)
{
	return VMOP_PACK_HEAD_MAX_BYTES + n * VMOP_PACK_CELL_MAX_BYTES;
}

/*
 * Packs cells (ascending distinct offsets, samples >= 1, n >= 1) into buf,
 * which has vmop_pack_bound_bytes(n) bytes.  Returns the length; 0 when the
 * cells are not as they must be.
 */
size_t vmop_pack(const struct vmop_db_cell *cells, size_t n, uint8_t *buf);

/* Varints, for the other blobs too. put returns the byte behind; get NULL when it is malformed. */
uint8_t *vmop_pack_put_varint(uint8_t *p, uint64_t value);
const uint8_t *vmop_pack_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret);

/* Walks a blob cell by cell. */
struct vmop_unpack {
	const uint8_t *p, *end;
	uint64_t before; /* offset of the cell before; UINT64_MAX at first */
	uint64_t period;
	bool uniform;
};

/* False: not a blob of this version. The blob must outlive the walk. */
bool vmop_unpack_begin(struct vmop_unpack *unpack, const void *blob, size_t len_bytes);

enum vmop_unpack_result {
	VMOP_UNPACK_END,
	VMOP_UNPACK_CELL,
	VMOP_UNPACK_BAD,
};
enum vmop_unpack_result vmop_unpack_next(struct vmop_unpack *unpack, struct vmop_db_cell *ret);

/*
 * The next cells, up to max of them (at least 1), into ret, and how many there are into *ret_n.
 * VMOP_UNPACK_CELL: there may be more; else the cells are those before the end, or before what is
 * bad.
 */
enum vmop_unpack_result vmop_unpack_some(struct vmop_unpack *unpack, struct vmop_db_cell *ret,
					 size_t max, size_t *ret_n);

/* A growing array of cells; zeroed to begin with, freed by its owner (free(cells.all)). */
struct vmop_cells {
	struct vmop_db_cell *all;
	size_t n, capacity;
};

/* Opens a whole blob into cells (its content before is replaced). */
enum vmop_unpack_error {
	VMOP_UNPACK_OK = 0,
	VMOP_UNPACK_CORRUPT,
	VMOP_UNPACK_NO_MEMORY,
	VMOP_UNPACK_LIMIT, /* of whoever adds cells up: see sum.h */
};
enum vmop_unpack_error vmop_unpack_all(const void *blob, size_t len_bytes,
				       struct vmop_cells *cells);

#endif
