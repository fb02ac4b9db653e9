// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source lines of one image's code, by DWARF's line tables (version 5, section 6.2).
 *
 * At first only the ranges of the compilation units are read. The line table of a unit is decoded
 * when an address in it is looked up for the first time.
 *
 * DWARF is untrusted. libdw reads it, from a private copy (debug-sections.h), and only tables that
 * cannot exceed the budget (line-cost.h). Inside libsym only. One thread at a time.
 */
#ifndef VMOP_LIBSYM_DWARF_LINE_INDEX_H
#define VMOP_LIBSYM_DWARF_LINE_INDEX_H

#include "libsym/elf/elf-file.h"
#include "libsym/line.h"

struct vmop_line_index;

/*
 * Read the units of dwarf's DWARF. layout is as in vmop_dwarf_units_init(). Both may be closed
 * afterwards; their budget must outlive *ret, which is NULL, without an error, if there is no line
 * table.
 */
struct vmop_error *vmop_line_index_create(const struct vmop_elf_file *dwarf,
					  const struct vmop_elf_file *layout,
					  struct vmop_line_index **ret);
void vmop_line_index_destroy(struct vmop_line_index *index); /* NULL is allowed */

/*
 * Set *ret to the line of the code at that offset of the program; its path is NULL if there is
 * none. Its strings belong to the index. False: the budget ran out.
 */
bool vmop_line_index_find(struct vmop_line_index *index, uint64_t offset, struct vmop_line *ret);

#endif
