// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search for an image's DWARF: in its file, else in its debug files. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DWARF_SEARCH_H
#define VMOP_LIBSYM_DWARF_SEARCH_H

#include "libsym/file-finder.h"

/*
 * Read the DWARF of a file. layout is the program whose file offsets are looked up, or NULL for
 * addresses. Set *ret_found to whether it has some.
 */
typedef struct vmop_error *vmop_dwarf_use_fn(void *arg, const struct vmop_elf_file *dwarf,
					     const struct vmop_elf_file *layout, bool *ret_found);

/*
 * Call `use` for the file of ref and for its debug files, until one has DWARF. *ret_reason is NULL
 * then, or else a constant. budget pays for all files. An error of `use` ends the search.
 */
struct vmop_error *vmop_dwarf_search(const struct vmop_file_finder *finder,
				     const struct vmop_image_ref *ref,
				     struct vmop_sym_budget *budget, vmop_dwarf_use_fn *use,
				     void *arg, const char **ret_reason);

#endif
