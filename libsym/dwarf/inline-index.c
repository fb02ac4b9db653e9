// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/inline-index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/dwarf/debug-sections.h"
#include "libsym/dwarf/range-map.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/*
 * An entry of DWARF takes some hundred nanoseconds, but one with thousands of attributes takes
 * more: with this many steps the clock is read often enough.
 */
enum { STEPS_PER_ENTRY = 512 };

/* The memory that libdw keeps for each unit whose entries were not read. */
enum { LIBDW_UNIT_BYTES = 512 };

/* Functions, blocks and namespaces that contain one another. Compilers stay far below. */
enum { MAX_DEPTH = 128 };

/* References from a function's entry to the one that has its name. */
enum { MAX_ORIGINS = 16 };

/* A function, or another one inlined into it. */
struct node {
	Dwarf_Off entry;
	uint32_t parent;  /* VMOP_RANGE_NONE: a function that is not inlined */
	const char *name; /* NULL: not read yet; "": it has none */
};

struct unit {
	Dwarf_Off entry;
	bool is_indexed;
	struct vmop_range_map map; /* to nodes */
	struct node *nodes;
	size_t n_nodes, capacity;
};

struct vmop_inline_index {
	struct vmop_sym_budget *budget;
	struct vmop_debug_sections sections;
	Elf *elf;
	Dwarf *dwarf;
	struct vmop_elf_load *loads;
	size_t n_loads;
	struct unit *units;
	size_t n_units, unit_capacity;
	struct vmop_range_map map; /* to units */
	uint64_t libdw_bytes;	   /* charged for libdw's own memory */
};

/* Make room in an array for one more item. False: the budget or memory ran out. */
static bool reserve(struct vmop_sym_budget *budget, void *items_pointer, size_t *capacity, size_t n,
		    size_t item_bytes)
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

/* Charge memory that libdw has allocated, or is about to. */
static bool charge_libdw(struct vmop_inline_index *index, uint64_t len_bytes)
{
	if (!vmop_sym_budget_take_memory(index->budget, len_bytes))
		return false;
	index->libdw_bytes += len_bytes;
	return true;
}

/* ---- ranges ----------------------------------------------------------------- */

/* Add the ranges of an entry to a map. False: the budget ran out. */
static bool add_ranges(struct vmop_sym_budget *budget, Dwarf_Die *die, uint32_t depth,
		       uint32_t value, struct vmop_range_map *map)
{
	Dwarf_Addr base, low, high;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
		const struct vmop_range range = {
			.low = low, .high = high, .depth = depth, .value = value};
		/* Code that the linker removed is at 0. */
		if (!vmop_sym_budget_take_steps(budget, STEPS_PER_ENTRY) ||
		    (low && !vmop_range_map_add(map, budget, &range)))
			return false;
	}
	return true;
}

static bool add_unit(struct vmop_inline_index *index, Dwarf_Die *die)
{
	struct vmop_sym_budget *budget = index->budget;
	if (!vmop_sym_budget_take_steps(budget, STEPS_PER_ENTRY) ||
	    !reserve(budget, &index->units, &index->unit_capacity, index->n_units,
		     sizeof(*index->units)))
		return false;
	index->units[index->n_units] = (struct unit){.entry = dwarf_dieoffset(die)};
	return add_ranges(budget, die, 0, (uint32_t)index->n_units++, &index->map);
}

/*
 * Find the units and their ranges. Units whose code is described in other files (.dwo) are left
 * out: their names are paths of the file's choice.
 */
static bool read_units(struct vmop_inline_index *index)
{
	Dwarf_CU *at = NULL, *next = NULL;
	uint8_t type = 0;
	Dwarf_Die die;
	while (dwarf_get_units(index->dwarf, at, &next, NULL, &type, &die, NULL) == 0) {
		bool has_code = type == DW_UT_compile && dwarf_tag(&die) == DW_TAG_compile_unit;
		if (!charge_libdw(index, LIBDW_UNIT_BYTES) ||
		    !vmop_sym_budget_take_steps(index->budget, STEPS_PER_ENTRY) ||
		    (has_code && !add_unit(index, &die)))
			return false;
		at = next;
	}
	return vmop_range_map_finish(&index->map, index->budget);
}

/* ---- a unit ----------------------------------------------------------------- */

/* The walk through a unit's entries. */
struct walk {
	struct vmop_inline_index *index;
	struct unit *unit;
};

static bool walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t node, unsigned depth);

/* Add a function and those that are inlined into it. */
static bool add_function(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
	struct unit *unit = walk->unit;
	struct vmop_sym_budget *budget = walk->index->budget;
	if (!reserve(budget, &unit->nodes, &unit->capacity, unit->n_nodes, sizeof(*unit->nodes)))
		return false;
	uint32_t node = (uint32_t)unit->n_nodes++;
	unit->nodes[node] = (struct node){.entry = dwarf_dieoffset(die), .parent = parent};
	return add_ranges(budget, die, depth, node, &unit->map) &&
	       walk_children(walk, die, node, depth + 1);
}

/* Go through an entry. node: the function that contains it. */
static bool walk_entry(struct walk *walk, Dwarf_Die *die, uint32_t node, unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		/* Without code, it is a declaration or describes what others inline. */
		if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
			return true;
		return add_function(walk, die, VMOP_RANGE_NONE, depth);
	case DW_TAG_inlined_subroutine:
		return node == VMOP_RANGE_NONE || add_function(walk, die, node, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return walk_children(walk, die, node, depth + 1);
	default:
		return true;
	}
}

static bool walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t node, unsigned depth)
{
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		if (!vmop_sym_budget_take_steps(walk->index->budget, STEPS_PER_ENTRY) ||
		    !walk_entry(walk, &die, node, depth))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

/* Make the map of a unit. */
static bool walk_unit(struct vmop_inline_index *index, struct unit *unit)
{
	struct walk walk = {.index = index, .unit = unit};
	Dwarf_Die die;
	return !dwarf_offdie(index->dwarf, unit->entry, &die) ||
	       (walk_children(&walk, &die, VMOP_RANGE_NONE, 0) &&
		vmop_range_map_finish(&unit->map, index->budget));
}

/* Return the resident memory of this process, or 0 if it is not known. */
static uint64_t resident_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long size_pages, resident_pages;
	struct vmop_error *err = vmop_io_read_file("/proc/self/statm", 4096, &text, NULL);
	if (err || sscanf(text, "%lu %lu", &size_pages, &resident_pages) != 2)
		resident_pages = 0;
	vmop_error_destroy(err);
	return (uint64_t)resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Make the map of a unit, and charge what the process grew by: libdw keeps the abbreviations of
 * each unit, which can be the same ones in the file. Without enough budget, the unit has no inlined
 * functions.
 */
static bool index_unit(struct vmop_inline_index *index, struct unit *unit)
{
	uint64_t before_bytes = resident_bytes();
	unit->is_indexed = true;
	bool is_done = walk_unit(index, unit);
	uint64_t after_bytes = resident_bytes();
	return (after_bytes <= before_bytes || charge_libdw(index, after_bytes - before_bytes)) &&
	       is_done;
}

/* ---- names ------------------------------------------------------------------ */

/*
 * Return an attribute of the entry, or of those that it refers to for what it shares with them.
 * dwarf_attr_integrate(3) does the same, but may open other files (.dwo).
 */
static const char *read_string(Dwarf_Die die, unsigned name)
{
	static const unsigned origins[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Attribute attribute;
	for (int i = 0; i < MAX_ORIGINS; i++) {
		if (dwarf_attr(&die, name, &attribute))
			return dwarf_formstring(&attribute);
		if (!dwarf_attr(&die, origins[0], &attribute) &&
		    !dwarf_attr(&die, origins[1], &attribute))
			return NULL;
		if (!dwarf_formref_die(&attribute, &die))
			return NULL;
	}
	return NULL;
}

static const char *read_name(struct vmop_inline_index *index, struct node *node)
{
	Dwarf_Die die;
	if (node->name)
		return node->name;
	node->name = "";
	if (!dwarf_offdie(index->dwarf, node->entry, &die))
		return node->name;
	const char *name = read_string(die, DW_AT_linkage_name);
	if (!name || !*name)
		name = read_string(die, DW_AT_MIPS_linkage_name);
	if (!name || !*name)
		name = read_string(die, DW_AT_name);
	if (name)
		node->name = name;
	return node->name;
}

static bool find_in_unit(struct vmop_inline_index *index, struct unit *unit, uint64_t address,
			 const char *ret_names[VMOP_INLINE_INDEX_MAX], size_t *ret_n)
{
	if (!unit->is_indexed && !index_unit(index, unit)) {
		vmop_range_map_deinit(&unit->map, index->budget);
		return false;
	}
	uint32_t at = vmop_range_map_find(&unit->map, address);
	while (at != VMOP_RANGE_NONE && unit->nodes[at].parent != VMOP_RANGE_NONE &&
	       *ret_n < VMOP_INLINE_INDEX_MAX) {
		ret_names[(*ret_n)++] = read_name(index, &unit->nodes[at]);
		at = unit->nodes[at].parent;
	}
	return vmop_sym_budget_take_steps(index->budget, STEPS_PER_ENTRY * (*ret_n + 1));
}

static bool find_address(const struct vmop_inline_index *index, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < index->n_loads; i++) {
		const struct vmop_elf_load *load = &index->loads[i];
		if (offset < load->offset || offset - load->offset >= load->len_bytes)
			continue;
		*ret = load->address + (offset - load->offset);
		return true;
	}
	return false;
}

bool vmop_inline_index_find(struct vmop_inline_index *index, uint64_t offset,
			    const char *ret_names[VMOP_INLINE_INDEX_MAX], size_t *ret_n)
{
	uint64_t address;
	*ret_n = 0;
	if (!find_address(index, offset, &address))
		return true;
	uint32_t unit = vmop_range_map_find(&index->map, address);
	return unit == VMOP_RANGE_NONE ||
	       find_in_unit(index, &index->units[unit], address, ret_names, ret_n);
}

/* ---- life ------------------------------------------------------------------- */

static void destroy_cleanup(struct vmop_inline_index **index)
{
	vmop_inline_index_destroy(*index);
}

static bool copy_loads(struct vmop_inline_index *index, const struct vmop_elf_file *layout)
{
	size_t len_bytes = layout->n_loads * sizeof(*index->loads);
	if (!vmop_sym_budget_take_memory(index->budget, len_bytes))
		return false;
	index->n_loads = layout->n_loads;
	index->loads = malloc(len_bytes ? len_bytes : 1);
	if (!index->loads)
		return vmop_sym_budget_spend(index->budget, VMOP_SYM_COST_MEMORY);
	memcpy(index->loads, layout->loads, len_bytes);
	return true;
}

struct vmop_error *vmop_inline_index_create(const struct vmop_elf_file *dwarf,
					    const struct vmop_elf_file *layout,
					    struct vmop_inline_index **ret)
{
	_cleanup_(destroy_cleanup) struct vmop_inline_index *index = calloc(1, sizeof(*index));
	*ret = NULL;
	if (!index)
		return &vmop_error_no_memory;
	index->budget = dwarf->budget;
	struct vmop_error *err = vmop_debug_sections_read(dwarf, &index->sections);
	if (err || !index->sections.bytes)
		return err;
	elf_version(EV_CURRENT);
	index->elf = elf_memory(index->sections.bytes, index->sections.len_bytes);
	index->dwarf = index->elf ? dwarf_begin_elf(index->elf, DWARF_C_READ, NULL) : NULL;
	if (!index->dwarf)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: its DWARF is damaged", dwarf->path);
	if (!copy_loads(index, layout) || !read_units(index))
		return vmop_sym_budget_error(index->budget, dwarf->path);
	*ret = vmop_steal(&index);
	return NULL;
}

void vmop_inline_index_destroy(struct vmop_inline_index *index)
{
	if (!index)
		return;
	struct vmop_sym_budget *budget = index->budget;
	for (size_t i = 0; i < index->n_units; i++) {
		struct unit *unit = &index->units[i];
		vmop_range_map_deinit(&unit->map, budget);
		vmop_sym_budget_give_memory(budget, unit->capacity * sizeof(*unit->nodes));
		free(unit->nodes);
	}
	vmop_sym_budget_give_memory(budget, index->unit_capacity * sizeof(*index->units) +
						    index->n_loads * sizeof(*index->loads) +
						    index->libdw_bytes);
	vmop_range_map_deinit(&index->map, budget);
	free(index->units);
	free(index->loads);
	dwarf_end(index->dwarf);
	elf_end(index->elf);
	vmop_debug_sections_deinit(&index->sections, budget);
	free(index);
}
