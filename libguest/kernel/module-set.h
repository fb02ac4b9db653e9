// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The modules, BPF programs and trampolines of one reading, with their symbols and names.
 *
 * modules.c builds a set out of the guest's lists and finishes it. A finished set is immutable:
 * any number of threads may read it. Results point into the set.
 */
#ifndef VMOP_LIBGUEST_KERNEL_MODULE_SET_H
#define VMOP_LIBGUEST_KERNEL_MODULE_SET_H

#include "libguest/types.h"

struct vmop_error;
struct vmop_guest_module_set;

void vmop_guest_module_set_free(struct vmop_guest_module_set *set); /* NULL is allowed */

/* Modules and symbols, by an index below their count, in the order in which they were added. */
size_t vmop_guest_module_set_count(const struct vmop_guest_module_set *set);
const struct vmop_guest_module *vmop_guest_module_set_get(const struct vmop_guest_module_set *set,
							  size_t index);
size_t vmop_guest_module_set_symbol_count(const struct vmop_guest_module_set *set);
void vmop_guest_module_set_symbol(const struct vmop_guest_module_set *set, size_t index,
				  struct vmop_guest_symbol *ret);
/* Set *ret to the symbol that covers address. Return false when no symbol does. */
bool vmop_guest_module_set_symbol_at(const struct vmop_guest_module_set *set, uint64_t address,
				     struct vmop_guest_symbol *ret);
/* Return the hash that vmop_guest_module_set_finish() stored. */
uint64_t vmop_guest_module_set_signature(const struct vmop_guest_module_set *set);

/* --- construction, for modules.c ------------------------------------------------ */

struct vmop_guest_module_symbol {
	uint64_t address, len_bytes;
	uint32_t name;	 /* handle of a name */
	uint32_t module; /* handle of the name of its module */
	char type;
};

/* Make an empty set, which the caller frees. */
struct vmop_error *vmop_guest_module_set_new(struct vmop_guest_module_set **ret);

/* Store a name and set *ret to its handle. Return false when memory is out. */
bool vmop_guest_module_set_add_name(struct vmop_guest_module_set *set, const char *name,
				    uint32_t *ret);

/*
 * Append a module whose name is a handle, and return it until the next one is added. NULL: memory
 * is out.
 */
struct vmop_guest_module *vmop_guest_module_set_add(struct vmop_guest_module_set *set,
						    uint32_t name,
						    enum vmop_guest_kernel_text_kind kind,
						    uint64_t start, uint64_t len_bytes);

/*
 * Append a symbol; of_last: it belongs to the last module that was added. Symbols above the maximum
 * of a set are ignored. Return false when memory is out.
 */
bool vmop_guest_module_set_add_symbol(struct vmop_guest_module_set *set,
				      const struct vmop_guest_module_symbol *symbol, bool of_last);

/* Turn handles into names and store the signature, a hash of the lists that were read. */
void vmop_guest_module_set_finish(struct vmop_guest_module_set *set, uint64_t signature);

#endif
