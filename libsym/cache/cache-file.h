// SPDX-License-Identifier: GPL-2.0-or-later
/* Open and replace a file of the user's cache. Inside libsym only. */
#ifndef VMOP_LIBSYM_CACHE_CACHE_FILE_H
#define VMOP_LIBSYM_CACHE_CACHE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The longest name of a file of the cache, in bytes with its NUL. */
#define VMOP_CACHE_NAME_BYTES 64

/*
 * Open a file to read, and set *ret to its facts. Return its descriptor, or -1 without a file, for
 * one that another user could have made, and for one of more than max_bytes. The caller closes it.
 */
int vmop_cache_file_open(int dir_fd, const char *name, uint64_t max_bytes, struct stat *ret);

/*
 * Write a file beside its place and rename it. There is no fsync: readers detect damage, and a
 * damaged file is written anew. Failures are ignored.
 */
void vmop_cache_file_replace(int dir_fd, const char *name, const void *bytes, size_t len_bytes);

#endif
