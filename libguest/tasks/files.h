// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of a guest: paths as /proc/PID/maps prints them (kernel: fs/d_path.c), and build-ids,
 * which are kept from snapshot to snapshot. Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_FILES_H
#define VMOP_LIBGUEST_TASKS_FILES_H

#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_files;
struct vmop_guest_kernel;
struct vmop_layout;

#define VMOP_GUEST_PATH_MAX 4096u

struct vmop_error *vmop_guest_files_new(struct vmop_guest_files **ret);
void vmop_guest_files_free(struct vmop_guest_files *files); /* NULL is allowed */

/*
 * Write the path of a struct file into buf[VMOP_GUEST_PATH_MAX] and return its start within buf.
 * Sets the fault flag of the kernel's space when it cannot be read.
 */
const char *vmop_guest_files_path(struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, char *buf);

/*
 * Copy the build-id of a mapped file to ret, which has room for 20 bytes, and return its length; 0:
 * none. It is read from the page cache, or else through the page table at pgd_gpa, where first_page
 * (0: none) is the address of the file's first page. file is 0 for the vDSO.
 */
uint8_t vmop_guest_files_build_id(struct vmop_guest_files *files, struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, const char *path,
				  uint64_t pgd_gpa, uint64_t first_page, uint8_t *ret);

#endif
