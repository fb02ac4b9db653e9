// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's memory for the BPF program: the guest's page tables, KVM's memory slots, and the
 * VMM's address space, in which the vCPU's thread runs. An address that is in no slot is not read.
 * A page that is not in the VMM's memory stays absent: the program can't fault.
 *
 * The functions are global, so that the verifier checks each of them once. They take scalars only,
 * and find the CPU's struct guest_work themselves. They return an enum vmop_guest_gap, 0 for none.
 *
 * A call of a helper costs far more than what it copies, so neighbouring fields are copied at once.
 * struct kept_facts has the facts that outlive a sample, and the reasons why they hold.
 *
 * Source: the slots are those of include/linux/kvm_host.h since Linux 5.17.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_MEMORY_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_MEMORY_BPF_H

enum {
	PAGE_SHIFT = 12, /* of the smallest page of a table */
	PAGE_BYTES = 1 << PAGE_SHIFT,
	MAX_LEVELS = 5,
	N_SAVED_WORDS = 40,  /* at least those of any machine's struct pt_regs */
	N_ENTRIES = 4,	     /* of a page table, that are read at once */
	READ_MAX = 1024,     /* bytes of a guest's struct that are read at once */
	MAX_SLOT_DEPTH = 32, /* a red-black tree of 32,767 slots has at most 30 levels */
	/* The windows' bytes: each page is copied as a whole, hence the rest. */
	WINDOWS_MAX = VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX + VMOP_GUEST_KERNEL_WINDOW_MAX +
		      VMOP_GUEST_USER_WINDOW_MAX,
	WINDOWS_BYTES = WINDOWS_MAX + PAGE_BYTES,
};

/* Longer than the pause between samples, and too short to end a VM and make another. */
#define KEPT_NS UINT64_C(20000000)
#define NO_ROOT UINT64_MAX
#define SLOT_INVALID UINT32_C(0x10000) /* KVM_MEMSLOT_INVALID: being removed */

/* KVM's slots count pages of the host. */
#if defined(__TARGET_ARCH_x86)
#define SLOT_SHIFT PAGE_SHIFT
#else
#define SLOT_SHIFT (HOST.page_shift & 63)
#endif

/* A memory slot: guest-physical pages from the first one on, and the VMM's address of them. */
struct slot {
	uint64_t first, n, address;
};

/* The areas of addresses of which the last walk is remembered. */
enum area {
	CODE_AREA, /* and the user's stack: by the process's page table */
	TASK_AREA, /* the kernel's data */
	PAGE_AREA, /* the kernel's array of struct page */
	N_AREAS,
};

/*
 * A table of the last walk, which maps the 2 MiB, or the 1 GiB, around an address; more where pages
 * are larger.
 */
struct last_table {
	uint64_t root, region, gpa;
};

struct last_walk {
	struct last_table lowest, second; /* levels 1 and 2 */
	uint64_t root, page, gpa;	  /* of the last page of this sample */
};

/* The geometry of one half of the addresses: arm64's halves may differ. */
struct half {
	uint32_t page_shift, va_bits;
};

/*
 * The facts that a CPU's sample leaves for the next one. KVM puts a notifier, which is a part of
 * the vCPU, only into a task of the guest's own process: the three addresses show that they are the
 * accepted ones. The other facts hold for KEPT_NS, for the same VMM and the same kernel of its
 * guest.
 */
struct kept_facts {
	uint64_t task, vcpu, kvm;   /* that is_kvm_of accepted */
	uint32_t vcpu_id, vcpu_idx; /* KVM's number, and the rank among the VM's vCPUs */
	bool is_protected;	    /* by encryption, which is decided when the vCPU is made */
	uint32_t pid;
	uint64_t generation; /* of the numbers */
	uint64_t used_ns;
	/* The base of a CPU's data in the guest's kernel, which never changes. 0: not known. */
	uint64_t per_cpu;
	uint32_t per_cpu_of; /* CPU */
	/* From a struct inode to its own mapping (i_data), as the last file had it. 0: not known.
	 */
	uint32_t mapping_in_inode;
	/* The last process whose page table was looked up; it has one for its life. 0: none. */
	uint64_t mm, mm_root;
};

/* The program's state on a CPU while it reads a guest. */
struct guest_work {
	uint32_t alignment;
	struct vmop_bpf_guest record;
	uint8_t windows[WINDOWS_BYTES]; /* of the record */
	uint32_t windows_bytes;
	uint32_t n_levels;	    /* of the guest's page tables */
	uint64_t kvm, slots;	    /* addresses of struct kvm and kvm_memslots */
	uint64_t slots_generation;  /* of the two slots below */
	struct slot slot, old_slot; /* the last two that were used */
	/* The search for a slot: before 6.13, all functions share 512 bytes of stack. */
	struct slot found;
	uint64_t node;
	uint32_t node_index, slot_flags;
	uint64_t root; /* gpa of the page table in use */
	uint32_t area; /* enum area, of the addresses that are walked to */
	/* The kernel's tables outlive a sample, as it keeps them; the entry of a page does not. */
	struct last_walk last[N_AREAS];
	struct half half;      /* that a walk is in; here, because the stack has no room for it */
	uint64_t gpa, address; /* the result of a walk: guest-physical, and the VMM's */
	uint64_t entry;	       /* of a page table */
	/* Entries of the pages that follow, and how many of them were used. */
	uint64_t entries[N_ENTRIES];
	uint32_t n_entries, n_used;
	/* The result of a read; twice READ_MAX, so that the two bounds are enough for a verifier.
	 */
	union {
		uint64_t words[2 * READ_MAX / 8];
		uint32_t cells[2 * READ_MAX / 4];
	};
	uint64_t task_mm; /* of the task, or 0: none, or not known */
	uint64_t per_cpu; /* the base of the CPU's data in the guest's kernel, or 0 */
	uint64_t task;	  /* the current task, where a register has it, or 0 */
	uint64_t registers[N_SAVED_WORDS]; /* as KVM or the guest's kernel saved them */
	struct vmop_guest_numbers numbers;
	struct vmop_bpf_spans spans;
	struct kept_facts kept;
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

static __always_inline void forget_walk(struct last_walk *last)
{
	last->root = last->lowest.root = last->second.root = NO_ROOT;
}

/*
 * Begin to read the guest of a struct kvm. Slots that are known from earlier stay if they can: at
 * the sample's end, are_slots_current shows whether they could.
 */
static __always_inline void begin_memory(struct guest_work *work, uint64_t kvm, uint32_t pid,
					 uint64_t now_ns)
{
	struct kept_facts *kept = &work->kept;
	if (kvm != work->kvm || pid != kept->pid || now_ns - kept->used_ns > KEPT_NS ||
	    work->numbers.generation != kept->generation) {
		work->slots = work->slots_generation = 0;
		READ_KERNEL(work->slots, kvm + HOST.kvm_memslots);
		READ_KERNEL(work->slots_generation, work->slots + HOST.slots_generation);
		work->slot.n = work->old_slot.n = 0;
		forget_walk(&work->last[TASK_AREA]);
		forget_walk(&work->last[PAGE_AREA]);
		kept->per_cpu = kept->mm = kept->mapping_in_inode = 0;
	}
	work->kvm = kvm;
	kept->pid = pid;
	kept->used_ns = now_ns;
	kept->generation = work->numbers.generation;
	forget_walk(&work->last[CODE_AREA]);
	work->last[TASK_AREA].root = work->last[PAGE_AREA].root = NO_ROOT;
	work->windows_bytes = 0;
}

/* End it. False: the guest's memory changed its place meanwhile, so any value may have been read.
 */
static __always_inline bool end_memory(struct guest_work *work)
{
	bool is_current = are_slots_current(work);
	if (!is_current)
		work->kvm = 0;
	return is_current;
}

/*
 * Set work->slot to a page's slot: the one before, or that in the tree of slots. A slot may be
 * freed at any moment, and then any value is read. It counts only if the tree is still in use
 * afterwards.
 */
__attribute__((noinline)) int find_slot(uint64_t page)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_SLOT;
	if (is_in_slot(&work->old_slot, page)) {
		work->found = work->slot;
		work->slot = work->old_slot;
		work->old_slot = work->found;
		return 0;
	}
	work->node_index = work->slot_flags = 0;
	work->node = 0;
	READ_KERNEL(work->node_index, work->slots + HOST.slots_node_idx);
	READ_KERNEL(work->node, work->slots + HOST.slots_tree);
	/* A slot has two nodes, and is in the tree by one of them: struct rb_node has 24 bytes. */
	uint64_t node_at = HOST.slot_node + (work->node_index & 1) * 24;
	for (int i = 0; i < MAX_SLOT_DEPTH && work->node; i++) {
		barrier_var(work); /* addresses in it are computed, not kept on the stack */
		uint64_t at = work->node - node_at;
		struct slot *found = &work->found;
		found->first = found->n = 0;
		READ_KERNEL(found->first, at + HOST.slot_base_gfn);
		READ_KERNEL(found->n, at + HOST.slot_npages);
		if (is_in_slot(found, page)) {
			READ_KERNEL(found->address, at + HOST.slot_address);
			READ_KERNEL(work->slot_flags, at + HOST.slot_flags);
			if (work->slot_flags & SLOT_INVALID || !are_slots_current(work))
				return VMOP_GUEST_GAP_NO_SLOT;
			work->old_slot = work->slot;
			work->slot = *found;
			return 0;
		}
		/* The right child is the second word, the left one the third. */
		READ_KERNEL(work->node, work->node + (page < found->first ? 16 : 8));
	}
	return VMOP_GUEST_GAP_NO_SLOT;
}

/*
 * Set work->address to the VMM's address of a guest-physical one. Nearly all are in the last slot,
 * for which no function is called: this is done a few dozen times a sample.
 */
static __always_inline int find_address(struct guest_work *work, uint64_t gpa)
{
	uint64_t page = gpa >> SLOT_SHIFT;
	if (!is_in_slot(&work->slot, page)) {
		int gap = find_slot(page);
		if (gap)
			return gap;
	}
	work->address = work->slot.address + (gpa - (work->slot.first << SLOT_SHIFT));
	return 0;
}

#if defined(__TARGET_ARCH_x86)
#include "hv-interface/bpf/guest-tables-x86.bpf.h"
#else
#include "hv-interface/bpf/guest-tables-arm64.bpf.h"
#endif

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

/*
 * Copy up to READ_MAX bytes at a virtual address into work->words, which may be in two pages. The
 * rest of the first word is 0.
 */
__attribute__((noinline)) int read_guest(uint64_t address, uint32_t bytes)
{
	struct guest_work *work = guest_work();
	/* The verifier of 6.1 learns the bound from a comparison with a constant. */
	if (!work || bytes > READ_MAX)
		return VMOP_GUEST_GAP_NOT_MAPPED;
	uint32_t left = PAGE_BYTES - (address & (PAGE_BYTES - 1));
	int gap = translate(work, address);
	if (gap)
		return gap;
	work->words[0] = 0;
	if (bytes <= left)
		return bpf_probe_read_user(work->words, bytes, (const void *)work->address)
			       ? VMOP_GUEST_GAP_ABSENT
			       : 0;
	barrier_var(left); /* the compiler knows its bound, the verifier does not */
	left &= READ_MAX - 1;
	if (bpf_probe_read_user(work->words, left, (const void *)work->address))
		return VMOP_GUEST_GAP_ABSENT;
	gap = translate(work, address + left);
	if (gap)
		return gap;
	bytes -= left;
	barrier_var(bytes);
	if (bytes > READ_MAX)
		return VMOP_GUEST_GAP_NOT_MAPPED;
	return bpf_probe_read_user((uint8_t *)work->words + left, bytes,
				   (const void *)work->address)
		       ? VMOP_GUEST_GAP_ABSENT
		       : 0;
}

/* Copy a span of a struct at a virtual address, if the struct has one: member() finds it there. */
static __always_inline int read_span(uint64_t address, const struct vmop_bpf_span *span)
{
	return span->bytes ? read_guest(address + span->first, span->bytes) : 0;
}

/*
 * Set *ret to the 8 bytes at an offset in a struct: from the span that was copied last or, if the
 * members are too far apart for a span, from the guest's memory.
 */
static __always_inline int member(struct guest_work *work, uint64_t address,
				  const struct vmop_bpf_span *span, uint32_t offset, uint64_t *ret)
{
	if (span->bytes) {
		uint32_t at = (offset - span->first) / 4 & (READ_MAX / 4 - 1);
		*ret = work->cells[at] | (uint64_t)work->cells[at + 1] << 32;
		return 0;
	}
	int gap = read_guest(address + offset, 8);
	*ret = work->words[0];
	return gap;
}

/* Set work->address of a virtual address, whose entry may have been read already. */
static __always_inline int find_page(struct guest_work *work, uint64_t address)
{
	return work->n_used < work->n_entries
		       ? use_entry(work, work->entries[work->n_used++ % N_ENTRIES])
		       : translate(work, address);
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
	work->n_entries = work->n_used = 0;
	for (int i = 0; i < VMOP_GUEST_USER_WINDOW_MAX / PAGE_BYTES + 1 && copied < bytes; i++) {
		uint32_t n = PAGE_BYTES - (address & (PAGE_BYTES - 1));
		if (n > bytes - copied)
			n = bytes - copied;
		barrier_var(n); /* the compiler knows its bound, the verifier does not */
		int gap = find_page(work, address);
		uint64_t from = work->address;
		/* Read here, so that a register has it: Linux 6.1's verifier forgets a stored one.
		 */
		uint32_t at = *(volatile uint32_t *)&work->windows_bytes;
		if (gap || at > WINDOWS_MAX || n > PAGE_BYTES)
			break;
		if (bpf_probe_read_user(&work->windows[at], n, (const void *)from))
			break;
		work->windows_bytes = at + n;
		copied += n;
		if (!i)
			read_next_entries(work, address,
					  (bytes - copied + PAGE_BYTES - 1) / PAGE_BYTES);
		address += n;
	}
	return copied;
}

#endif
