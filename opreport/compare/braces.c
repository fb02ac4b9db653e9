// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/braces.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/compare/side-words.h"

static struct vmop_error *begin_side(struct vmop_braces *braces)
{
	if (braces->n == VMOP_SIDES_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE, "at most %d sides can be compared",
				      VMOP_SIDES_MAX);
	braces->n++;
	return NULL;
}

static struct vmop_error *add_word(struct vmop_braces *braces, const char *word)
{
	struct vmop_words *words = &braces->sides[braces->n - 1];
	if (*word == '-')
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "braces hold specs; the option '%s' belongs outside", word);
	if (!vmop_array_reserve(words->items, words->capacity, words->n + 1))
		return &vmop_error_no_memory;
	words->items[words->n] = strdup(word);
	return words->items[words->n] && ++words->n ? NULL : &vmop_error_no_memory;
}

/* Return whether the argument is a whole side, "{ ... }" with blanks inside the braces. */
static bool is_side(const char *argument)
{
	size_t len = strlen(argument);
	return len >= 3 && argument[0] == '{' && argument[1] == ' ' && argument[len - 2] == ' ' &&
	       argument[len - 1] == '}';
}

static struct vmop_error *add_side(struct vmop_braces *braces, const char *argument)
{
	_cleanup_free_ char *inside = strndup(argument + 1, strlen(argument) - 2);
	struct vmop_error *err = inside ? begin_side(braces) : &vmop_error_no_memory;
	return err ? err : vmop_side_words_split(inside, false, &braces->sides[braces->n - 1]);
}

struct vmop_error *vmop_braces_init(struct vmop_braces *ret, int argc, char **argv)
{
	bool is_inside = false;
	struct vmop_error *err = NULL;
	*ret = (struct vmop_braces){.argv = calloc((size_t)argc + 1, sizeof(*ret->argv))};
	if (!ret->argv)
		return &vmop_error_no_memory;
	for (int i = 0; i < argc && !err; i++) {
		bool opens = i && !strcmp(argv[i], "{"), closes = i && !strcmp(argv[i], "}");
		if (opens ? is_inside : closes && !is_inside)
			return vmop_error_new(VMOP_ERROR_USAGE, "'%s' without a '%s' before it",
					      argv[i], opens ? "}" : "{");
		if (opens)
			err = begin_side(ret);
		else if (is_inside && !closes)
			err = add_word(ret, argv[i]);
		else if (!closes && i && is_side(argv[i]))
			err = add_side(ret, argv[i]);
		else if (!closes)
			ret->argv[ret->argc++] = argv[i];
		is_inside = (is_inside || opens) && !closes;
	}
	if (!err && is_inside)
		err = vmop_error_new(VMOP_ERROR_USAGE, "'{' without a '}' behind it");
	if (!err && ret->n == 1)
		err = vmop_error_new(VMOP_ERROR_USAGE, "a comparison needs two sides or more: "
						       "{ SPEC... } { SPEC... }");
	return err;
}

void vmop_braces_deinit(struct vmop_braces *braces)
{
	for (size_t i = 0; i < VMOP_SIDES_MAX; i++)
		vmop_words_deinit(&braces->sides[i]);
	free(braces->argv);
	*braces = (struct vmop_braces){0};
}
