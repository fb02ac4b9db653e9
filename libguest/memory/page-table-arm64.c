// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/page-table-arm64.h"

#include <endian.h>
#include <string.h>

#include "libguest/memory/memory.h"

#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define VALID UINT64_C(1)
#define TABLE_OR_PAGE UINT64_C(2)
#define LAST_LEVEL 3

/* Return a mask of bits high down to low. */
static uint64_t bits(unsigned int high, unsigned int low)
{
	return (UINT64_MAX >> (63 - high)) & (UINT64_MAX << low);
}

bool vmop_arm64_paging(unsigned int page_shift, unsigned int va_bits, uint64_t root_gpa,
		       bool is_upper_half, struct vmop_paging *ret)
{
	if ((page_shift != 12 && page_shift != 14 && page_shift != 16) || va_bits < 36 ||
	    va_bits > 52)
		return false;
	unsigned int stride = page_shift - 3;
	*ret = (struct vmop_paging){
		.arch = VMOP_PAGING_ARM64,
		.levels = (va_bits - page_shift + stride - 1) / stride,
		.root_gpa = root_gpa,
		.page_shift = page_shift,
		.va_bits = va_bits,
		.is_upper_half = is_upper_half,
	};
	return true;
}

/* Return whether output addresses have 52 bits with small pages (TCR_EL1.DS; see the header). */
static bool has_lpa2(const struct vmop_paging *paging)
{
	return paging->page_shift < 16 && paging->va_bits == 52;
}

/* Return the address in a descriptor, aligned to the granule (D8.3.1). */
static uint64_t output_address(const struct vmop_paging *paging, uint64_t descriptor)
{
	unsigned int low = paging->page_shift;
	if (low == 16)
		return (descriptor & bits(47, 16)) | (descriptor & bits(15, 12)) << 36;
	if (has_lpa2(paging))
		return (descriptor & bits(49, low)) | (descriptor & bits(9, 8)) << 42;
	return descriptor & bits(47, low);
}

/*
 * Return whether an entry of a level can be a block (D8.3.1.2): 1 GiB and 2 MiB, 32 MiB, or 512
 * MiB, and one larger size with 52-bit outputs.
 */
static bool can_be_block(const struct vmop_paging *paging, int level)
{
	switch (paging->page_shift) {
	case 12:
		return level == 1 || level == 2 || (level == 0 && has_lpa2(paging));
	case 14:
		return level == 2 || (level == 1 && has_lpa2(paging));
	default:
		return level == 2 || level == 1;
	}
}

/* Return whether address is in the half of paging. */
static bool is_in_half(const struct vmop_paging *paging, uint64_t address)
{
	uint64_t high = address & bits(55, paging->va_bits);
	return high == (paging->is_upper_half ? bits(55, paging->va_bits) : 0);
}

static bool load_descriptor(struct vmop_guest_space *space, uint64_t gpa, uint64_t *ret)
{
	const uint8_t *page = vmop_guest_memory_page(space->memory, gpa);
	if (!page)
		return false;
	memcpy(ret, page + gpa % PAGE, sizeof(*ret));
	*ret = le64toh(*ret);
	return true;
}

bool vmop_arm64_walk(struct vmop_guest_space *space, uint64_t address, struct vmop_arm64_leaf *ret)
{
	const struct vmop_paging *paging = &space->paging;
	unsigned int stride = paging->page_shift - 3;
	uint64_t table = paging->root_gpa & ~UINT64_C(7);
	ret->page_bytes = UINT64_C(1) << paging->page_shift;
	if (!is_in_half(paging, address))
		return false;
	address &= bits(paging->va_bits - 1, 0);
	for (int level = LAST_LEVEL + 1 - (int)paging->levels;; level++) {
		unsigned int shift =
			paging->page_shift + stride * (unsigned int)(LAST_LEVEL - level);
		uint64_t index = address >> shift & bits(stride - 1, 0);
		uint64_t descriptor;
		ret->page_bytes = UINT64_C(1) << shift;
		if (!load_descriptor(space, table + 8 * index, &descriptor) ||
		    !(descriptor & VALID))
			return false;
		table = output_address(paging, descriptor);
		if (level < LAST_LEVEL && (descriptor & TABLE_OR_PAGE))
			continue;
		if (level < LAST_LEVEL ? !can_be_block(paging, level)
				       : !(descriptor & TABLE_OR_PAGE))
			return false;
		ret->gpa = (table & ~(ret->page_bytes - 1)) | (address & (ret->page_bytes - 1));
		ret->descriptor = descriptor;
		return true;
	}
}
