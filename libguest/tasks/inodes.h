// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of a guest by their inodes: path, size and build-id of the file whose page a sample
 * showed (vmop/guest-context.h).
 *
 * An inode leads to a dentry (i_dentry, kernel: include/linux/dcache.h), and its superblock to the
 * mounts that show it (s_mounts, kernel: fs/mount.h). Of these, one in the namespace of the guest's
 * first process is taken, and of several the oldest that shows the whole superblock. Without one,
 * the file is a container's, and its path is the one in there.
 *
 * The guest runs meanwhile. A result counts only if two readings are equal, and the inode still is
 * the one that was asked for.
 *
 * Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_INODES_H
#define VMOP_LIBGUEST_TASKS_INODES_H

#include <stdbool.h>
#include <stdint.h>

#include "libguest/types.h"

struct vmop_error;
struct vmop_guest_files;
struct vmop_guest_inodes;
struct vmop_guest_kernel;
struct vmop_layout;

/* The files that were found, by their pages, and the text of the last path. */
struct vmop_error *vmop_guest_inodes_new(struct vmop_guest_inodes **ret);
void vmop_guest_inodes_free(struct vmop_guest_inodes *inodes); /* NULL is allowed */

/* As vmop_guest_find_inode() in guest.h. *retries counts repeated readings. */
struct vmop_error *vmop_guest_inodes_find(struct vmop_guest_inodes *inodes,
					  struct vmop_guest_kernel *kernel,
					  const struct vmop_layout *layout,
					  struct vmop_guest_files *files,
					  const struct vmop_guest_inode *wanted, uint64_t *retries,
					  struct vmop_guest_inode_file *ret);

/* As vmop_guest_find_path() in guest.h. task: in whose root; 0: of the first process. */
struct vmop_error *vmop_guest_inodes_find_path(struct vmop_guest_inodes *inodes,
					       struct vmop_guest_kernel *kernel,
					       const struct vmop_layout *layout,
					       struct vmop_guest_files *files, uint64_t task,
					       const char *path, uint64_t *retries,
					       struct vmop_guest_inode_file *ret);

/*
 * Return whether mapping still has the pages of the inode that was found for it; without one,
 * whether it is an inode's at all.
 */
bool vmop_guest_inodes_holds(const struct vmop_guest_inodes *inodes,
			     struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			     uint64_t mapping);

#endif
