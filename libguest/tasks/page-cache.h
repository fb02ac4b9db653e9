// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files in the guest's page cache: struct file -> f_mapping -> i_pages (an xarray, kernel:
 * lib/xarray.c) -> struct page or folio -> frame. Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_PAGE_CACHE_H
#define VMOP_LIBGUEST_TASKS_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_kernel;
struct vmop_layout;

/*
 * Set *ret to the address_space of a struct file. VMOP_ERROR_NOT_FOUND: it cannot be read, or the
 * layout is not known.
 */
struct vmop_error *vmop_guest_page_cache_of_file(struct vmop_guest_kernel *kernel,
						 const struct vmop_layout *layout, uint64_t file,
						 uint64_t *ret);

/* As vmop_guest_read_file() and vmop_guest_file_size() in guest.h, by address_space. */
struct vmop_error *vmop_guest_page_cache_read(struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout, uint64_t mapping,
					      uint64_t offset, void *buf, size_t len_bytes,
					      size_t *ret_read);
struct vmop_error *vmop_guest_page_cache_size(struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout, uint64_t mapping,
					      uint64_t *ret);

#endif
