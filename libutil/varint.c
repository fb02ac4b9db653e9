// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/varint.h"

#include <stddef.h>

#define MORE 0x80

uint8_t *vmop_varint_put(uint8_t *p, uint64_t value)
{
	while (value >= MORE) {
		*p++ = (uint8_t)(value | MORE);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

const uint8_t *vmop_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	if (!p)
		return NULL;
	if (p < end && *p < MORE) {
		*ret = *p;
		return p + 1;
	}
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
