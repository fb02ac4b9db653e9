// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounded reading of little-endian numbers and LEB128 (DWARF 5, section 7.6). A read beyond the end
 * gives 0, moves the cursor to the end, and sets is_bad, which the caller checks once at the end.
 */
#ifndef VMOP_LIBSTACK_CURSOR_H
#define VMOP_LIBSTACK_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct vmop_cfi_cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static inline bool vmop_cfi_cursor_has(const struct vmop_cfi_cursor *cursor, uint64_t n_bytes)
{
	return (uint64_t)(cursor->end - cursor->at) >= n_bytes;
}

static inline void vmop_cfi_cursor_fail(struct vmop_cfi_cursor *cursor)
{
	cursor->at = cursor->end;
	cursor->is_bad = true;
}

/* Skip n_bytes and return where they begin, or NULL if there are fewer. */
static inline const uint8_t *vmop_cfi_skip(struct vmop_cfi_cursor *cursor, uint64_t n_bytes)
{
	const uint8_t *at = cursor->at;
	if (!vmop_cfi_cursor_has(cursor, n_bytes)) {
		vmop_cfi_cursor_fail(cursor);
		return NULL;
	}
	cursor->at += n_bytes;
	return at;
}

/* Read an unsigned number of n_bytes, at most 8. */
static inline uint64_t vmop_cfi_number(struct vmop_cfi_cursor *cursor, size_t n_bytes)
{
	uint64_t value = 0;
	const uint8_t *at = vmop_cfi_skip(cursor, n_bytes);
	if (at)
		memcpy(&value, at, n_bytes);
	return value;
}

static inline uint8_t vmop_cfi_byte(struct vmop_cfi_cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->is_bad = true;
		return 0;
	}
	return *cursor->at++;
}

/* Read bytes of a LEB128 number of at most 10 bytes. Bits above the 64th are ignored. */
static inline uint64_t vmop_cfi_leb(struct vmop_cfi_cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = vmop_cfi_byte(cursor);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift + 7 < 64)
			value |= UINT64_MAX << (shift + 7);
		return value;
	}
	vmop_cfi_cursor_fail(cursor);
	return 0;
}

static inline uint64_t vmop_cfi_uleb(struct vmop_cfi_cursor *cursor)
{
	return vmop_cfi_leb(cursor, false);
}

static inline int64_t vmop_cfi_sleb(struct vmop_cfi_cursor *cursor)
{
	return (int64_t)vmop_cfi_leb(cursor, true);
}

#endif
