// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page tables of arm64, as libguest/memory/page-table-arm64.h describes them: granules of 4, 16
 * and 64 KiB, 36 to 52 bits of address in each half, which has a root of its own.
 *
 * Source: Arm ARM, DDI 0487, D8.2 and D8.3.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_TABLES_ARM64_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_TABLES_ARM64_BPF_H

#define ROOT_ADDRESS UINT64_C(0x000ffffffffffff8)
#define ENTRY_VALID UINT64_C(1)
#define ENTRY_IS_TABLE UINT64_C(2) /* or a page, in the last table */

enum { LARGEST_PAGE_SHIFT = 16, LEAST_VA_BITS = 36, MOST_VA_BITS = 52 };

/* Return the bits of address for each table but the first. */
static __always_inline unsigned stride_of(const struct half *half)
{
	return half->page_shift - 3;
}

/* Describe the half of an address. False: no kernel has such tables, or it is in neither half. */
static __always_inline bool find_half(const struct guest_work *work, uint64_t address,
				      struct half *ret)
{
	bool is_upper = address >> 63;
	ret->page_shift = work->numbers.page_shift;
	ret->va_bits = is_upper ? work->numbers.kernel_va_bits : work->numbers.user_va_bits;
	return ret->page_shift >= PAGE_SHIFT && ret->page_shift <= LARGEST_PAGE_SHIFT &&
	       ret->va_bits >= LEAST_VA_BITS && ret->va_bits <= MOST_VA_BITS &&
	       !((is_upper ? ~address : address) >> ret->va_bits);
}

/* Return bits high down to low of a word, in their places. */
static __always_inline uint64_t bits_of(uint64_t word, unsigned high, unsigned low)
{
	return word & (UINT64_MAX >> (63 - high)) & (UINT64_MAX << low);
}

/* Return the address in an entry: with 52 bits, the highest ones are in the lower part. */
static __always_inline uint64_t output_address(const struct half *half, uint64_t entry)
{
	if (half->page_shift == LARGEST_PAGE_SHIFT)
		return bits_of(entry, 47, LARGEST_PAGE_SHIFT) | bits_of(entry, 15, 12) << 36;
	if (half->va_bits == MOST_VA_BITS)
		return bits_of(entry, 49, half->page_shift & 15) | bits_of(entry, 9, 8) << 42;
	return bits_of(entry, 47, half->page_shift & 15);
}

/* Return the number of the piece of memory around an address that a table of a level maps. */
static __always_inline uint64_t region_of(const struct half *half, uint64_t address, int level)
{
	return address >> ((half->page_shift + stride_of(half) * level) & 63);
}

static __always_inline bool maps(const struct half *half, const struct last_table *last,
				 uint64_t root, uint64_t address, int level)
{
	return last->root == root && last->region == region_of(half, address, level);
}

static __always_inline struct last_walk *last_walk(struct guest_work *work)
{
	uint32_t area = work->area;
	barrier_var(area); /* the verifier follows one comparison with a constant, no other */
	return &work->last[area < N_AREAS ? area : 0];
}

/* Remember the table of a level that a walk came to. */
static __always_inline void remember(struct last_walk *last, const struct half *half, uint64_t root,
				     uint64_t address, int level, uint64_t gpa)
{
	if (level > 2)
		return;
	struct last_table *table = level == 1 ? &last->lowest : &last->second;
	table->root = root;
	table->region = region_of(half, address, level);
	table->gpa = gpa;
}

/* Return the bits of address below those that a table of a level indexes, 1 for the last table. */
static __always_inline unsigned shift_of(const struct half *half, int level)
{
	return (half->page_shift + stride_of(half) * (level - 1)) & 63;
}

/* Walk the page table work->root: set work->gpa and work->address of a virtual address. */
__attribute__((noinline)) int walk_tables(uint64_t address)
{
	struct guest_work *work = guest_work();
	if (!work || !find_half(work, address, &work->half))
		return VMOP_GUEST_GAP_NOT_MAPPED;
	const struct half *half = &work->half;
	struct last_walk *last = last_walk(work);
	uint64_t table = work->root & ROOT_ADDRESS, offset = address & (PAGE_BYTES - 1);
	int level =
		(int)((half->va_bits - half->page_shift + stride_of(half) - 1) / stride_of(half));
	/* Each half has a root of its own. The first table may have fewer entries than the others.
	 */
	address = bits_of(address, (half->va_bits - 1) & 63, 0);
	if (last->root == work->root && last->page == address - offset) {
		work->gpa = last->gpa + offset;
		return find_address(work, work->gpa);
	}
	if (maps(half, &last->lowest, work->root, address, 1)) {
		table = last->lowest.gpa;
		level = 1;
	} else if (maps(half, &last->second, work->root, address, 2)) {
		table = last->second.gpa;
		level = 2;
	}
	for (int i = 0; i < MAX_LEVELS && level > 0; i++, level--) {
		uint64_t entry = 0, index = address >> shift_of(half, level);
		index &= (UINT64_C(1) << (stride_of(half) & 63)) - 1;
		int gap = find_address(work, table + index * sizeof(entry));
		if (gap)
			return gap;
		if (bpf_probe_read_user(&entry, sizeof(entry), (const void *)work->address))
			return VMOP_GUEST_GAP_ABSENT;
		if (!(entry & ENTRY_VALID) || (level == 1 && !(entry & ENTRY_IS_TABLE)))
			return VMOP_GUEST_GAP_NOT_MAPPED;
		table = output_address(half, entry);
		if (level == 1 || !(entry & ENTRY_IS_TABLE)) {
			uint64_t mask = (UINT64_C(1) << shift_of(half, level)) - 1;
			work->gpa = (table & ~mask) | (address & mask);
			last->root = work->root;
			last->page = address - offset;
			last->gpa = work->gpa - offset;
			return find_address(work, work->gpa);
		}
		remember(last, half, work->root, address, level - 1, table);
	}
	return VMOP_GUEST_GAP_NOT_MAPPED;
}

/* Pages that follow are walked to one by one: a larger page's pieces need no entry of their own. */
static __always_inline void read_next_entries(struct guest_work *work, uint64_t address, uint32_t n)
{
	(void)work;
	(void)address;
	(void)n;
}

static __always_inline int use_entry(struct guest_work *work, uint64_t entry)
{
	(void)work;
	(void)entry;
	return VMOP_GUEST_GAP_NOT_MAPPED;
}

#endif
