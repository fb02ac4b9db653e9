// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/escape.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_MAX_BYTES 11 /* "\UHHHHHHHH" and NUL */

/* Ascending ranges. The noncharacters at the end of each plane are not listed. */
static const struct {
	uint32_t first, last;
} steering[] = {
	{0x0, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	    {0x34f, 0x34f},
	{0x600, 0x605},	    {0x61c, 0x61c},	{0x6dd, 0x6dd},	    {0x70f, 0x70f},
	{0x890, 0x891},	    {0x8e2, 0x8e2},	{0x115f, 0x1160},   {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x200b, 0x200f},	{0x2028, 0x202e},   {0x2060, 0x206f},
	{0x3164, 0x3164},   {0xfdd0, 0xfdef},	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},	{0x110bd, 0x110bd}, {0x110cd, 0x110cd},
	{0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool vmop_escape_is_steering(uint32_t character)
{
	size_t low = 0, high = sizeof(steering) / sizeof(*steering);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (steering[middle].last < character)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_listed =
		low < sizeof(steering) / sizeof(*steering) && steering[low].first <= character;
	return is_listed || (character & 0xfffe) == 0xfffe;
}

enum vmop_charset vmop_escape_locale(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") ? VMOP_CHARSET_ASCII : VMOP_CHARSET_UTF8;
}

size_t vmop_escape_decode(const char *text, size_t len_bytes, uint32_t *ret)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	uint32_t character = at[0];
	*ret = character;
	if (character < 0x80)
		return 1;
	*ret = UINT32_MAX;
	size_t len = character >= 0xf0 ? 4 : character >= 0xe0 ? 3 : 2;
	if (character < 0xc2 || character > 0xf4 || len > len_bytes)
		return 1;
	character &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also rejects the end of the string */
			return 1;
		character = character << 6 | (at[i] & 0x3f);
	}
	if (character < smallest[len] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 1;
	*ret = character;
	return len;
}

/*
 * Escape the character at text into ret. Return its length in text; set *ret_len to its length in
 * ret, both in bytes.
 */
static size_t next(const char *text, size_t len_bytes, enum vmop_charset charset,
		   char ret[ESCAPE_MAX_BYTES], size_t *ret_len)
{
	uint32_t character;
	size_t len = vmop_escape_decode(text, len_bytes, &character);
	int shown;
	if (character == UINT32_MAX || character < 0x20 || character == 0x7f)
		shown = snprintf(ret, ESCAPE_MAX_BYTES, "\\x%02x", (unsigned char)*text);
	else if (character == '\\')
		shown = snprintf(ret, ESCAPE_MAX_BYTES, "\\\\");
	else if (vmop_escape_is_steering(character) || (charset == VMOP_CHARSET_ASCII && len > 1))
		shown = snprintf(ret, ESCAPE_MAX_BYTES, character > 0xffff ? "\\U%08x" : "\\u%04x",
				 (unsigned)character);
	else {
		memcpy(ret, text, len);
		shown = (int)len;
	}
	*ret_len = (size_t)shown;
	return len;
}

static bool is_simple(char c)
{
	return c >= ' ' && c < 0x7f && c != '\\';
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Return true only if all bytes of the word are simple. It may return false for simple ones. */
static bool is_simple_word(uint64_t word)
{
	uint64_t slashes = word ^ EACH_BYTE('\\');
	uint64_t below_blank = (word - EACH_BYTE(' ')) & ~word;
	uint64_t is_slash = (slashes - EACH_BYTE(1)) & ~slashes;
	uint64_t is_del = word + EACH_BYTE(1);
	return !((word | below_blank | is_slash | is_del) & EACH_BYTE(0x80));
}

size_t vmop_escape_simple_len(const char *text, size_t len_bytes)
{
	size_t len = 0;
	uint64_t word;
	for (; len_bytes - len >= sizeof(word); len += sizeof(word)) {
		memcpy(&word, text + len, sizeof(word));
		if (!is_simple_word(word))
			break;
	}
	while (len < len_bytes && is_simple(text[len]))
		len++;
	return len;
}

bool vmop_escape_is_plain(const char *text, enum vmop_charset charset)
{
	const char *end = text + strlen(text);
	for (text += vmop_escape_simple_len(text, (size_t)(end - text)); text < end;) {
		char shown[ESCAPE_MAX_BYTES];
		size_t shown_len,
			len = next(text, (size_t)(end - text), charset, shown, &shown_len);
		if (len != shown_len || memcmp(shown, text, len) != 0)
			return false;
		text += len;
	}
	return true;
}

void vmop_escape_print(const char *text, size_t len_bytes, enum vmop_charset charset, FILE *out)
{
	size_t left = text ? strnlen(text, len_bytes) : 0;
	while (left) {
		size_t len = vmop_escape_simple_len(text, left);
		if (len) {
			fwrite(text, 1, len, out);
		} else {
			char shown[ESCAPE_MAX_BYTES];
			size_t shown_len;
			len = next(text, left, charset, shown, &shown_len);
			fwrite(shown, 1, shown_len, out);
		}
		text += len;
		left -= len;
	}
}

bool vmop_escape_into(char *ret, size_t size_bytes, const char *text, enum vmop_charset charset)
{
	size_t left = strlen(text), used = 0;
	while (left) {
		char shown[ESCAPE_MAX_BYTES];
		size_t shown_len, len = next(text, left, charset, shown, &shown_len);
		if (used + shown_len >= size_bytes)
			break;
		memcpy(ret + used, shown, shown_len);
		used += shown_len;
		text += len;
		left -= len;
	}
	ret[used] = '\0';
	return !left;
}

char *vmop_escape(const char *text, enum vmop_charset charset)
{
	char *escaped = NULL;
	size_t len;
	if (vmop_escape_is_plain(text, charset))
		return strdup(text);
	FILE *out = open_memstream(&escaped, &len);
	if (!out)
		return NULL;
	vmop_escape_print(text, SIZE_MAX, charset, out);
	if (fclose(out) == 0)
		return escaped;
	free(escaped);
	return NULL;
}

bool vmop_is_utf8(const char *text)
{
	for (size_t left = strlen(text), len; left; text += len, left -= len) {
		uint32_t character;
		len = vmop_escape_decode(text, left, &character);
		if (character == UINT32_MAX)
			return false;
	}
	return true;
}
