// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbol tables of files, kept between runs in a directory of the user.
 *
 * Each table is a file named by its build-id; where a program has none, by the identity of its
 * file: a program that was replaced or changed in its place has another one. It is written beside
 * its place and renamed, so that several programs read and write the directory at once. A file of
 * another version or of another user, or with damage in its first part, counts as missing and is
 * written anew; so is one with damage in the table, when that is found. The caller adds no symbols
 * from a file that another user could have made, because such a file can bear the build-id of any
 * other one.
 *
 * The names of a large table without a build-id stay in the image's file (image-names.h).
 *
 * The file (struct header in the .c file): the header, then the table (mapped-symtab.h).
 * Byte order and widths are this machine's.
 *
 * Inside libsym only. One thread at a time for one struct; any number of processes.
 */
#ifndef VMOP_LIBSYM_CACHE_SYMBOL_CACHE_H
#define VMOP_LIBSYM_CACHE_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libsym/build-id.h"
#include "libsym/symtab.h"

/* The bytes of all files together. Those that were unused the longest are removed first. */
#define VMOP_SYMBOL_CACHE_MAX_BYTES ((uint64_t)256 << 20)

/*
 * A table without the symbols of a debug file is used for so long only: the debug file may be
 * installed later.
 */
#define VMOP_SYMBOL_CACHE_PARTIAL_S (24 * 3600)

struct vmop_symbol_cache {
	int dir_fd; /* -1: there is no cache */
	uint64_t max_bytes;
	size_t min_image_names_bytes; /* shorter string tables are copied */
	bool has_saved;
};

/* A cache that keeps nothing. */
#define VMOP_SYMBOL_CACHE_NONE ((struct vmop_symbol_cache){.dir_fd = -1})

/*
 * Open the cache in the directory at path, and make path if it is missing. path NULL or "", and a
 * directory that another user can change (libutil/dirs/safe-dir.h), or that cannot be made, give
 * VMOP_SYMBOL_CACHE_NONE.
 */
void vmop_symbol_cache_init(struct vmop_symbol_cache *cache, const char *path);

/* Close the cache. If a table was saved, first remove files beyond the bound. */
void vmop_symbol_cache_deinit(struct vmop_symbol_cache *cache);

/* The key of a table. */
struct vmop_symbol_cache_key {
	struct vmop_build_id build_id; /* not empty */
	bool addresses;		       /* the symbols' offsets are addresses */
	bool is_file;		       /* build_id is made by vmop_symbol_cache_key_of_file */
};

/*
 * Set *ret to the key of a file without a build-id: device, inode, size, and times of modification
 * and of change. Return false, because the next change could be at the same time, if the file
 * changed within the last seconds.
 */
bool vmop_symbol_cache_key_of_file(const struct stat *st, bool addresses,
				   struct vmop_symbol_cache_key *ret);

/*
 * Set *ret to the kept table, or to NULL without a valid one. image_fd is the file that a key with
 * is_file was made of, else -1. The caller owns *ret and closes image_fd. The only error is
 * VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_symbol_cache_load(const struct vmop_symbol_cache *cache,
					  const struct vmop_symbol_cache_key *key, int image_fd,
					  struct vmop_symtab **ret);

/* Return whether the cache leaves names of the table, which is in memory, in the image's file. */
bool vmop_symbol_cache_leaves_names(const struct vmop_symbol_cache *cache,
				    const struct vmop_symbol_cache_key *key,
				    const struct vmop_symtab *symtab);

/* Remove the table, which is damaged. */
void vmop_symbol_cache_remove(const struct vmop_symbol_cache *cache,
			      const struct vmop_symbol_cache_key *key);

/*
 * Keep a table, unless it comes from the cache. is_partial: it has only the symbols that a stripped
 * file has. With a key that has is_file, its names' place (vmop_symtab_names) is in that file. The
 * table then has its identity. Failures (a full disk, a table that is too large) are
 * not reported: a cache may be without any table.
 */
void vmop_symbol_cache_save(struct vmop_symbol_cache *cache,
			    const struct vmop_symbol_cache_key *key, bool is_partial,
			    struct vmop_symtab *symtab);

#endif
