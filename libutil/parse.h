// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers, durations and sizes as users write them. Parsing never depends on the locale. Each
 * function returns false and leaves *ret unchanged if text is malformed or out of range.
 */
#ifndef VMOP_LIBUTIL_PARSE_H
#define VMOP_LIBUTIL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parse the whole string as an unsigned number in base (0: decimal, 0x hex or 0 octal). Signs,
 * blanks and trailing characters are refused.
 */
bool vmop_parse_u64(const char *text, int base, uint64_t *ret);

/* Parse a duration: "90", "90s", "10m", "2h", "1d", also fractions ("0.5s"). */
bool vmop_parse_duration_ns(const char *text, uint64_t *ret);

/* Parse a size: "4096", "64K", "16M", "1G" (powers of 1024). */
bool vmop_parse_size_bytes(const char *text, uint64_t *ret);

#endif
