// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/options.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "libutil/escape.h"

/* More than any program has. */
#define CHILDREN_MAX 8

static bool are_plain(int argc, char **argv)
{
	int i = 0;
	while (i < argc && vmop_escape_is_plain(argv[i], VMOP_CHARSET_ASCII))
		i++;
	return i == argc;
}

/* Accept every option. Everything after the first argument belongs to the program, in order. */
static error_t accept_all(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_ARG && state->flags & ARGP_IN_ORDER)
		state->next = state->argc;
	return 0;
}

/* Return true if getopt accepts every word and therefore prints none. */
static bool are_known(const struct argp *argp, int argc, char **argv, unsigned flags)
{
	struct argp parts[CHILDREN_MAX] = {{0}};
	struct argp_child children[CHILDREN_MAX + 1] = {{0}};
	struct argp trial = {.options = argp->options, .parser = accept_all, .children = children};
	size_t n = 0;
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		assert(n < CHILDREN_MAX);
		parts[n] = (struct argp){.options = child->argp->options, .parser = accept_all};
		children[n].argp = &parts[n];
		n++;
	}
	return argp_parse(&trial, argc, argv, flags | ARGP_SILENT, NULL, NULL) == 0;
}

error_t vmop_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			   void *input)
{
	bool is_good = are_plain(argc, argv) || are_known(argp, argc, argv, flags);
	for (int i = 0; i < argc && !is_good; i++) {
		char *escaped = vmop_escape(argv[i], vmop_escape_locale());
		if (!escaped)
			return ENOMEM;
		argv[i] = escaped; /* lives as long as the program */
	}
	return argp_parse(argp, argc, argv, flags, NULL, input);
}
