// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool vmop_parse_u64(const char *text, int base, uint64_t *ret)
{
	if (!isxdigit((unsigned char)text[0]))
		return false; /* strtoull would accept blanks and signs */
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	if (errno || end == text || *end)
		return false;
	*ret = value;
	return true;
}

bool vmop_parse_duration_ns(const char *text, uint64_t *ret)
{
	if (!isdigit((unsigned char)text[0]) || text[1] == 'x' || text[1] == 'X')
		return false;
	char *end;
	double value = strtod(text, &end);
	double unit_s;
	if (!*end || !strcmp(end, "s"))
		unit_s = 1;
	else if (!strcmp(end, "ms"))
		unit_s = 1e-3;
	else if (!strcmp(end, "m") || !strcmp(end, "min"))
		unit_s = 60;
	else if (!strcmp(end, "h"))
		unit_s = 3600;
	else if (!strcmp(end, "d"))
		unit_s = 86400;
	else
		return false;
	double ns = value * unit_s * 1e9;
	if (!(ns >= 0 && ns < 9.2e18))
		return false;
	*ret = (uint64_t)llround(ns);
	return true;
}

bool vmop_parse_size_bytes(const char *text, uint64_t *ret)
{
	if (!isdigit((unsigned char)text[0]))
		return false;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	unsigned shift = 0;
	if (*end) {
		static const char suffixes[] = "KMGT";
		const char *at = strchr(suffixes, toupper((unsigned char)*end));
		if (!at || end[1])
			return false;
		shift = 10 * (unsigned)(at - suffixes + 1);
	}
	if (errno || value > UINT64_MAX >> shift)
		return false;
	*ret = (uint64_t)value << shift;
	return true;
}
