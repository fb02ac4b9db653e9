// SPDX-License-Identifier: GPL-2.0-or-later
/* Bound the bytes of a directory of cached files. Inside libsym only. */
#ifndef VMOP_LIBSYM_CACHE_CACHE_TRIM_H
#define VMOP_LIBSYM_CACHE_CACHE_TRIM_H

#include <stdint.h>
#include <sys/stat.h>

/* The end of the name of a file that is being written. */
#define VMOP_CACHE_PART_SUFFIX ".part"

/*
 * Set the modification time of the file at fd to now, unless it is of today: files are removed in
 * the order of this time. st is the file's.
 */
void vmop_cache_touch(int fd, const struct stat *st);

/*
 * Remove files until the others have at most max_bytes together, those first that were unused the
 * longest. Also removes files whose writer has been gone for an hour. Errors are ignored.
 */
void vmop_cache_trim(int dir_fd, uint64_t max_bytes);

#endif
