// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The look-up of a path among the names that the guest's kernel has in its cache (kernel:
 * fs/dcache.c, fs/namei.c): from the root directory of the guest's first process, through the
 * directories' lists of children, across mount points. Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_LOOKUP_H
#define VMOP_LIBGUEST_TASKS_LOOKUP_H

#include <stdint.h>

struct vmop_guest_kernel;
struct vmop_layout;

/*
 * Return the inode of a regular file by its absolute path, or 0: not in the cache, a symbolic link
 * on the way, or "..". The layout suffices (vmop_layout_has_directories). Sets the fault flag of
 * the kernel's space when a read failed.
 */
uint64_t vmop_guest_lookup(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			   const char *path);

#endif
