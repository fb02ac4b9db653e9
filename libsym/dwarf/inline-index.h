// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inlined functions of one image, by DWARF (version 5, section 3.3.8.2:
 * DW_TAG_inlined_subroutine).
 *
 * At first only the ranges of the compilation units are read. A unit is indexed when an address in
 * it is looked up for the first time: once through its entries, which gives a map from addresses to
 * the innermost inlined function. A look-up is then a binary search, and names are read for the
 * functions that were found.
 *
 * DWARF is untrusted. libdw reads it, from a private copy (debug-sections.h); the budget pays for
 * each entry and each item that is kept. Inside libsym only. One thread at a time.
 */
#ifndef VMOP_LIBSYM_DWARF_INLINE_INDEX_H
#define VMOP_LIBSYM_DWARF_INLINE_INDEX_H

#include "libsym/elf/elf-file.h"

/* The bound of functions inlined at one address; the outermost ones beyond it are left out. */
#define VMOP_INLINE_INDEX_MAX 32

struct vmop_inline_index;

/*
 * Read the units of dwarf's DWARF. layout is the program whose file offsets are looked up; the same
 * file, unless dwarf is a debug file. Both may be closed afterwards; their budget must outlive
 * *ret, which is NULL, without an error, if there is no DWARF.
 */
struct vmop_error *vmop_inline_index_create(const struct vmop_elf_file *dwarf,
					    const struct vmop_elf_file *layout,
					    struct vmop_inline_index **ret);
void vmop_inline_index_destroy(struct vmop_inline_index *index); /* NULL is allowed */

/* Add base to each offset that is looked up from now on. */
void vmop_inline_index_set_base(struct vmop_inline_index *index, uint64_t base);

/*
 * Set ret_names to the functions inlined at that offset of the program, innermost first, and *ret_n
 * to their number, 0 if there are none. Names are mangled where the language mangles them; the
 * index owns them. False: the budget ran out.
 */
bool vmop_inline_index_find(struct vmop_inline_index *index, uint64_t offset,
			    const char *ret_names[VMOP_INLINE_INDEX_MAX], size_t *ret_n);

#endif
