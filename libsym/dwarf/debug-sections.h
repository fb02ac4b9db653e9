// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of an ELF file's DWARF sections that libdw can read. The file is untrusted and may change
 * while it is read, so libdw gets a small ELF file in memory instead: only the sections that
 * describe functions, decompressed, each followed by zeros, so that a string without an end ends
 * there. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DWARF_DEBUG_SECTIONS_H
#define VMOP_LIBSYM_DWARF_DEBUG_SECTIONS_H

#include "libsym/elf/elf-file.h"

struct vmop_debug_sections {
	char *bytes; /* an ELF file; NULL: the file has no DWARF, or of a kind that is not read */
	size_t len_bytes;
	const char *lines; /* .debug_line in bytes, if it was wanted */
	size_t lines_len_bytes;
};

/*
 * VMOP_DEBUG_LINES also copies .debug_line, and ends strings of .debug_str and .debug_line_str
 * after VMOP_DEBUG_PATH_MAX_BYTES: libdw makes a path of up to three strings for each file of a
 * line table. Names of functions can be longer, so the subjects have separate copies.
 */
enum vmop_debug_subject { VMOP_DEBUG_FUNCTIONS, VMOP_DEBUG_LINES };
#define VMOP_DEBUG_PATH_MAX_BYTES 1024

/*
 * Copy the sections of elf, whose budget pays for them. ret->bytes stays NULL, without an error, if
 * there is no .debug_info or .debug_abbrev, or no .debug_line where it is wanted, and in files for
 * big-endian or 32-bit machines and in relocatable ones, unless they are placed (module-place.h).
 * VMOP_ERROR_LIMIT: the budget ran out. VMOP_ERROR_CORRUPT: a section is damaged.
 */
struct vmop_error *vmop_debug_sections_read(const struct vmop_elf_file *elf,
					    enum vmop_debug_subject subject,
					    struct vmop_debug_sections *ret);
void vmop_debug_sections_deinit(struct vmop_debug_sections *sections,
				struct vmop_sym_budget *budget);

#endif
