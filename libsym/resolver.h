// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resolve images to symbols, and symbols to names to show.
 *
 * Only opreport uses this; the daemon uses symtab.h and resolves nothing. Data passes the files in
 * this order: vmop_resolver_symtab() gets a reference to an image (path, build-id, root), as a
 * session stores it. file-finder searches for the image's file and debug files, on this machine and
 * by debuginfod-client. elf-file reads them within a budget. elf-symbols, mini-debug-info, plt and
 * kernel-image extract functions, and symtab-builder makes a symtab of them. vmop_symtab_find()
 * then gives the symbol of an offset, and vmop_resolver_name() its demangled name (name-table,
 * demangle). cache/ keeps the tables of files with a build-id for the next run.
 *
 * One thread at a time.
 */
#ifndef VMOP_LIBSYM_RESOLVER_H
#define VMOP_LIBSYM_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/demangle-form.h"
#include "libsym/image-ref.h"
#include "libsym/symtab.h"

struct vmop_file_answers;
struct vmop_resolver;

struct vmop_resolver_options {
	/*
	 * Directories searched for an image's file, by its path and then by its base name
	 * (--image-path). Each must exist.
	 */
	const char *const *image_paths;
	size_t n_image_paths;
	/*
	 * The directory that the images' own paths and debug_paths are relative to (--root); NULL:
	 * "/". image_paths are not relative to it. Links cannot lead out of it.
	 */
	const char *root;
	const char *const *debug_paths; /* NULL: {"/usr/lib/debug"} */
	size_t n_debug_paths;
	/*
	 * A directory that keeps the symbols of files with a build-id between runs, made if missing
	 * (libsym/cache/symbol-cache.h); NULL: none.
	 */
	const char *cache_path;
	bool use_debuginfod; /* has no effect unless DEBUGINFOD_URLS is set */
	/*
	 * Use only these files (libsym/file-answers.h), and no cache; NULL: search as above. Not
	 * owned. image_paths and root do not go with them: VMOP_ERROR_USAGE.
	 */
	const struct vmop_file_answers *answers;
	enum vmop_demangle demangle;
};

/* Create a resolver. Copies the options. A root that cannot be opened is an error. */
struct vmop_error *vmop_resolver_create(const struct vmop_resolver_options *options,
					struct vmop_resolver **ret);
void vmop_resolver_destroy(struct vmop_resolver *resolver); /* NULL is allowed */

/*
 * Find the symbols of ref.
 *
 * The image's file is searched under ref->root (unless the options give a root), under the root, in
 * image_paths, and, if its build-id is known, in debug_paths and by debuginfod. Its debug file is
 * searched by build-id, by .gnu_debuglink and by debuginfod. "[vdso]" is this process's vDSO,
 * unless there is a root. If ref has a build-id, a file with another one, or with none, is never
 * used. .symtab of any of these files is preferred to .dynsym with mini debug info.
 *
 * The resolver owns *ret until it is destroyed; the same image gives the same pointer. If nothing
 * was found, *ret is NULL without an error and *ret_reason gives the reason ("no such file", "its
 * build-id differs", "no symbols", "too costly: ..."). If *ret is not NULL, *ret_reason is NULL or
 * a remark ("not verified: ..."). The caller never frees *ret_reason. All files of one image may
 * cost 2 s of CPU time and 512 MiB (libsym/budget.h). The only error is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_resolver_symtab(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					const struct vmop_symtab **ret, const char **ret_reason);

/*
 * Files that the caller keeps in the directory of cache_path, whose bytes are bounded together.
 * vmop_resolver_map maps the file `name` for reading, and sets *ret_len_bytes; the caller unmaps
 * it. It returns NULL without a cache, without the file, for one of more than max_bytes, and for
 * one that another user could have made. vmop_resolver_keep replaces the file; failures are not
 * reported. The name has at most 40 bytes, and no table of symbols has one with its first letter,
 * which is above 'f'.
 */
const void *vmop_resolver_map(const struct vmop_resolver *resolver, const char *name,
			      size_t max_bytes, size_t *ret_len_bytes);
void vmop_resolver_keep(struct vmop_resolver *resolver, const char *name, const void *bytes,
			size_t len_bytes);

/* Return whether there is a cache. */
bool vmop_resolver_has_cache(const struct vmop_resolver *resolver);

/*
 * Return the name to show, demangled as the options request. Returns a copy of mangled if it is no
 * C++ or Rust name or is longer than 4 KiB. The resolver owns the result until it is destroyed; the
 * same text gives the same pointer. Returns mangled if memory runs out.
 */
const char *vmop_resolver_name(struct vmop_resolver *resolver, const char *mangled);

#endif
