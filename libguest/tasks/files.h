// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The build-ids of a guest's files, which are kept from call to call. Thread: as for the
 * vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_FILES_H
#define VMOP_LIBGUEST_TASKS_FILES_H

#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_files;
struct vmop_guest_kernel;
struct vmop_layout;

struct vmop_error *vmop_guest_files_new(struct vmop_guest_files **ret);
void vmop_guest_files_free(struct vmop_guest_files *files); /* NULL is allowed */

/*
 * Copy the build-id of a mapped file to ret, which has room for 20 bytes, and return its length; 0:
 * none. It is read from the page cache, or else through the page table at pgd_gpa, where first_page
 * (0: none) is the address of the file's first page. file is 0 for the vDSO.
 */
uint8_t vmop_guest_files_build_id(struct vmop_guest_files *files, struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, const char *path,
				  uint64_t pgd_gpa, uint64_t first_page, uint8_t *ret);

/*
 * The same by the inode of a file and its pages: only from the page cache. The result is kept under
 * the same key.
 */
uint8_t vmop_guest_files_inode_build_id(struct vmop_guest_files *files,
					struct vmop_guest_kernel *kernel,
					const struct vmop_layout *layout, uint64_t inode,
					uint64_t mapping, const char *path, uint8_t *ret);

#endif
