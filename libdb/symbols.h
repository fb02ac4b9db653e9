// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of one image as a blob (symbols.data of a session file).
 * Version 1:
 *
 *	blob  = 0x01, varint n, varint len of body, body compressed as one zstd frame
 *	body  = n steps, n lengths, n types, n names
 *	step  = varint: offset - the symbol's before it (the first: the offset)
 *	length = varint of len_bytes; type = one byte; name = its bytes and a NUL
 *
 * Each kind stands together, because zstd does best so.  Names are whole: by
 * address they share few beginnings, and zstd finds what they share.
 */
#ifndef VMOP_LIBDB_SYMBOLS_H
#define VMOP_LIBDB_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/symbol.h"

/* What a reader opens at most: more is refused, so that a small file can't fill the memory. */
#define VMOP_SYMBOLS_MAX (4u << 20)
#define VMOP_SYMBOLS_MAX_BODY_BYTES (256u << 20)

/* *ret is the caller's to free. symbols in any order, n >= 1; those of one offset stay in theirs.
 */
struct vmop_error *vmop_symbols_pack(const struct vmop_symbol *symbols, size_t n, uint8_t **ret,
				     size_t *ret_len_bytes);

/*
 * *ret is one heap block, names inside, ascending by offset.  VMOP_ERROR_CORRUPT (naming nothing:
 * prefix the error) where the blob is not as said above.
 */
struct vmop_error *vmop_symbols_unpack(const void *blob, size_t len_bytes, struct vmop_symbol **ret,
				       size_t *ret_n);

/* The same; VMOP_ERROR_LIMIT where the block would exceed *bytes, which becomes the block's size.
 */
struct vmop_error *vmop_symbols_unpack_within(const void *blob, size_t len_bytes, size_t *bytes,
					      struct vmop_symbol **ret, size_t *ret_n);

#endif
