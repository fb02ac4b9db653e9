// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/varint.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#define MORE 0x80

/* A word of 8 bytes, all of this value. */
#define ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

uint8_t *vmop_varint_put(uint8_t *p, uint64_t value)
{
	while (value >= MORE) {
		*p++ = (uint8_t)(value | MORE);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

/*
 * Read a number of at most 8 bytes, all of which can be read, without a branch for each. Return the
 * position behind it; NULL: it is longer.
 */
static const uint8_t *get_short(const uint8_t *p, uint64_t *ret)
{
	uint64_t word;
	memcpy(&word, p, sizeof(word));
	word = le64toh(word);
	uint64_t ends = ~word & ALL(MORE);
	if (!ends)
		return NULL;
	word &= (ends ^ (ends - 1)) & ALL(MORE - 1); /* without the bytes behind it */
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	*ret = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
	return p + __builtin_ctzll(ends) / 8 + 1;
}

const uint8_t *vmop_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	if (!p)
		return NULL;
	if (p < end && *p < MORE) {
		*ret = *p;
		return p + 1;
	}
	const uint8_t *behind = end - p >= 8 ? get_short(p, ret) : NULL;
	if (behind)
		return behind;
	uint64_t value = 0;
	for (unsigned shift = 0; p < end; shift += 7) {
		uint64_t bits = *p & (MORE - 1);
		if (shift == 63 && *p > 1)
			return NULL; /* above 64 bits, or longer than any varint */
		value |= bits << shift;
		if (*p++ < MORE) {
			*ret = value;
			return p;
		}
	}
	return NULL;
}
