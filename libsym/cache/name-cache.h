// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Demangled names, kept between runs in one file of the cache of symbols. To demangle a name takes
 * as long as all else that a report does with it.
 *
 * The file has a header, slots of a hash table, and the names, each with a NUL. It is mapped, and
 * its hash is checked once. A file that is damaged, of another version of the program or of another
 * user counts as missing. It is replaced as a whole, so that several programs read and write it at
 * once; the last one wins.
 *
 * Inside libsym only. One thread at a time for one struct; any number of processes.
 */
#ifndef VMOP_LIBSYM_CACHE_NAME_CACHE_H
#define VMOP_LIBSYM_CACHE_NAME_CACHE_H

#include <stdint.h>

#include "libsym/demangle-form.h"

/* The largest file, and the most names in it. */
#define VMOP_NAME_CACHE_MAX_BYTES ((uint64_t)32 << 20)
#define VMOP_NAME_CACHE_MAX_NAMES ((uint32_t)1 << 18)

/* Longer names are not kept. */
#define VMOP_NAME_CACHE_MAX_NAME_BYTES 4096

struct vmop_name_cache;

/*
 * Open the cache of names in the form of demangle. dir_fd stays the caller's, and must stay open.
 * Return NULL without memory, with dir_fd -1, and for VMOP_DEMANGLE_NONE. Every function accepts
 * NULL: a cache without names.
 */
struct vmop_name_cache *vmop_name_cache_open(int dir_fd, enum vmop_demangle demangle);

/* Return the demangled name, or NULL if it is not kept. It lives until the cache is closed. */
const char *vmop_name_cache_find(struct vmop_name_cache *cache, const char *mangled);

/* Add a name that was not found. Both texts must live until the cache is closed. */
void vmop_name_cache_add(struct vmop_name_cache *cache, const char *mangled, const char *demangled);

/*
 * Write the file if it lacks many of the names, and free the cache. If all names together are too
 * many, the file keeps those that were added.
 */
void vmop_name_cache_close(struct vmop_name_cache *cache);

#endif
