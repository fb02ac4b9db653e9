// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/vmas.h"

#include <endian.h>
#include <string.h>

#include "libguest/kernel/layout.h"
#include "libguest/memory/page-table.h"

#define MAX_VMAS (1u << 17)
#define MAX_NODES (1u << 16)
#define MAX_DEPTH 12 /* a maple tree of 64-bit ranges has at least 10 slots per node */
#define NODE_BYTES 256u
#define MAX_SLOTS 16u

struct walk {
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	vmop_guest_vma_fn *visit;
	void *arg;
	uint64_t last_end; /* addresses of mappings must rise */
	uint32_t vmas, nodes;
	bool ended, torn;
};

static uint64_t at(const struct walk *walk, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(walk->layout, field);
}

static void take_vma(struct walk *walk, uint64_t address)
{
	struct vmop_guest_space *space = walk->space;
	struct vmop_guest_raw_vma vma = {
		.address = address,
		.start = vmop_guest_space_u64(space, at(walk, address, VMOP_LAYOUT_VMA_START)),
		.end = vmop_guest_space_u64(space, at(walk, address, VMOP_LAYOUT_VMA_END)),
		.flags = vmop_guest_space_u64(space, at(walk, address, VMOP_LAYOUT_VMA_FLAGS)),
		.page_offset =
			vmop_guest_space_u64(space, at(walk, address, VMOP_LAYOUT_VMA_PGOFF)),
		.file = vmop_guest_space_u64(space, at(walk, address, VMOP_LAYOUT_VMA_FILE)),
	};
	if (space->fault || vma.start >= vma.end || vma.start < walk->last_end ||
	    vmop_guest_space_is_kernel(space, vma.end - 1) || ++walk->vmas > MAX_VMAS ||
	    !vmop_guest_budget_step(space->budget)) {
		walk->torn = true;
		return;
	}
	walk->last_end = vma.end;
	if (!walk->visit(&vma, walk->arg))
		walk->ended = true;
}

/* --- the list, to 6.0 ------------------------------------------------------------- */

static void walk_list(struct walk *walk, uint64_t mm)
{
	/* Addresses must rise, so a cycle ends the walk. */
	uint64_t vma = vmop_guest_space_u64(walk->space, at(walk, mm, VMOP_LAYOUT_MM_MMAP));
	while (vma && !walk->ended && !walk->torn) {
		take_vma(walk, vma);
		vma = vmop_guest_space_u64(walk->space, at(walk, vma, VMOP_LAYOUT_VMA_NEXT));
	}
}

/* --- the maple tree, from 6.1 -------------------------------------------------------- */

/* Return the type of an encoded node, in bits 3 to 6 (lib/maple_tree.c of 6.1). */
static unsigned int node_type(uint64_t encoded)
{
	return (encoded >> 3) & 15;
}

struct node_shape {
	uint32_t pivots, slots; /* offsets in the node */
	uint32_t slot_count;
	bool is_leaf;
};

static bool shape_of(const struct walk *walk, uint64_t encoded, struct node_shape *ret)
{
	const int32_t *value = walk->layout->value;
	int32_t type = (int32_t)node_type(encoded);
	ret->is_leaf = type == value[VMOP_LAYOUT_MAPLE_LEAF_TYPE];
	if (ret->is_leaf || type == value[VMOP_LAYOUT_MAPLE_RANGE_TYPE]) {
		ret->pivots = (uint32_t)value[VMOP_LAYOUT_MAPLE_RANGE_PIVOT];
		ret->slots = (uint32_t)value[VMOP_LAYOUT_MAPLE_RANGE_SLOT];
	} else if (type == value[VMOP_LAYOUT_MAPLE_ARANGE_TYPE]) {
		ret->pivots = (uint32_t)value[VMOP_LAYOUT_MAPLE_ARANGE_PIVOT];
		ret->slots = (uint32_t)value[VMOP_LAYOUT_MAPLE_ARANGE_SLOT];
	} else {
		return false;
	}
	/* A node has one pivot fewer than slots, and the pivots precede the slots. */
	if (ret->slots <= ret->pivots)
		return false;
	ret->slot_count = (ret->slots - ret->pivots) / 8 + 1;
	return ret->slot_count <= MAX_SLOTS && ret->slots + 8 * ret->slot_count <= NODE_BYTES;
}

static uint64_t load_u64(const uint8_t *raw, uint32_t offset)
{
	uint64_t value;
	memcpy(&value, raw + offset, sizeof(value));
	return le64toh(value);
}

static void walk_node(struct walk *walk, uint64_t encoded, uint64_t min, uint64_t max, int depth)
{
	uint8_t raw[NODE_BYTES];
	struct node_shape shape;
	if (depth > MAX_DEPTH || ++walk->nodes > MAX_NODES ||
	    !vmop_guest_budget_step(walk->space->budget) || !shape_of(walk, encoded, &shape) ||
	    !vmop_guest_space_read(walk->space, encoded & ~(uint64_t)(NODE_BYTES - 1), raw,
				   sizeof(raw))) {
		walk->torn = true;
		return;
	}
	uint64_t low = min;
	for (uint32_t i = 0; i < shape.slot_count && !walk->ended && !walk->torn; i++) {
		uint64_t high =
			i + 1 < shape.slot_count ? load_u64(raw, shape.pivots + 8 * i) : max;
		if (i > 0 && high == 0)
			high = max; /* unused pivots */
		uint64_t value = load_u64(raw, shape.slots + 8 * i);
		if (high > max || high < low) {
			walk->torn = true;
			return;
		}
		if (value && !shape.is_leaf)
			walk_node(walk, value, low, high, depth + 1);
		else if (value && (value & 3) == 0 &&
			 vmop_guest_space_is_kernel(walk->space, value))
			take_vma(walk, value);
		if (high == max)
			return;
		low = high + 1;
	}
}

static void walk_tree(struct walk *walk, uint64_t mm)
{
	uint64_t root = vmop_guest_space_u64(walk->space, at(walk, mm, VMOP_LAYOUT_MM_TREE_ROOT));
	if (!root || walk->space->fault)
		return;
	if ((root & 3) == 2 && root > 4096) /* include/linux/xarray.h: xa_is_node() */
		walk_node(walk, root, 0, UINT64_MAX, 0);
	else
		take_vma(walk, root);
}

bool vmop_guest_vmas_walk(struct vmop_guest_space *space, const struct vmop_layout *layout,
			  uint64_t mm, vmop_guest_vma_fn *visit, void *arg)
{
	struct walk walk = {.space = space, .layout = layout, .visit = visit, .arg = arg};
	vmop_guest_space_take_fault(space);
	if (vmop_layout_has(layout, VMOP_LAYOUT_MM_TREE_ROOT))
		walk_tree(&walk, mm);
	else
		walk_list(&walk, mm);
	bool counted =
		walk.ended || !vmop_layout_has(layout, VMOP_LAYOUT_MM_MAP_COUNT) ||
		vmop_guest_space_u32(space, at(&walk, mm, VMOP_LAYOUT_MM_MAP_COUNT)) == walk.vmas;
	return !vmop_guest_space_take_fault(space) && !walk.torn && counted;
}
