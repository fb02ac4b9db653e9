// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory that libdw can take for one line table (DWARF 5, section 6.2). libdw makes a path for
 * each file of the table and an item for each row, and ends the process where memory runs out; a
 * few bytes of a hostile table can ask for very long paths. So the header is read here before
 * libdw sees the table. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DWARF_LINE_COST_H
#define VMOP_LIBSYM_DWARF_LINE_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Set *ret_bytes to an upper bound of the memory for the table at `offset` of the section
 * .debug_line, whose strings in other sections have at most max_string_bytes. False: the table is
 * damaged, or of a version or form that is not read (versions 2 to 5, little-endian).
 */
bool vmop_line_cost(const char *section, size_t len_bytes, uint64_t offset, size_t max_string_bytes,
		    uint64_t *ret_bytes);

#endif
