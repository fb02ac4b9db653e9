// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of an image that have CFI: its FDEs, in the order of their offsets in the file. */
#ifndef VMOP_LIBSTACK_FUNCTIONS_H
#define VMOP_LIBSTACK_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_cfi_budget;
struct vmop_cfi_image;
struct vmop_cfi_section;
struct vmop_cie_cache;
struct vmop_error;
struct vmop_fde_index;

struct vmop_cfi_function {
	uint64_t start;		     /* offset in the file */
	uint32_t len_bytes;	     /* at least 1 */
	uint32_t record : 31;	     /* offset of the FDE in its section */
	uint32_t is_debug_frame : 1; /* the section */
};

/* Zero-initialise. */
struct vmop_cfi_functions {
	struct vmop_cfi_function *items;
	size_t n, capacity;
	bool is_partial; /* some are left out because their records lie in holes */
};

void vmop_cfi_functions_deinit(struct vmop_cfi_functions *functions,
			       struct vmop_cfi_budget *budget);

/*
 * Append the functions of a section. FDEs that are damaged, lie in holes, or describe no executable
 * bytes of the file, are left out. cache and index are the section's; behind a hole, records go on
 * where the index has one. VMOP_ERROR_LIMIT, or out of memory.
 */
struct vmop_error *
vmop_cfi_functions_add(struct vmop_cfi_functions *functions, const struct vmop_cfi_image *image,
		       const struct vmop_cfi_section *section, const struct vmop_fde_index *index,
		       struct vmop_cie_cache *cache, struct vmop_cfi_budget *budget);

/*
 * Sort by start, and resolve overlaps: of functions with the same start the first that was added
 * stays; a function ends where the next begins; those of .debug_frame stay only where .eh_frame has
 * none. .eh_frame is to be added first. VMOP_ERROR_LIMIT, or out of memory.
 */
struct vmop_error *vmop_cfi_functions_arrange(struct vmop_cfi_functions *functions,
					      struct vmop_cfi_budget *budget);

#endif
