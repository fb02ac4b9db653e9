// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The compilation units of one image's DWARF (version 5, section 3.1.1), by address. What libdw
 * reads of a unit is for the callers, inline-index and line-index.
 *
 * DWARF is untrusted. libdw reads it, from a private copy (debug-sections.h); the budget pays for
 * each entry and each item that is kept. Inside libsym only. One thread at a time.
 */
#ifndef VMOP_LIBSYM_DWARF_UNITS_H
#define VMOP_LIBSYM_DWARF_UNITS_H

#include <elfutils/libdw.h>

#include "libsym/dwarf/debug-sections.h"
#include "libsym/dwarf/range-map.h"

/*
 * An entry of DWARF takes some hundred nanoseconds, but one with thousands of attributes takes
 * more: with this many steps the clock is read often enough.
 */
enum { VMOP_DWARF_STEPS_PER_ENTRY = 512 };

struct vmop_dwarf_units {
	struct vmop_sym_budget *budget;
	struct vmop_debug_sections sections;
	Elf *elf;
	Dwarf *dwarf; /* NULL: there is no DWARF */
	struct vmop_elf_load *loads;
	size_t n_loads;
	Dwarf_Off *entries; /* n: the entry of each unit */
	size_t n, capacity;
	struct vmop_range_map map; /* from addresses to units */
	uint64_t libdw_bytes;	   /* charged for libdw's own memory */
};

/*
 * Read the units of dwarf's DWARF into zeroed units. layout is the program whose file offsets are
 * looked up; the same file, unless dwarf is a debug file; NULL: offsets are addresses. Both may be
 * closed afterwards; dwarf's budget must outlive units. units->dwarf stays NULL, without an error,
 * if there is no DWARF. The caller deinitializes units also after an error.
 */
struct vmop_error *vmop_dwarf_units_init(struct vmop_dwarf_units *units,
					 const struct vmop_elf_file *dwarf,
					 const struct vmop_elf_file *layout,
					 enum vmop_debug_subject subject);
void vmop_dwarf_units_deinit(struct vmop_dwarf_units *units);

/*
 * Set *ret_address to the address of an offset, and return the index of its unit. Return
 * VMOP_RANGE_NONE if no unit has it.
 */
uint32_t vmop_dwarf_units_find(const struct vmop_dwarf_units *units, uint64_t offset,
			       uint64_t *ret_address);

/* Charge memory that libdw has allocated, or is about to. False: the budget ran out. */
bool vmop_dwarf_units_charge(struct vmop_dwarf_units *units, uint64_t len_bytes);

/* Return memory that libdw did not need after all. */
void vmop_dwarf_units_discharge(struct vmop_dwarf_units *units, uint64_t len_bytes);

/* Add the ranges of an entry to a map. False: the budget ran out. */
bool vmop_dwarf_add_ranges(struct vmop_sym_budget *budget, Dwarf_Die *die, uint32_t depth,
			   uint32_t value, struct vmop_range_map *map);

/* Make room in an array for one more item. False: the budget or memory ran out. */
bool vmop_dwarf_reserve(struct vmop_sym_budget *budget, void *items_pointer, size_t *capacity,
			size_t n, size_t item_bytes);

/*
 * Return the resident memory of this process, or 0 if it is not known. The growth of it shows what
 * libdw allocated.
 */
uint64_t vmop_dwarf_resident_bytes(void);

#endif
