// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers and lists as users write them.  No locale is ever consulted for
 * what a script writes or reads.
 */
#ifndef VMOP_LIBUTIL_PARSE_H
#define VMOP_LIBUTIL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A whole string as an unsigned number in the given base (0: decimal, 0x hex,
 * 0 octal).  No sign, no blanks, nothing behind it.  False leaves *ret alone.
 */
bool vmop_parse_u64(const char *text, int base, uint64_t *ret);

/* A span of time: "90", "90s", "10m", "2h", "1d", also fractions ("0.5s"). */
bool vmop_parse_duration_ns(const char *text, uint64_t *ret);

/* A size: "4096", "64K", "16M", "1G" (powers of 1024). */
bool vmop_parse_size_bytes(const char *text, uint64_t *ret);

#endif
