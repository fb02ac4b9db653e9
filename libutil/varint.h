// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of a variable length: 7 bits in each byte, low ones first, and bit 7 set in all bytes but
 * the last.
 */
#ifndef VMOP_LIBUTIL_VARINT_H
#define VMOP_LIBUTIL_VARINT_H

#include <stdint.h>

#define VMOP_VARINT_BYTES_MAX 10

/* Write value, in at most VMOP_VARINT_BYTES_MAX bytes. Return the position behind it. */
uint8_t *vmop_varint_put(uint8_t *p, uint64_t value);

/*
 * Read a number before end. Return the position behind it; NULL: it is cut, or above 64 bits. p may
 * be NULL, as the result of a failed read, and the result is NULL then.
 */
const uint8_t *vmop_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *ret);

/* Map a difference modulo 2^64 to a number that is small for small differences of either sign. */
static inline uint64_t vmop_varint_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

/* Return the difference that zigzag mapped to value. */
static inline uint64_t vmop_varint_unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

#endif
