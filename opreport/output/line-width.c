// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/line-width.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "libutil/escape.h"

static const char ellipsis[] = "...";
static const char indent[] = "    ";

/* Return the bytes of the character at text, and set its columns: 1 and 1 if it is invalid. */
static size_t next_character(const char *text, size_t *ret_columns)
{
	*ret_columns = 1;
	if ((unsigned char)*text < 0x80)
		return 1;
	mbstate_t state = {0};
	wchar_t wide;
	size_t len = mbrtowc(&wide, text, strnlen(text, MB_LEN_MAX), &state);
	if (len == 0 || len >= (size_t)-2)
		return 1;
	int columns = wcwidth(wide);
	*ret_columns = columns < 0 ? 1 : (size_t)columns;
	return len;
}

size_t vmop_fit_width(const char *text)
{
	/* Nearly all texts are ASCII. */
	size_t width = vmop_escape_simple_len(text, strlen(text)), columns;
	text += width;
	while (*text) {
		text += next_character(text, &columns);
		width += columns;
	}
	return width;
}

/* Return the bytes of text that fit into width columns. */
static size_t fitting_len(const char *text, size_t width)
{
	size_t len = 0, used = 0, columns;
	while (text[len]) {
		size_t character = next_character(text + len, &columns);
		if (used + columns > width)
			break;
		used += columns;
		len += character;
	}
	return len;
}

char *vmop_fit_shorten(const char *text, size_t width_columns)
{
	size_t dots = sizeof(ellipsis) - 1;
	if (vmop_fit_width(text) <= width_columns)
		return strdup(text);
	if (width_columns <= dots)
		return strndup(text, fitting_len(text, width_columns));
	size_t len = fitting_len(text, width_columns - dots);
	char *shortened = malloc(len + sizeof(ellipsis));
	if (!shortened)
		return NULL;
	memcpy(shortened, text, len);
	memcpy(shortened + len, ellipsis, sizeof(ellipsis));
	return shortened;
}

/* Return the widest elastic column, or SIZE_MAX, and set *ret_excess to its lead over the next. */
static size_t find_widest(const size_t *widths, const bool *is_elastic, size_t n, size_t least,
			  size_t *ret_excess)
{
	size_t widest = SIZE_MAX, next = least;
	for (size_t i = 0; i < n; i++) {
		if (!is_elastic[i] || widths[i] <= least)
			continue;
		if (widest == SIZE_MAX || widths[i] > widths[widest]) {
			if (widest != SIZE_MAX)
				next = widths[widest];
			widest = i;
		} else if (widths[i] > next) {
			next = widths[i];
		}
	}
	if (widest != SIZE_MAX)
		*ret_excess = widths[widest] > next ? widths[widest] - next : 1;
	return widest;
}

void vmop_fit_columns(size_t *widths, const bool *is_elastic, size_t n, size_t separator_columns,
		      size_t total_columns, size_t least_columns)
{
	size_t used = n ? (n - 1) * separator_columns : 0;
	for (size_t i = 0; i < n; i++)
		used += widths[i];
	while (used > total_columns) {
		size_t excess;
		size_t widest = find_widest(widths, is_elastic, n, least_columns, &excess);
		if (widest == SIZE_MAX)
			return;
		size_t take = excess < used - total_columns ? excess : used - total_columns;
		widths[widest] -= take;
		used -= take;
	}
}

void vmop_fit_print(const char *text, size_t width_columns, FILE *out)
{
	size_t room = width_columns;
	while (width_columns > sizeof(indent)) {
		size_t len = fitting_len(text, room);
		if (!text[len])
			break;
		while (len && text[len] != ' ')
			len--;
		if (!len) /* the terminal breaks a long word */
			break;
		fprintf(out, "%.*s\n%s", (int)len, text, indent);
		text += len + 1;
		room = width_columns - (sizeof(indent) - 1);
	}
	fprintf(out, "%s\n", text);
}
