// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the FDEs of .eh_frame begin, by its search table (Linux Standard Base 5, section 10.6.2).
 * Behind a hole in the section, this finds records again. The table is untrusted.
 */
#ifndef VMOP_LIBSTACK_FDE_INDEX_H
#define VMOP_LIBSTACK_FDE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_cfi_budget;
struct vmop_cfi_image;
struct vmop_cfi_section;
struct vmop_error;

/* Zeroed: empty. */
struct vmop_fde_index {
	uint32_t *offsets; /* in the section, ascending */
	size_t n, capacity;
};

/*
 * Read the index of the image's .eh_frame, as far as it can be read. The caller frees *ret with
 * vmop_fde_index_deinit(). An image without a search table, or with one in an unknown form, has an
 * empty index. VMOP_ERROR_LIMIT, or out of memory.
 */
struct vmop_error *vmop_fde_index_read(const struct vmop_cfi_image *image,
				       const struct vmop_cfi_section *eh_frame,
				       struct vmop_cfi_budget *budget, struct vmop_fde_index *ret);
void vmop_fde_index_deinit(struct vmop_fde_index *index, struct vmop_cfi_budget *budget);

/* Set *ret to the first offset above `offset`. False: the index has none. */
bool vmop_fde_index_next(const struct vmop_fde_index *index, size_t offset, size_t *ret);

#endif
