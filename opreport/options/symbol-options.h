// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of all readers that look up symbols: --image-path, --root, --demangle. */
#ifndef VMOP_OPREPORT_OPTIONS_SYMBOL_OPTIONS_H
#define VMOP_OPREPORT_OPTIONS_SYMBOL_OPTIONS_H

#include <argp.h>

#include "libsym/resolver.h"
#include "libutil/error.h"
#include "opreport/query/spec.h"

struct vmop_symbol_options {
	struct vmop_words image_paths; /* --image-path */
	const char *root;	       /* --root, not owned; NULL: none */
	enum vmop_demangle demangle;
	char *cache_path;	/* of symbol tables, on the heap; NULL: none */
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/* A child parser; its input is a struct vmop_symbol_options, zeroed or with other defaults. */
extern const struct argp vmop_symbol_options_argp;

/*
 * Set cache_path to $XDG_CACHE_HOME/vmop/symbols, else to $HOME/.cache/vmop/symbols. It stays NULL
 * if neither variable has an absolute path, or if memory runs out.
 */
void vmop_symbol_options_find_cache(struct vmop_symbol_options *options);

/* Return the resolver's options. They point into `options`. */
struct vmop_resolver_options
vmop_symbol_options_resolver(const struct vmop_symbol_options *options);
void vmop_symbol_options_deinit(struct vmop_symbol_options *options);

#endif
