// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of a file that a guest has mapped, from the guest's page cache. Its content is the guest's
 * and hostile.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_GUEST_FILE_H
#define VMOP_DAEMON_GUEST_GUEST_FILE_H

#include <string.h>

#include "libguest/guest.h"
#include "libsym/build-id.h"
#include "libsym/symtab.h"
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

/* Return the build-id of a mapping's file; its length is 0 if it is not known. */
static inline struct vmop_build_id vmop_guest_vma_build_id(const struct vmop_guest_vma *vma)
{
	struct vmop_build_id id = {.len_bytes = vma->build_id_len_bytes};
	memcpy(id.bytes, vma->build_id, vma->build_id_len_bytes);
	return id;
}

/*
 * Return the symbols of a copy, which the caller destroys; NULL: it has none. build_id is that of
 * the file when it was listed; empty: unknown. *ret_is_gone: the copy has another one, because the
 * guest has closed the file since, and has another file at the same place.
 */
struct vmop_symtab *vmop_guest_file_symbols(int fd, const struct vmop_build_id *build_id,
					    bool *ret_is_gone);

#endif
