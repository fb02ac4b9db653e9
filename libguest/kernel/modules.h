// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel text outside the kernel's image, with its symbols: modules, BPF programs, ftrace and
 * kprobe pages, as the guest's /proc/kallsyms lists them (kernel: kernel/kallsyms.c,
 * update_iter_mod()). Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_KERNEL_MODULES_H
#define VMOP_LIBGUEST_KERNEL_MODULES_H

#include "libguest/types.h"

struct vmop_guest_kernel;
struct vmop_guest_modules;
struct vmop_layout;

/*
 * Read the lists. before (may be NULL) is the previous reading. When nothing has changed, *ret is
 * before, at little cost. Otherwise *ret is new, and the caller frees it and still owns before. A
 * list that changes during the reading is read again, up to three times, and *retries counts that.
 * VMOP_ERROR_CORRUPT: a list stays inconsistent.
 */
struct vmop_error *vmop_guest_modules_read(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   struct vmop_guest_modules *before, uint64_t *retries,
					   struct vmop_guest_modules **ret);
void vmop_guest_modules_free(struct vmop_guest_modules *modules); /* NULL is allowed */

/* Modules and symbols, by an index below their count. Results point into modules. */
size_t vmop_guest_modules_count(const struct vmop_guest_modules *modules);
const struct vmop_guest_module *vmop_guest_modules_get(const struct vmop_guest_modules *modules,
						       size_t index);
size_t vmop_guest_modules_symbol_count(const struct vmop_guest_modules *modules);
void vmop_guest_modules_symbol(const struct vmop_guest_modules *modules, size_t index,
			       struct vmop_guest_symbol *ret);
/* Set *ret to the symbol that covers address. Return false when no symbol does. */
bool vmop_guest_modules_symbol_at(const struct vmop_guest_modules *modules, uint64_t address,
				  struct vmop_guest_symbol *ret);

#endif
