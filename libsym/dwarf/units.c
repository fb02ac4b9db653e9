// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/units.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* The memory that libdw keeps for each unit whose entries were not read. */
enum { LIBDW_UNIT_BYTES = 512 };

bool vmop_dwarf_reserve(struct vmop_sym_budget *budget, void *items_pointer, size_t *capacity,
			size_t n, size_t item_bytes)
{
	void **items = items_pointer;
	size_t wanted = *capacity ? 2 * *capacity : 16;
	if (n < *capacity)
		return true;
	if (n >= VMOP_RANGE_NONE / 2 ||
	    !vmop_sym_budget_take_memory(budget, (wanted - *capacity) * item_bytes))
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
	void *grown = reallocarray(*items, wanted, item_bytes);
	if (!grown) {
		vmop_sym_budget_give_memory(budget, (wanted - *capacity) * item_bytes);
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
	}
	*items = grown;
	*capacity = wanted;
	return true;
}

bool vmop_dwarf_units_charge(struct vmop_dwarf_units *units, uint64_t len_bytes)
{
	if (!vmop_sym_budget_take_memory(units->budget, len_bytes))
		return false;
	units->libdw_bytes += len_bytes;
	return true;
}

void vmop_dwarf_units_discharge(struct vmop_dwarf_units *units, uint64_t len_bytes)
{
	vmop_sym_budget_give_memory(units->budget, len_bytes);
	units->libdw_bytes -= len_bytes;
}

bool vmop_dwarf_add_ranges(struct vmop_sym_budget *budget, Dwarf_Die *die, uint32_t depth,
			   uint32_t value, struct vmop_range_map *map)
{
	Dwarf_Addr base, low, high;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
		const struct vmop_range range = {
			.low = low, .high = high, .depth = depth, .value = value};
		/* Code that the linker removed is at 0. */
		if (!vmop_sym_budget_take_steps(budget, VMOP_DWARF_STEPS_PER_ENTRY) ||
		    (low && !vmop_range_map_add(map, budget, &range)))
			return false;
	}
	return true;
}

uint64_t vmop_dwarf_resident_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long size_pages, resident_pages;
	struct vmop_error *err = vmop_io_read_file("/proc/self/statm", 4096, &text, NULL);
	if (err || sscanf(text, "%lu %lu", &size_pages, &resident_pages) != 2)
		resident_pages = 0;
	vmop_error_destroy(err);
	return (uint64_t)resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool add_unit(struct vmop_dwarf_units *units, Dwarf_Die *die)
{
	struct vmop_sym_budget *budget = units->budget;
	if (!vmop_sym_budget_take_steps(budget, VMOP_DWARF_STEPS_PER_ENTRY) ||
	    !vmop_dwarf_reserve(budget, &units->entries, &units->capacity, units->n,
				sizeof(*units->entries)))
		return false;
	units->entries[units->n] = dwarf_dieoffset(die);
	return vmop_dwarf_add_ranges(budget, die, 0, (uint32_t)units->n++, &units->map);
}

/*
 * Find the units and their ranges. Units whose code is described in other files (.dwo) are left
 * out: their names are paths of the file's choice.
 */
static bool read_units(struct vmop_dwarf_units *units)
{
	Dwarf_CU *at = NULL, *next = NULL;
	uint8_t type = 0;
	Dwarf_Die die;
	while (dwarf_get_units(units->dwarf, at, &next, NULL, &type, &die, NULL) == 0) {
		bool has_code = type == DW_UT_compile && dwarf_tag(&die) == DW_TAG_compile_unit;
		if (!vmop_dwarf_units_charge(units, LIBDW_UNIT_BYTES) ||
		    !vmop_sym_budget_take_steps(units->budget, VMOP_DWARF_STEPS_PER_ENTRY) ||
		    (has_code && !add_unit(units, &die)))
			return false;
		at = next;
	}
	return vmop_range_map_finish(&units->map, units->budget);
}

/* Find the address of a file's offset. Without a layout, offsets are addresses. */
static bool find_address(const struct vmop_dwarf_units *units, uint64_t offset, uint64_t *ret)
{
	*ret = offset;
	for (size_t i = 0; i < units->n_loads; i++) {
		const struct vmop_elf_load *load = &units->loads[i];
		if (offset < load->offset || offset - load->offset >= load->len_bytes)
			continue;
		*ret = load->address + (offset - load->offset);
		return true;
	}
	return !units->loads;
}

uint32_t vmop_dwarf_units_find(const struct vmop_dwarf_units *units, uint64_t offset,
			       uint64_t *ret_address)
{
	return find_address(units, offset, ret_address)
		       ? vmop_range_map_find(&units->map, *ret_address)
		       : VMOP_RANGE_NONE;
}

static bool copy_loads(struct vmop_dwarf_units *units, const struct vmop_elf_file *layout)
{
	size_t len_bytes = layout ? layout->n_loads * sizeof(*units->loads) : 0;
	if (!layout)
		return true;
	if (!vmop_sym_budget_take_memory(units->budget, len_bytes))
		return false;
	units->n_loads = layout->n_loads;
	units->loads = malloc(len_bytes ? len_bytes : 1);
	if (!units->loads)
		return vmop_sym_budget_spend(units->budget, VMOP_SYM_COST_MEMORY);
	memcpy(units->loads, layout->loads, len_bytes);
	return true;
}

struct vmop_error *vmop_dwarf_units_init(struct vmop_dwarf_units *units,
					 const struct vmop_elf_file *dwarf,
					 const struct vmop_elf_file *layout,
					 enum vmop_debug_subject subject)
{
	units->budget = dwarf->budget;
	struct vmop_error *err = vmop_debug_sections_read(dwarf, subject, &units->sections);
	if (err || !units->sections.bytes)
		return err;
	elf_version(EV_CURRENT);
	units->elf = elf_memory(units->sections.bytes, units->sections.len_bytes);
	units->dwarf = units->elf ? dwarf_begin_elf(units->elf, DWARF_C_READ, NULL) : NULL;
	if (!units->dwarf)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: its DWARF is damaged", dwarf->path);
	if (!copy_loads(units, layout) || !read_units(units))
		return vmop_sym_budget_error(units->budget, dwarf->path);
	return NULL;
}

void vmop_dwarf_units_deinit(struct vmop_dwarf_units *units)
{
	struct vmop_sym_budget *budget = units->budget;
	vmop_sym_budget_give_memory(budget, units->capacity * sizeof(*units->entries) +
						    units->n_loads * sizeof(*units->loads) +
						    units->libdw_bytes);
	vmop_range_map_deinit(&units->map, budget);
	free(units->entries);
	free(units->loads);
	dwarf_end(units->dwarf);
	elf_end(units->elf);
	vmop_debug_sections_deinit(&units->sections, budget);
	*units = (struct vmop_dwarf_units){0};
}
