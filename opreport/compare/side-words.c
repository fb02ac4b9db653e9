// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/side-words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

#define BLANKS " \t\n"

static bool has_tag(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz-");
	return len && word[len] == ':';
}

/* Return the word at text[0..len) without the backslashes before blanks. */
static char *copy_word(const char *text, size_t len, bool is_session)
{
	static const char tag[] = "session:";
	char *copy = malloc(sizeof(tag) + 2 * len + 1), *to = copy;
	if (!copy)
		return NULL;
	if (is_session)
		to = stpcpy(to, tag);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len && strchr(BLANKS, text[i + 1]))
			continue;
		if (is_session && text[i] == ',' && (!i || text[i - 1] != '\\'))
			*to++ = '\\'; /* of a file's name; several sessions need the tag */
		*to++ = text[i];
	}
	*to = '\0';
	return copy;
}

struct vmop_error *vmop_side_words_split(const char *text, bool first_is_session,
					 struct vmop_words *ret)
{
	size_t before = ret->n;
	for (const char *at = text + strspn(text, BLANKS); *at; at += strspn(at, BLANKS)) {
		size_t len = 0;
		while (at[len] && !strchr(BLANKS, at[len]))
			len += at[len] == '\\' && at[len + 1] ? 2 : 1;
		bool is_session = first_is_session && ret->n == before && !has_tag(at);
		if (!vmop_array_reserve(ret->items, ret->capacity, ret->n + 1))
			return &vmop_error_no_memory;
		ret->items[ret->n] = copy_word(at, len, is_session);
		if (!ret->items[ret->n])
			return &vmop_error_no_memory;
		ret->n++;
		at += len;
	}
	return NULL;
}
