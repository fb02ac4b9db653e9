// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/svg-text.h"

#include <string.h>

#include "libutil/escape.h"
#include "libutil/markup.h"

/* Return the bytes of a character that begins with this byte.  The text is UTF-8. */
static size_t len_of(const char *at)
{
	const unsigned char byte = (unsigned char)*at;
	return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

static size_t columns_of(const char *at)
{
	return (unsigned char)*at < 0x80 ? 1 : 2;
}

static size_t count_columns(const char *text)
{
	size_t columns = 0;
	for (; *text; text += len_of(text))
		columns += columns_of(text);
	return columns;
}

/* End the text with ".." behind as much as fits. */
static void cut(struct vmop_svg_text *text, size_t max_columns)
{
	size_t at = 0, columns = 0;
	while (text->bytes[at] && columns + columns_of(text->bytes + at) + 2 <= max_columns &&
	       at + len_of(text->bytes + at) + 3 <= sizeof(text->bytes)) {
		columns += columns_of(text->bytes + at);
		at += len_of(text->bytes + at);
	}
	strcpy(text->bytes + at, "..");
	text->columns = columns + 2;
}

void vmop_svg_text_set(struct vmop_svg_text *ret, const char *name, size_t max_columns)
{
	bool is_whole = vmop_escape_into(ret->bytes, sizeof(ret->bytes), name, VMOP_CHARSET_UTF8);
	ret->columns = count_columns(ret->bytes);
	if (!is_whole || ret->columns > max_columns)
		cut(ret, max_columns);
	ret->is_ascii = true;
	for (const char *at = ret->bytes; *at; at++)
		ret->is_ascii = ret->is_ascii && (unsigned char)*at < 0x80;
}

void vmop_svg_text_print(const struct vmop_svg_text *text, FILE *out)
{
	vmop_markup_print(text->bytes, out);
}

size_t vmop_svg_text_len(const struct vmop_svg_text *text)
{
	size_t len = 0;
	for (const char *at = text->bytes; *at; at++) {
		const char *entity = vmop_markup_entity(*at);
		len += entity ? strlen(entity) : 1;
	}
	return len;
}
