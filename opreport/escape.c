// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_steering(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Length of the plain character at text (RFC 3629), 0 where there is none. */
static size_t plain_len(const unsigned char *text)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = text[0];
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (len == 1)
		return is_steering(c) ? 0 : 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80) /* also at the end of the string */
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	bool is_valid = c >= smallest[len] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
	return is_valid && !is_steering(c) ? len : 0;
}

static bool is_plain(const char *text, size_t max_len)
{
	const unsigned char *at = (const unsigned char *)text;
	while (*at) {
		size_t len = plain_len(at);
		if (!len || len > max_len)
			return false;
		at += len;
	}
	return true;
}

bool vmop_text_is_plain(const char *text)
{
	return is_plain(text, 4);
}

bool vmop_text_is_plain_ascii(const char *text)
{
	return is_plain(text, 1);
}

/* Characters of more than max_len bytes are escaped too. */
static char *escape(const char *text, size_t max_len)
{
	static const char hex[] = "0123456789abcdef";
	size_t text_len = strlen(text);
	char *escaped = text_len < SIZE_MAX / 8 ? malloc(text_len * 4 + 1) : NULL;
	if (!escaped)
		return NULL;
	char *to = escaped;
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = plain_len(at);
		if (len && len <= max_len) {
			memcpy(to, at, len);
			to += len;
			at += len;
			continue;
		}
		*to++ = '\\';
		*to++ = 'x';
		*to++ = hex[*at >> 4];
		*to++ = hex[*at++ & 15];
	}
	*to = '\0';
	return escaped;
}

char *vmop_text_escape(const char *text)
{
	return escape(text, 4);
}

char *vmop_text_escape_ascii(const char *text)
{
	return escape(text, 1);
}
