// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/options/symbol-options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "opreport/options/option-word.h"

static const struct argp_option argp_options[] = {
	{"image-path", 'p', "DIR,...", 0, "Folders with images' files", 0},
	{"root", 'R', "DIR", 0, "A prefix for the paths of all images", 0},
	{"demangle", 'D', "none|smart|normal", 0,
	 "Names of C++, Rust, ... as they are, without parameters (smart, the default), in full",
	 0},
	{0}};

static const struct vmop_option_word demangle_words[] = {{"none", VMOP_DEMANGLE_NONE},
							 {"smart", VMOP_DEMANGLE_SMART},
							 {"normal", VMOP_DEMANGLE_FULL},
							 {"full", VMOP_DEMANGLE_FULL},
							 {0}};

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_symbol_options *options = state->input;
	unsigned value = options->demangle;
	switch (key) {
	case 'p':
		options->err = vmop_words_parse(&options->image_paths, "--image-path", arg);
		break;
	case 'R':
		options->root = arg;
		break;
	case 'D':
		options->err = vmop_option_word_parse(demangle_words, "--demangle", arg, &value);
		options->demangle = value;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return options->err ? EINVAL : 0;
}

const struct argp vmop_symbol_options_argp = {.options = argp_options, .parser = take_option};

struct vmop_resolver_options vmop_symbol_options_resolver(const struct vmop_symbol_options *options)
{
	return (struct vmop_resolver_options){
		.image_paths = (const char *const *)options->image_paths.items,
		.n_image_paths = options->image_paths.n,
		.root = options->root,
		.cache_path = options->cache_path,
		.use_debuginfod = true,
		.demangle = options->demangle,
	};
}

void vmop_symbol_options_find_cache(struct vmop_symbol_options *options)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len = -1;
	char *path = NULL;
	if (cache && cache[0] == '/')
		len = asprintf(&path, "%s/vmop/symbols", cache);
	else if (home && home[0] == '/')
		len = asprintf(&path, "%s/.cache/vmop/symbols", home);
	free(options->cache_path);
	options->cache_path = len < 0 ? NULL : path;
}

void vmop_symbol_options_deinit(struct vmop_symbol_options *options)
{
	free(options->cache_path);
	vmop_words_deinit(&options->image_paths);
}
