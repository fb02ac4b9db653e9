// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an image to names: finds the best symbols there are for it, and answers
 * look-ups.  For readers; the daemon never includes this.
 */
#ifndef VMOP_LIBSYM_RESOLVER_H
#define VMOP_LIBSYM_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/build-id.h"
#include "libsym/symtab.h"

struct vmop_resolver;

enum vmop_demangle {
	VMOP_DEMANGLE_NONE,
	VMOP_DEMANGLE_SMART, /* without parameters: the default */
	VMOP_DEMANGLE_FULL,
};

struct vmop_resolver_options {
	/* Folders searched for an image's file by its path, then by its base name (--image-path). */
	const char *const *image_paths;
	size_t n_image_paths;
	const char *root;	      /* prefix of all paths (--root), or NULL */
	const char *const *debug_paths; /* NULL: {"/usr/lib/debug"} */
	size_t n_debug_paths;
	bool use_debuginfod; /* only where DEBUGINFOD_URLS is set */
	enum vmop_demangle demangle;
};

/* What is to be resolved; fields as in a session file. */
struct vmop_image_ref {
	const char *path;
	const char *root; /* "/proc/PID/root" or NULL */
	struct vmop_build_id build_id;
	bool addresses; /* offsets are st_value addresses, not file offsets */
};

struct vmop_error *vmop_resolver_create(const struct vmop_resolver_options *options,
					struct vmop_resolver **ret);
void vmop_resolver_destroy(struct vmop_resolver *resolver);

/*
 * The symbols of ref, by: the file itself when its build-id is the wanted one, a
 * debug file by build-id, by .gnu_debuglink, debuginfod.  The best of them is
 * taken: .symtab of any before mini debug info before .dynsym.  *ret is owned by
 * the resolver.  NULL with no error where there is none; then *ret_why (never
 * freed) says why: "no such file", "build-id differs", "no symbols", ...
 */
struct vmop_error *vmop_resolver_symtab(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					const struct vmop_symtab **ret, const char **ret_why);

/*
 * The name to show: demangled as the options say; mangled itself where it isn't a C++,
 * Rust, ... name.  Owned by the resolver until it is destroyed; the same pointer
 * for the same text.
 */
const char *vmop_resolver_name(struct vmop_resolver *resolver, const char *mangled);

#endif
