// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/page-table.h"

#include <endian.h>
#include <string.h>

#include "libguest/memory/memory.h"
#include "libguest/memory/page-table-arm64.h"

#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define X86_PRESENT UINT64_C(1)
#define X86_LARGE (UINT64_C(1) << 7)
#define X86_ADDRESS UINT64_C(0x000ffffffffff000)

void vmop_guest_space_init(struct vmop_guest_space *space, struct vmop_guest_memory *memory,
			   struct vmop_guest_budget *budget, struct vmop_paging paging)
{
	space->memory = memory;
	space->budget = budget;
	space->paging = paging;
	space->fault = false;
	vmop_guest_space_forget(space);
}

void vmop_guest_space_forget(struct vmop_guest_space *space)
{
	memset(space->tlb_page, 0, sizeof(space->tlb_page));
}

struct vmop_paging vmop_paging_of_user(const struct vmop_paging *kernel, uint64_t pgd_gpa)
{
	struct vmop_paging paging = *kernel;
	paging.root_gpa = pgd_gpa;
	paging.is_upper_half = false;
	return paging;
}

static uint64_t load_u64(const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* An address is canonical when the bits above the walked ones repeat the highest of them. */
static bool x86_canonical(uint64_t address, unsigned int levels)
{
	unsigned int shift = 64 - (12 + 9 * levels);
	return (uint64_t)((int64_t)(address << shift) >> shift) == address;
}

/* Walk the tables of x86-64. Reads at most one entry per level, whatever the tables contain. */
static bool x86_walk(struct vmop_guest_space *space, uint64_t address, uint64_t *ret_gpa,
		     uint64_t *ret_page_bytes)
{
	uint64_t table = space->paging.root_gpa & X86_ADDRESS;
	*ret_page_bytes = PAGE;
	if (!x86_canonical(address, space->paging.levels))
		return false;
	for (unsigned int shift = 12 + 9 * (space->paging.levels - 1);; shift -= 9) {
		uint64_t page_bytes = *ret_page_bytes = UINT64_C(1) << shift;
		const uint8_t *page = vmop_guest_memory_page(space->memory, table);
		if (!page)
			return false;
		uint64_t entry = load_u64(page + ((address >> shift) & 511) * 8);
		if (!(entry & X86_PRESENT))
			return false;
		if (shift == 12 || (shift <= 30 && (entry & X86_LARGE))) {
			*ret_gpa = (entry & X86_ADDRESS & ~(page_bytes - 1)) |
				   (address & (page_bytes - 1));
			return true;
		}
		table = entry & X86_ADDRESS;
	}
}

bool vmop_guest_space_translate(struct vmop_guest_space *space, uint64_t address, uint64_t *ret_gpa,
				uint64_t *ret_left)
{
	uint64_t page_bytes;
	bool mapped;
	if (space->paging.arch == VMOP_PAGING_ARM64) {
		struct vmop_arm64_leaf leaf;
		mapped = vmop_arm64_walk(space, address, &leaf);
		page_bytes = leaf.page_bytes;
		if (mapped)
			*ret_gpa = leaf.gpa;
	} else {
		mapped = x86_walk(space, address, ret_gpa, &page_bytes);
	}
	if (ret_left)
		*ret_left = page_bytes - (address & (page_bytes - 1));
	return mapped;
}

/* Translate address through a cache of 4 KiB pages. */
static bool translate_page(struct vmop_guest_space *space, uint64_t address, uint64_t *ret_gpa)
{
	uint64_t number = address / PAGE;
	unsigned int slot = number % VMOP_GUEST_SPACE_TLB;
	if (space->tlb_page[slot] != number + 1) {
		uint64_t gpa;
		if (!vmop_guest_space_translate(space, address, &gpa, NULL))
			return false;
		space->tlb_page[slot] = number + 1;
		space->tlb_gpa[slot] = gpa & ~(PAGE - 1);
	}
	*ret_gpa = space->tlb_gpa[slot] | address % PAGE;
	return true;
}

static bool read_bytes(struct vmop_guest_space *space, uint64_t address, uint8_t *buf, size_t len)
{
	while (len) {
		uint64_t gpa, left = PAGE - address % PAGE;
		bool found = len <= left ? translate_page(space, address, &gpa)
					 : vmop_guest_space_translate(space, address, &gpa, &left);
		size_t chunk = len < left ? len : left;
		if (!found || !vmop_guest_memory_read(space->memory, gpa, buf, chunk))
			return false;
		buf += chunk, address += chunk, len -= chunk;
	}
	return true;
}

bool vmop_guest_space_read(struct vmop_guest_space *space, uint64_t address, void *buf,
			   size_t len_bytes)
{
	if (read_bytes(space, address, buf, len_bytes))
		return true;
	memset(buf, 0, len_bytes);
	space->fault = true;
	return false;
}

uint64_t vmop_guest_space_u64(struct vmop_guest_space *space, uint64_t address)
{
	uint64_t value;
	vmop_guest_space_read(space, address, &value, sizeof(value));
	return le64toh(value);
}

uint32_t vmop_guest_space_u32(struct vmop_guest_space *space, uint64_t address)
{
	uint32_t value;
	vmop_guest_space_read(space, address, &value, sizeof(value));
	return le32toh(value);
}

uint8_t vmop_guest_space_u8(struct vmop_guest_space *space, uint64_t address)
{
	uint8_t value;
	vmop_guest_space_read(space, address, &value, sizeof(value));
	return value;
}

void vmop_guest_space_string(struct vmop_guest_space *space, uint64_t address, char *ret,
			     size_t size)
{
	size_t have = 0;
	while (have < size - 1) {
		size_t chunk = PAGE - address % PAGE;
		if (chunk > size - 1 - have)
			chunk = size - 1 - have;
		if (chunk > 64)
			chunk = 64; /* most strings are short */
		if (!vmop_guest_space_read(space, address, ret + have, chunk)) {
			ret[0] = '\0';
			return;
		}
		if (memchr(ret + have, '\0', chunk))
			return;
		have += chunk, address += chunk;
	}
	ret[have] = '\0';
}
