// SPDX-License-Identifier: GPL-2.0-or-later
/* Write a collection as an archive: a tar file compressed by zstd, or a directory. */
#ifndef VMOP_OPREPORT_ARCHIVE_PACK_H
#define VMOP_OPREPORT_ARCHIVE_PACK_H

#include "opreport/archive/collect.h"

/*
 * The bound of what a packed archive unpacks to, for each of its bytes: one that exceeds it, and
 * more than VMOP_ARCHIVE_RATIO_FREE_BYTES, is taken for a zip bomb.
 */
#define VMOP_ARCHIVE_MAX_RATIO 1000
#define VMOP_ARCHIVE_RATIO_FREE_BYTES ((uint64_t)64 << 20)

/* Return whether a packed archive of packed_bytes may unpack to so many bytes. */
bool vmop_archive_ratio_is_good(uint64_t unpacked_bytes, uint64_t packed_bytes);

/*
 * Write a tar file to fd, which may be a pipe; path is used in messages. A file that changed since
 * it was collected is VMOP_ERROR_CANT. *ret_bytes is the packed size.
 */
struct vmop_error *vmop_archive_pack(const struct vmop_collection *collection, int fd,
				     const char *path, uint64_t *ret_bytes);

/* Write the members into the collection's staging directory; the copies of sessions are there. */
struct vmop_error *vmop_archive_pack_directory(const struct vmop_collection *collection);

#endif
