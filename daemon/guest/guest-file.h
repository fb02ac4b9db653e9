// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of a file that a guest has mapped, from the guest's page cache. Its content is the guest's
 * and hostile.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_GUEST_FILE_H
#define VMOP_DAEMON_GUEST_GUEST_FILE_H

#include "libguest/guest.h"
#include "libutil/error.h"

/* The largest file that is copied. */
#define VMOP_GUEST_FILE_MAX_BYTES (256u << 20)

/*
 * Copy a file (vma->file) of a guest into a memory file. Pages that are not in the page cache are
 * zeros. *ret_fd is the caller's. VMOP_ERROR_LIMIT: the file is too large. VMOP_ERROR_NOT_FOUND:
 * the guest no longer has it open.
 */
struct vmop_error *vmop_guest_file_copy(struct vmop_guest *guest, uint64_t file, int *ret_fd);

/* Do the same with the file of a mapping (vmop_guest_inode_file.mapping). */
struct vmop_error *vmop_guest_file_copy_mapping(struct vmop_guest *guest, uint64_t mapping,
						int *ret_fd);

#endif
