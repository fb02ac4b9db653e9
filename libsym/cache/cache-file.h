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
 * A file that is written beside its place and then renamed. There is no fsync: readers detect
 * damage, and a damaged file is written anew. Failures are not reported: the file is not replaced.
 */
struct vmop_cache_writer {
	int dir_fd, fd; /* fd: -1 after a failure */
	char name[VMOP_CACHE_NAME_BYTES], part[VMOP_CACHE_NAME_BYTES + 32];
};

/* Begin to write the file `name`. The caller keeps dir_fd open. */
void vmop_cache_writer_init(struct vmop_cache_writer *writer, int dir_fd, const char *name);

/* Write bytes at a position. */
void vmop_cache_writer_put(struct vmop_cache_writer *writer, const void *bytes, size_t len_bytes,
			   uint64_t at);

/* Replace the file unless something failed, and end the writer. */
void vmop_cache_writer_finish(struct vmop_cache_writer *writer);

/* Replace a file of these bytes. */
void vmop_cache_file_replace(int dir_fd, const char *name, const void *bytes, size_t len_bytes);

#endif
