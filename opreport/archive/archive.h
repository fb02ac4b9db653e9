// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An imported archive, as readers use it in place of the session directory and of the files of this
 * machine. It is found by the spec archive:DIR. Its files are opened below its directory only.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_ARCHIVE_H
#define VMOP_OPREPORT_ARCHIVE_ARCHIVE_H

#include "libsym/file-answers.h"
#include "libutil/error.h"

struct vmop_archive;

/*
 * Open the archive in the directory at path, and let this process use its time zone
 * (time-zone.h). Errors name the path. The caller releases *ret.
 */
struct vmop_error *vmop_archive_open(const char *path, struct vmop_archive **ret);

/* Return archive, with one more user. NULL gives NULL. */
struct vmop_archive *vmop_archive_share(struct vmop_archive *archive);
void vmop_archive_release(struct vmop_archive *archive); /* NULL is allowed */

/* Return the path of the directory with its sessions. */
const char *vmop_archive_session_dir(const struct vmop_archive *archive);

/* Return the name in that directory of the session that was at path, or NULL. */
const char *vmop_archive_session_of(const struct vmop_archive *archive, const char *path);

/* Return the results of searches for images' files, for a resolver. */
const struct vmop_file_answers *vmop_archive_answers(const struct vmop_archive *archive);

/*
 * Open a source file that an image names; root is that of the image, NULL or "" for none. Return a
 * descriptor that the caller closes, or -1; then *ret_reason is a constant or of the archive's.
 */
int vmop_archive_open_source(const struct vmop_archive *archive, const char *path, const char *root,
			     const char **ret_reason);

#endif
