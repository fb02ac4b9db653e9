// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/inline-index.h"

#include <dwarf.h>
#include <stdlib.h>

#include "libsym/dwarf/units.h"
#include "libutil/cleanup.h"

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
	bool is_indexed;
	struct vmop_range_map map; /* to nodes */
	struct node *nodes;
	size_t n_nodes, capacity;
};

struct vmop_inline_index {
	struct vmop_dwarf_units units;
	struct unit *indexed; /* by unit */
	uint64_t base;	      /* of offsets */
};

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
	struct vmop_sym_budget *budget = walk->index->units.budget;
	if (!vmop_dwarf_reserve(budget, &unit->nodes, &unit->capacity, unit->n_nodes,
				sizeof(*unit->nodes)))
		return false;
	uint32_t node = (uint32_t)unit->n_nodes++;
	unit->nodes[node] = (struct node){.entry = dwarf_dieoffset(die), .parent = parent};
	return vmop_dwarf_add_ranges(budget, die, depth, node, &unit->map) &&
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
		if (!vmop_sym_budget_take_steps(walk->index->units.budget,
						VMOP_DWARF_STEPS_PER_ENTRY) ||
		    !walk_entry(walk, &die, node, depth))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

/* Make the map of a unit. */
static bool walk_unit(struct vmop_inline_index *index, struct unit *unit)
{
	Dwarf_Off entry = index->units.entries[unit - index->indexed];
	struct walk walk = {.index = index, .unit = unit};
	Dwarf_Die die;
	return !dwarf_offdie(index->units.dwarf, entry, &die) ||
	       (walk_children(&walk, &die, VMOP_RANGE_NONE, 0) &&
		vmop_range_map_finish(&unit->map, index->units.budget));
}

/*
 * Make the map of a unit, and charge what the process grew by: libdw keeps the abbreviations of
 * each unit, which can be the same ones in the file. Without enough budget, the unit has no inlined
 * functions.
 */
static bool index_unit(struct vmop_inline_index *index, struct unit *unit)
{
	uint64_t before_bytes = vmop_dwarf_resident_bytes();
	unit->is_indexed = true;
	bool is_done = walk_unit(index, unit);
	uint64_t after_bytes = vmop_dwarf_resident_bytes();
	return (after_bytes <= before_bytes ||
		vmop_dwarf_units_charge(&index->units, after_bytes - before_bytes)) &&
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
	if (!dwarf_offdie(index->units.dwarf, node->entry, &die))
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
		vmop_range_map_deinit(&unit->map, index->units.budget);
		return false;
	}
	uint32_t at = vmop_range_map_find(&unit->map, address);
	while (at != VMOP_RANGE_NONE && unit->nodes[at].parent != VMOP_RANGE_NONE &&
	       *ret_n < VMOP_INLINE_INDEX_MAX) {
		ret_names[(*ret_n)++] = read_name(index, &unit->nodes[at]);
		at = unit->nodes[at].parent;
	}
	return vmop_sym_budget_take_steps(index->units.budget,
					  VMOP_DWARF_STEPS_PER_ENTRY * (*ret_n + 1));
}

void vmop_inline_index_set_base(struct vmop_inline_index *index, uint64_t base)
{
	index->base = base;
}

bool vmop_inline_index_find(struct vmop_inline_index *index, uint64_t offset,
			    const char *ret_names[VMOP_INLINE_INDEX_MAX], size_t *ret_n)
{
	uint64_t address;
	*ret_n = 0;
	uint32_t unit = vmop_dwarf_units_find(&index->units, index->base + offset, &address);
	return unit == VMOP_RANGE_NONE ||
	       find_in_unit(index, &index->indexed[unit], address, ret_names, ret_n);
}

/* ---- life ------------------------------------------------------------------- */

static void destroy_cleanup(struct vmop_inline_index **index)
{
	vmop_inline_index_destroy(*index);
}

struct vmop_error *vmop_inline_index_create(const struct vmop_elf_file *dwarf,
					    const struct vmop_elf_file *layout,
					    struct vmop_inline_index **ret)
{
	_cleanup_(destroy_cleanup) struct vmop_inline_index *index = calloc(1, sizeof(*index));
	*ret = NULL;
	if (!index)
		return &vmop_error_no_memory;
	struct vmop_dwarf_units *units = &index->units;
	struct vmop_error *err = vmop_dwarf_units_init(units, dwarf, layout, VMOP_DEBUG_FUNCTIONS);
	if (err || !units->dwarf)
		return err;
	if (!vmop_dwarf_units_charge(units, units->n * sizeof(*index->indexed)))
		return vmop_sym_budget_error(units->budget, dwarf->path);
	index->indexed = calloc(units->n + 1, sizeof(*index->indexed));
	if (!index->indexed)
		return &vmop_error_no_memory;
	*ret = vmop_steal(&index);
	return NULL;
}

void vmop_inline_index_destroy(struct vmop_inline_index *index)
{
	if (!index)
		return;
	struct vmop_sym_budget *budget = index->units.budget;
	for (size_t i = 0; index->indexed && i < index->units.n; i++) {
		struct unit *unit = &index->indexed[i];
		vmop_range_map_deinit(&unit->map, budget);
		vmop_sym_budget_give_memory(budget, unit->capacity * sizeof(*unit->nodes));
		free(unit->nodes);
	}
	free(index->indexed);
	vmop_dwarf_units_deinit(&index->units);
	free(index);
}
