// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts that many processes of a snapshot share (paths of files, cgroups), read from the guest once
 * per snapshot. Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_NAMES_H
#define VMOP_LIBGUEST_TASKS_NAMES_H

#include <stdint.h>

struct vmop_error;
struct vmop_guest_kernel;
struct vmop_guest_snapshot;
struct vmop_layout;
struct vmop_guest_names;

/* Make an empty cache for one snapshot. The other arguments must outlive *ret. */
struct vmop_error *vmop_guest_names_new(struct vmop_guest_kernel *kernel,
					const struct vmop_layout *layout,
					struct vmop_guest_snapshot *snapshot,
					struct vmop_guest_names **ret);
void vmop_guest_names_free(struct vmop_guest_names *names); /* NULL is allowed */

/*
 * Set *ret to the snapshot's handle of a file's path, and copy the path to ret_path
 * (VMOP_GUEST_PATH_MAX bytes). A path that cannot be read sets the fault flag of the kernel's space
 * and is not cached.
 */
struct vmop_error *vmop_guest_names_file(struct vmop_guest_names *names, uint64_t file,
					 char *ret_path, uint32_t *ret);
/* Set *ret to the handle of the path of a task's cgroup; "" when it cannot be read. */
struct vmop_error *vmop_guest_names_cgroup(struct vmop_guest_names *names, uint64_t task,
					   uint32_t *ret);

#endif
