// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of one image as a blob (symbols.data of a session file).
 * Version 1, and version 2 if the image has further symbols (sampled-symbols.h):
 *
 *	blob  = the version as one byte, varint n, varint len of body, body compressed as one zstd
 *frame body  = n steps, n lengths, n types, n names step  = varint: offset - the previous symbol's
 *offset (the first: the offset) length = varint of len_bytes; type = one byte; name = its bytes and
 *a NUL
 *
 * zstd compresses best with each kind of value together.  Names are stored whole: in the order of
 * addresses they share few prefixes, and zstd finds other repetitions.
 */
#ifndef VMOP_LIBDB_SYMBOLS_SYMBOLS_H
#define VMOP_LIBDB_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/symbol.h"

/* Limits for readers and writers, so that a small file can't fill a reader's memory. */
#define VMOP_SYMBOLS_MAX (4u << 20)
#define VMOP_SYMBOLS_MAX_BODY_BYTES (256u << 20)

/*
 * Pack n >= 1 symbols in any order; symbols with the same offset keep their order.  The caller
 * frees *ret.  VMOP_ERROR_LIMIT: too many symbols, or their names are too long.
 */
struct vmop_error *vmop_symbols_pack(const struct vmop_symbol *symbols, size_t n, uint8_t **ret,
				     size_t *ret_len_bytes);

/* Do the same with some symbols of an image that has more. */
struct vmop_error *vmop_symbols_pack_sampled(const struct vmop_symbol *symbols, size_t n,
					     uint8_t **ret, size_t *ret_len_bytes);

/* Return whether the blob, damaged or not, has only some symbols of its image. */
bool vmop_symbols_are_sampled(const void *blob, size_t len_bytes);

/*
 * Set *ret to the number of symbols that the head of blob states, without a look at the symbols.
 * VMOP_ERROR_CORRUPT: the head is malformed; *ret is 0.
 */
struct vmop_error *vmop_symbols_count(const void *blob, size_t len_bytes, size_t *ret);

/*
 * Unpack symbols, ascending by offset.  *ret is one heap block, names included, that the caller
 * frees.  VMOP_ERROR_CORRUPT: the blob is malformed; the message lacks the file, so prefix it.
 */
struct vmop_error *vmop_symbols_unpack(const void *blob, size_t len_bytes, struct vmop_symbol **ret,
				       size_t *ret_n);

/* Do the same within *bytes, and set *bytes to the block's size.  VMOP_ERROR_LIMIT: it is larger.
 */
struct vmop_error *vmop_symbols_unpack_within(const void *blob, size_t len_bytes, size_t *bytes,
					      struct vmop_symbol **ret, size_t *ret_n);

#endif
