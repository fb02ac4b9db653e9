// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session file that a guest sends, on the host: received beside the host's session, checked,
 * and only then put where reports find it.
 *
 * Its name is the host's own. Its content is the guest's: before the file gets its name, all of it
 * is checked as a session, and it may only be of this guest. A report of the host's session reads
 * it, too, so a session that poses as the host's or as another guest's is refused. An active domain
 * of Xen has samples of Xen, but only dom0 names Xen's functions.
 *
 * All functions but the last two wait for the disk. They are for a thread of their own.
 */
#ifndef VMOP_DAEMON_ACTIVE_FETCHED_FILE_H
#define VMOP_DAEMON_ACTIVE_FETCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/guest/domain.h"
#include "libdb/db.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/error.h"

/* The place of a guest's session, and the guest that it must be of. */
struct vmop_fetched_place {
	/* owned; file: of vmop_session_guest_file(), under whose name the file comes */
	char *session_dir, *file;
	mode_t mode;
	char uuid[VMOP_UUID_BYTES]; /* the guest's */
	bool host_has_uuid;	    /* the host's session has the UUID of its machine */
	bool is_of_xen;		    /* the guest may have samples of its hypervisor */
	uint64_t since_ns;	    /* CLOCK_REALTIME; the guest's session began after it */
	struct vmop_db_clock clock; /* of the guest's session; without parts: not known */
};
void vmop_fetched_place_deinit(struct vmop_fetched_place *place);

/* How far a guest's clock may be from the host's, as far as its distance is not known. */
#define VMOP_FETCHED_CLOCK_NS (UINT64_C(86400) * VMOP_NS_PER_S)

struct vmop_fetched_file {
	const struct vmop_fetched_place *place;
	struct vmop_dir dir;
	char *new_file; /* the name as long as it is not complete */
	int fd;
	bool is_there; /* the file exists under new_file */
};

/* Create the file, 0600, with no byte. place must outlive it. The caller ends it after errors, too.
 */
struct vmop_error *vmop_fetched_file_begin(struct vmop_fetched_file *ret,
					   const struct vmop_fetched_place *place);
struct vmop_error *vmop_fetched_file_write(struct vmop_fetched_file *file, const void *bytes,
					   size_t len_bytes);

/* Check the whole file. Errors: VMOP_ERROR_CORRUPT, and VMOP_ERROR_CANT: it is not of this guest.
 */
struct vmop_error *vmop_fetched_file_check(struct vmop_fetched_file *file);

/*
 * Give a file that was checked this name in the session directory. It replaces an older one in one
 * step. Does not wait for the disk.
 */
struct vmop_error *vmop_fetched_file_publish(struct vmop_fetched_file *file, const char *name);

/* Remove the file, unless it is in its place, and free what file has. */
void vmop_fetched_file_end(struct vmop_fetched_file *file);

#endif
