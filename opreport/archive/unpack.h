// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unpack an archive that anyone may have made. Only regular files that its manifest names are
 * written, each once, with the manifest's size, hash and build-id, below a staging directory. The
 * manifest is the first member; by its sizes an archive that is too large is refused before
 * anything is written.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_UNPACK_H
#define VMOP_OPREPORT_ARCHIVE_UNPACK_H

#include "opreport/archive/manifest.h"
#include "opreport/archive/staging.h"

/*
 * Read a tar file from fd, which may be a pipe, into staging, and set *ret to its manifest. path is
 * used in messages. VMOP_ERROR_CORRUPT: not as vmoparchive makes it; VMOP_ERROR_LIMIT: more than
 * max_bytes. After an error the staging directory is to be removed. The caller deinitialises *ret
 * also then.
 */
struct vmop_error *vmop_archive_unpack(int fd, const char *path, uint64_t max_bytes,
				       const struct vmop_staging *staging,
				       struct vmop_manifest *ret);

#endif
