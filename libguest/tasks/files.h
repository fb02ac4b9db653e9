// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of a guest's files: paths as /proc/PID/maps prints them
 * (kernel: fs/d_path.c), and build-ids, remembered from snapshot to snapshot.
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
void vmop_guest_files_free(struct vmop_guest_files *files);

/*
 * The path of a struct file into buf[VMOP_GUEST_PATH_MAX]; sets the view's
 * flag when it can't be read.  Returns where in buf it begins.
 */
const char *vmop_guest_files_path(struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, char *buf);

/*
 * The build-id of a mapped file into ret[20], its length as the result; 0 when
 * it has none.  By the page cache, or through the page table at pgd_gpa where
 * first_page (0: none) is where the file's first page is mapped.
 */
uint8_t vmop_guest_files_build_id(struct vmop_guest_files *files, struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, const char *path,
				  uint64_t pgd_gpa, uint64_t first_page, uint8_t *ret);

#endif
