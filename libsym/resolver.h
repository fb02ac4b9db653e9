// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an image to names: finds the best symbols there are for it, and answers
 * look-ups.  For readers; the daemon never includes this.  One thread at a time.
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
	/*
	 * Folders searched for an image's file by its path, then by its base name (--image-path).
	 * Each has to be there.
	 */
	const char *const *image_paths;
	size_t n_image_paths;
	/*
	 * The folder that images' own paths and debug_paths are looked for in (--root), or NULL:
	 * "/". image_paths stand as they are.  Links inside it stay inside.
	 */
	const char *root;
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
	/*
	 * Another machine's, a guest's: that a file here has the same path says nothing, so
	 * without a build-id only image_paths are searched.
	 */
	bool is_elsewhere;
};

/* Copies the options. A root that can't be opened is an error. */
struct vmop_error *vmop_resolver_create(const struct vmop_resolver_options *options,
					struct vmop_resolver **ret);
void vmop_resolver_destroy(struct vmop_resolver *resolver); /* NULL is allowed */

/*
 * The symbols of ref.  Its file is looked for under ref->root (where no other root is
 * given), under the root, in image_paths, and, when its build-id is known, in
 * debug_paths and by debuginfod; its debug file by build-id, by .gnu_debuglink and by
 * debuginfod.  "[vdso]" is this process's, without a root.  What has another build-id than ref's,
 * or none, is never used.  The best is taken: .symtab of any of them before .dynsym with mini debug
 * info.
 *
 * *ret is the resolver's until it is destroyed, the same for the same image.
 * *ret is NULL, with no error, where there is nothing; *ret_why then says why ("no
 * such file", "its build-id differs", "no symbols", "too costly: ...", ...).  Where *ret is not
 * NULL, *ret_why is NULL, or says what is to be known of it ("not verified: ..."). What one image
 * may cost is in libsym/budget.h: 2 s of CPU time and 512 MiB, all its files together. *ret_why is
 * never freed by the caller.  The one error is being out of memory.
 */
struct vmop_error *vmop_resolver_symtab(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					const struct vmop_symtab **ret, const char **ret_why);

/*
 * The name to show: demangled as the options say; mangled itself where it isn't a C++,
 * Rust name, or is longer than 4 KiB.  Owned by the resolver until it is destroyed;
 * the same pointer for the same text.  Without memory, mangled is given back.
 */
const char *vmop_resolver_name(struct vmop_resolver *resolver, const char *mangled);

#endif
