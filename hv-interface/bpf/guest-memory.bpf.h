// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's memory for the BPF program: the guest's page tables, KVM's memory slots, and the
 * VMM's address space, in which the vCPU's thread runs. An address that is in no slot is not read.
 * A page that is not in the VMM's memory stays absent: the program can't fault.
 *
 * The functions are global, so that the verifier checks each of them once. They take scalars only,
 * and find the CPU's struct guest_work themselves. They return an enum vmop_guest_gap, 0 for none.
 *
 * Sources: the page tables are those of Intel's SDM 3A, 4.5 (4-level and 5-level paging); the slots
 * are those of include/linux/kvm_host.h since Linux 5.17.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_MEMORY_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_MEMORY_BPF_H

enum {
	PAGE_SHIFT = 12, /* of KVM's slots, and the smallest page of a table */
	PAGE_BYTES = 1 << PAGE_SHIFT,
	ENTRY_BITS = 9, /* of an address, for each level of tables */
	MAX_LEVELS = 5,
	N_SAVED_WORDS = 40,  /* at least those of any machine's struct pt_regs */
	MAX_SLOT_DEPTH = 32, /* a red-black tree of 32,767 slots has at most 30 levels */
	/* The windows' bytes: each page is copied as a whole, hence the rest. */
	WINDOWS_MAX = VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX + VMOP_GUEST_KERNEL_WINDOW_MAX +
		      VMOP_GUEST_USER_WINDOW_MAX,
	WINDOWS_BYTES = WINDOWS_MAX + PAGE_BYTES,
};

#define ENTRY_ADDRESS UINT64_C(0x000ffffffffff000)
#define ENTRY_PRESENT UINT64_C(1)
#define ENTRY_IS_PAGE UINT64_C(0x80)
#define SLOT_INVALID UINT32_C(0x10000) /* KVM_MEMSLOT_INVALID: being removed */

/* A memory slot: guest-physical pages from the first one on, and the VMM's address of them. */
struct slot {
	uint64_t first, n, address;
};

/* The last table of a walk, which maps the 2 MiB around an address. */
struct last_table {
	uint64_t root, region, gpa;
};

/* What the program keeps on a CPU while it reads a guest. */
struct guest_work {
	uint32_t alignment;
	struct vmop_bpf_guest record;
	uint8_t windows[WINDOWS_BYTES]; /* of the record */
	uint32_t windows_bytes;
	uint32_t n_levels;	    /* of the guest's page tables */
	uint64_t kvm, slots;	    /* addresses of struct kvm and kvm_memslots */
	uint64_t slots_generation;  /* of the two slots below */
	struct slot slot, old_slot; /* the last two that were used */
	uint64_t root;		    /* gpa of the page table in use */
	struct last_table last[2];  /* of the lower and the upper half of addresses */
	uint64_t gpa, address;	    /* the result of a walk: guest-physical, and the VMM's */
	uint64_t words[2];	    /* the result of a read */
	uint64_t per_cpu;	    /* the base of the CPU's data in the guest's kernel, or 0 */
	uint64_t registers[N_SAVED_WORDS]; /* as KVM or the guest's kernel saved them */
	struct vmop_guest_numbers numbers;
};

_Static_assert(offsetof(struct guest_work, windows) == 4 + sizeof(struct vmop_bpf_guest), "no gap");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs: a per-CPU map's values end at 32 KiB */
	__type(key, uint32_t);
	__type(value, struct guest_work);
} guest_works SEC(".maps");

#define READ_KERNEL(to, address)                                                                   \
	bpf_probe_read_kernel(&(to), sizeof(to), (const void *)(uint64_t)(address))

static __always_inline struct guest_work *guest_work(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&guest_works, &cpu);
}

static __always_inline bool is_in_slot(const struct slot *slot, uint64_t page)
{
	return page - slot->first < slot->n;
}

/* Return whether the guest's slots are still those that the walk began with. */
static __always_inline bool are_slots_current(const struct guest_work *work)
{
	uint64_t slots = 0, generation = 0;
	READ_KERNEL(slots, work->kvm + HOST.kvm_memslots);
	READ_KERNEL(generation, slots + HOST.slots_generation);
	return slots && slots == work->slots && generation == work->slots_generation;
}

/* Begin to read the guest of a struct kvm. Slots that are known from earlier stay if they can. */
static __always_inline void begin_memory(struct guest_work *work, uint64_t kvm)
{
	uint64_t slots = 0, generation = 0;
	READ_KERNEL(slots, kvm + HOST.kvm_memslots);
	READ_KERNEL(generation, slots + HOST.slots_generation);
	if (kvm != work->kvm || slots != work->slots || generation != work->slots_generation)
		work->slot.n = work->old_slot.n = 0;
	work->kvm = kvm;
	work->slots = slots;
	work->slots_generation = generation;
	work->last[0].root = work->last[1].root = UINT64_MAX;
	work->windows_bytes = 0;
}

/*
 * Set work->slot to a page's slot: the one before, or that in the tree of slots. A slot may be
 * freed at any moment, and then any value is read. It counts only if the tree is still in use
 * afterwards.
 */
__attribute__((noinline)) int find_slot(uint64_t page)
{
	struct guest_work *work = guest_work();
	uint64_t node = 0;
	uint32_t index = 0, flags = 0;
	if (!work)
		return VMOP_GUEST_GAP_NO_SLOT;
	if (is_in_slot(&work->old_slot, page)) {
		struct slot slot = work->slot;
		work->slot = work->old_slot;
		work->old_slot = slot;
		return 0;
	}
	READ_KERNEL(index, work->slots + HOST.slots_node_idx);
	READ_KERNEL(node, work->slots + HOST.slots_tree);
	/* A slot has two nodes, and is in the tree by one of them: struct rb_node has 24 bytes. */
	uint64_t node_at = HOST.slot_node + (index & 1) * 24;
	for (int i = 0; i < MAX_SLOT_DEPTH && node; i++) {
		uint64_t at = node - node_at;
		struct slot slot = {};
		READ_KERNEL(slot.first, at + HOST.slot_base_gfn);
		READ_KERNEL(slot.n, at + HOST.slot_npages);
		if (is_in_slot(&slot, page)) {
			READ_KERNEL(slot.address, at + HOST.slot_address);
			READ_KERNEL(flags, at + HOST.slot_flags);
			if (flags & SLOT_INVALID || !are_slots_current(work))
				return VMOP_GUEST_GAP_NO_SLOT;
			work->old_slot = work->slot;
			work->slot = slot;
			return 0;
		}
		/* The right child is the second word, the left one the third. */
		READ_KERNEL(node, node + (page < slot.first ? 16 : 8));
	}
	return VMOP_GUEST_GAP_NO_SLOT;
}

/*
 * Set work->address to the VMM's address of a guest-physical one. Nearly all are in the last slot,
 * for which no function is called: this is done a few dozen times a sample.
 */
static __always_inline int find_address(struct guest_work *work, uint64_t gpa)
{
	uint64_t page = gpa >> PAGE_SHIFT;
	if (!is_in_slot(&work->slot, page)) {
		int gap = find_slot(page);
		if (gap)
			return gap;
	}
	work->address = work->slot.address + (gpa - (work->slot.first << PAGE_SHIFT));
	return 0;
}

/* Walk the page table work->root: set work->gpa and work->address of a virtual address. */
__attribute__((noinline)) int walk_tables(uint64_t address)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_SLOT;
	uint64_t table = work->root & ENTRY_ADDRESS, region = address >> (PAGE_SHIFT + ENTRY_BITS);
	struct last_table *last = address >> 63 ? &work->last[1] : &work->last[0];
	int level = work->n_levels;
	if (last->root == work->root && last->region == region) {
		table = last->gpa;
		level = 1;
	}
	for (int i = 0; i < MAX_LEVELS && level > 0; i++, level--) {
		unsigned shift = PAGE_SHIFT + ENTRY_BITS * (level - 1);
		uint64_t entry = 0, mask = (UINT64_C(1) << (shift & 63)) - 1;
		uint64_t index = address >> (shift & 63) & ((1 << ENTRY_BITS) - 1);
		int gap = find_address(work, table + index * sizeof(entry));
		if (gap)
			return gap;
		if (bpf_probe_read_user(&entry, sizeof(entry), (const void *)work->address))
			return VMOP_GUEST_GAP_ABSENT;
		if (!(entry & ENTRY_PRESENT))
			return VMOP_GUEST_GAP_NOT_MAPPED;
		if (level == 1 || (level <= 3 && entry & ENTRY_IS_PAGE)) {
			work->gpa = (entry & ENTRY_ADDRESS & ~mask) | (address & mask);
			return find_address(work, work->gpa);
		}
		table = entry & ENTRY_ADDRESS;
		if (level == 2) {
			last->root = work->root;
			last->region = region;
			last->gpa = table;
		}
	}
	return VMOP_GUEST_GAP_NOT_MAPPED;
}

/*
 * Set work->gpa and work->address of a virtual address by work->root. What the guest's kernel maps
 * directly needs no walk.
 */
static __always_inline int translate(struct guest_work *work, uint64_t address)
{
	uint64_t offset = address - work->numbers.direct_map;
	if (offset >= work->numbers.direct_map_bytes)
		return walk_tables(address);
	work->gpa = offset + work->numbers.direct_map_gpa;
	return find_address(work, work->gpa);
}

/* Copy up to 16 bytes at a virtual address into work->words, which may be in two pages. */
__attribute__((noinline)) int read_guest(uint64_t address, uint32_t bytes)
{
	struct guest_work *work = guest_work();
	/* Of one comparison with a constant, the verifier of 6.1 learns the bound. */
	if (!work || bytes > sizeof(work->words))
		return VMOP_GUEST_GAP_NOT_MAPPED;
	uint32_t left = PAGE_BYTES - (address & (PAGE_BYTES - 1));
	int gap = translate(work, address);
	if (gap)
		return gap;
	work->words[0] = work->words[1] = 0;
	if (bytes <= left)
		return bpf_probe_read_user(work->words, bytes, (const void *)work->address)
			       ? VMOP_GUEST_GAP_ABSENT
			       : 0;
	barrier_var(left); /* the compiler knows its bound, the verifier does not */
	left &= 15;
	if (bpf_probe_read_user(work->words, left, (const void *)work->address))
		return VMOP_GUEST_GAP_ABSENT;
	gap = translate(work, address + left);
	if (gap)
		return gap;
	bytes -= left;
	barrier_var(bytes);
	bytes &= 15;
	if (bytes > sizeof(work->words) - left)
		return VMOP_GUEST_GAP_NOT_MAPPED;
	return bpf_probe_read_user((uint8_t *)work->words + left, bytes,
				   (const void *)work->address)
		       ? VMOP_GUEST_GAP_ABSENT
		       : 0;
}

/*
 * Append bytes from a virtual address on to the record's windows, until the first page that can't
 * be read. Return the number of bytes, a multiple of 8.
 */
__attribute__((noinline)) int copy_window(uint64_t address, uint32_t bytes)
{
	struct guest_work *work = guest_work();
	uint32_t copied = 0;
	if (!work || address % 8 || bytes > VMOP_GUEST_USER_WINDOW_MAX)
		return 0;
	bytes &= ~7u;
	for (int i = 0; i < VMOP_GUEST_USER_WINDOW_MAX / PAGE_BYTES + 1 && copied < bytes; i++) {
		uint32_t n = PAGE_BYTES - (address & (PAGE_BYTES - 1));
		uint32_t at = work->windows_bytes;
		if (n > bytes - copied)
			n = bytes - copied;
		barrier_var(n); /* the compiler knows its bound, the verifier does not */
		if (translate(work, address) || at > WINDOWS_MAX || n > PAGE_BYTES)
			break;
		if (bpf_probe_read_user(&work->windows[at], n, (const void *)work->address))
			break;
		work->windows_bytes = at + n;
		copied += n;
		address += n;
	}
	return copied;
}

#endif
