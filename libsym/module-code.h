// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields in a kernel module's code that its file leaves open: the kernel fills in the addresses
 * when it loads the module (relocations; System V ABI, chapter 4, and the psABI of each machine).
 * Inside libsym only; one thread at a time.
 */
#ifndef VMOP_LIBSYM_MODULE_CODE_H
#define VMOP_LIBSYM_MODULE_CODE_H

#include "libsym/code.h"
#include "libsym/elf/elf-file.h"

struct vmop_module_code;

/*
 * Read the relocations of all code that has a place (libsym/dwarf/module-place.h). elf must outlive
 * *ret. The caller destroys *ret, which returns its memory to the budget. VMOP_ERROR_LIMIT: the
 * budget ran out. Damaged relocations are left out.
 */
struct vmop_error *vmop_module_code_create(const struct vmop_elf_file *elf,
					   struct vmop_module_code **ret);
void vmop_module_code_destroy(struct vmop_module_code *code); /* NULL is allowed */

/*
 * Set *ret to the first open field that begins in [offset, end), offsets of the module. Return
 * false if there is none. code owns the strings.
 */
bool vmop_module_code_field(const struct vmop_module_code *code, uint64_t offset, uint64_t end,
			    struct vmop_code_field *ret);

#endif
