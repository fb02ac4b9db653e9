// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of the guest's files, as /proc/PID/maps prints them (kernel: fs/d_path.c). Thread: as for
 * the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_PATHS_H
#define VMOP_LIBGUEST_TASKS_PATHS_H

#include <stdint.h>

struct vmop_guest_kernel;
struct vmop_layout;

#define VMOP_GUEST_PATH_MAX 4096u

/*
 * Write the path of a dentry under a vfsmount into buf[VMOP_GUEST_PATH_MAX] and return its start
 * within buf. vfsmount is 0 for a file that no directory has. Sets the fault flag of the kernel's
 * space when it cannot be read.
 */
const char *vmop_guest_path_of_dentry(struct vmop_guest_kernel *kernel,
				      const struct vmop_layout *layout, uint64_t dentry,
				      uint64_t vfsmount, char *buf);
/*
 * Return the address of the struct path by which a struct file was opened. Sets the fault flag as
 * above.
 */
uint64_t vmop_guest_path_struct(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
				uint64_t file);
/* The same as vmop_guest_path_of_dentry() for a struct file. */
const char *vmop_guest_path_of_file(struct vmop_guest_kernel *kernel,
				    const struct vmop_layout *layout, uint64_t file, char *buf);

#endif
