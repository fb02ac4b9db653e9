// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page tables of x86-64: 4 or 5 levels.
 *
 * Source: Intel's SDM 3A, 4.5 (4-level and 5-level paging).
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_TABLES_X86_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_TABLES_X86_BPF_H

enum { ENTRY_BITS = 9 /* of an address, for each level of tables */ };

#define ENTRY_ADDRESS UINT64_C(0x000ffffffffff000)
#define ROOT_ADDRESS ENTRY_ADDRESS
#define ENTRY_PRESENT UINT64_C(1)
#define ENTRY_IS_PAGE UINT64_C(0x80)

/* Return the number of the piece of memory around an address that a table of a level maps. */
static __always_inline uint64_t region_of(uint64_t address, int level)
{
	return address >> ((PAGE_SHIFT + ENTRY_BITS * level) & 63);
}

static __always_inline bool maps(const struct last_table *last, uint64_t root, uint64_t address,
				 int level)
{
	return last->root == root && last->region == region_of(address, level);
}

static __always_inline void remember(struct last_table *last, uint64_t root, uint64_t region,
				     uint64_t gpa)
{
	last->root = root;
	last->region = region;
	last->gpa = gpa;
}

static __always_inline struct last_walk *last_walk(struct guest_work *work)
{
	uint32_t area = work->area;
	barrier_var(area); /* the verifier follows one comparison with a constant, no other */
	return &work->last[area < N_AREAS ? area : 0];
}

/* Take work->entry, which maps the address at a level. */
static __always_inline int end_walk(struct guest_work *work, uint64_t address, int level)
{
	struct last_walk *last = last_walk(work);
	uint64_t mask = (UINT64_C(1) << ((PAGE_SHIFT + ENTRY_BITS * (level - 1)) & 63)) - 1;
	work->gpa = (work->entry & ENTRY_ADDRESS & ~mask) | (address & mask);
	last->root = work->root;
	last->page = address & ~(uint64_t)(PAGE_BYTES - 1);
	last->gpa = work->gpa & ~(uint64_t)(PAGE_BYTES - 1);
	return find_address(work, work->gpa);
}

/* Walk the page table work->root: set work->gpa and work->address of a virtual address. */
__attribute__((noinline)) int walk_tables(uint64_t address)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_SLOT;
	uint64_t table = work->root & ENTRY_ADDRESS;
	struct last_walk *last = last_walk(work);
	int level = work->n_levels;
	if (last->root == work->root && last->page == (address & ~(uint64_t)(PAGE_BYTES - 1))) {
		work->gpa = last->gpa | (address & (PAGE_BYTES - 1));
		return find_address(work, work->gpa);
	}
	if (maps(&last->lowest, work->root, address, 1)) {
		table = last->lowest.gpa;
		level = 1;
	} else if (maps(&last->second, work->root, address, 2)) {
		table = last->second.gpa;
		level = 2;
	}
	for (int i = 0; i < MAX_LEVELS && level > 0; i++, level--) {
		barrier_var(work); /* addresses in it are computed, not kept on the stack */
		uint64_t index = region_of(address, level - 1) & ((1 << ENTRY_BITS) - 1);
		int gap = find_address(work, table + index * sizeof(work->entry));
		if (gap)
			return gap;
		if (bpf_probe_read_user(&work->entry, sizeof(work->entry),
					(const void *)work->address))
			return VMOP_GUEST_GAP_ABSENT;
		if (!(work->entry & ENTRY_PRESENT))
			return VMOP_GUEST_GAP_NOT_MAPPED;
		table = work->entry & ENTRY_ADDRESS;
		if (level == 1 || (level <= 3 && work->entry & ENTRY_IS_PAGE))
			return end_walk(work, address, level);
		if (level == 2)
			remember(&last_walk(work)->lowest, work->root, region_of(address, 1),
				 table);
		else if (level == 3)
			remember(&last_walk(work)->second, work->root, region_of(address, 2),
				 table);
	}
	return VMOP_GUEST_GAP_NOT_MAPPED;
}

/*
 * Read the entries of up to n pages that follow an address into work->entries, as far as they are
 * in the last table, if that one is known: they are neighbours.
 */
static __always_inline void read_next_entries(struct guest_work *work, uint64_t address, uint32_t n)
{
	const struct last_table *last = &last_walk(work)->lowest;
	uint64_t next = address + PAGE_BYTES;
	if (!n || !maps(last, work->root, next, 1))
		return;
	uint32_t index = next >> PAGE_SHIFT & ((1 << ENTRY_BITS) - 1);
	if (n > (1 << ENTRY_BITS) - index)
		n = (1 << ENTRY_BITS) - index;
	if (n > N_ENTRIES)
		n = N_ENTRIES;
	barrier_var(n); /* the compiler knows its bound, the verifier does not */
	if (find_address(work, last->gpa + index * sizeof(uint64_t)) || n > N_ENTRIES)
		return;
	if (!bpf_probe_read_user(work->entries, n * sizeof(uint64_t), (const void *)work->address))
		work->n_entries = n;
}

/* Set work->gpa and work->address of the page of an entry. */
static __always_inline int use_entry(struct guest_work *work, uint64_t entry)
{
	if (!(entry & ENTRY_PRESENT))
		return VMOP_GUEST_GAP_NOT_MAPPED;
	work->gpa = entry & ENTRY_ADDRESS;
	return find_address(work, work->gpa);
}

#endif
