// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/markup.h"

#include <stddef.h>

const char *vmop_markup_entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void vmop_markup_print(const char *text, FILE *out)
{
	for (; *text; text++) {
		const char *entity = vmop_markup_entity(*text);
		if (entity)
			fputs(entity, out);
		else
			fputc(*text, out);
	}
}
