// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The look-up of a path among the names that the guest's kernel has in its cache (kernel:
 * fs/dcache.c, fs/namei.c): from the root directory of a process, through the directories' lists of
 * children, across mount points. Thread: as for the vmop_guest.
 *
 * A file of an overlay file system, which is the root of most containers, has its pages in another
 * inode: in that of the upper file system, if the file was written to.
 */
#ifndef VMOP_LIBGUEST_TASKS_LOOKUP_H
#define VMOP_LIBGUEST_TASKS_LOOKUP_H

#include <stdint.h>

struct vmop_guest_kernel;
struct vmop_layout;

/*
 * Return the inode with the pages of a regular file, by its absolute path in the root directory of
 * a task (0: of the guest's first process). 0: not in the cache, a symbolic link on the way, or
 * "..". The layout suffices (vmop_layout_has_directories). Sets the fault flag of
 * the kernel's space when a read failed.
 */
uint64_t vmop_guest_lookup(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			   uint64_t task, const char *path);

#endif
