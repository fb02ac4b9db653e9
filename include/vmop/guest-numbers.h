// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The numbers of a guest's kernel by which the task, the page and the stacks of a sample are found.
 * libguest finds them in the guest's memory; the BPF program on the sampling events uses them.
 */
#ifndef VMOP_GUEST_NUMBERS_H
#define VMOP_GUEST_NUMBERS_H

#include <stdint.h>

/*
 * Numbers of a guest's kernel, from its symbols and BTF. Addresses are the guest's virtual ones
 * unless they are named gpa. An address or offset of 0 (VMOP_GUEST_NO_OFFSET for offsets that can
 * be 0) is not known, and the parts that need it are left out.
 */
#define VMOP_GUEST_NO_OFFSET UINT32_MAX
struct vmop_guest_numbers {
	uint64_t generation;		       /* not 0; repeated in contexts */
	uint64_t kernel_page_table_gpa;	       /* init_top_pgt, swapper_pg_dir */
	uint64_t direct_map, direct_map_bytes; /* the kernel's map of all RAM: page_offset_base */
	uint64_t direct_map_gpa;	       /* of its first byte; 0 on x86-64 */
	/*
	 * The address that the struct page of gpa 0 has, or would have. The struct page of any gpa
	 * is at vmemmap + (gpa >> page_shift) * page_bytes, modulo 2^64.
	 */
	uint64_t vmemmap;
	uint64_t per_cpu_offsets;    /* the array __per_cpu_offset */
	uint64_t current_in_per_cpu; /* pcpu_hot.current_task, current_task or __entry_task */
	/*
	 * As above for a pointer to the CPU's stack for interrupts: to its end, or (from 5.12 on)
	 * 8 bytes before. Its end is at a multiple of a page. x86-64 only.
	 */
	uint64_t irq_stack_in_per_cpu;
	uint32_t n_cpus; /* entries of per_cpu_offsets */
	/* Offsets in the guest's structs. */
	uint32_t page_bytes, page_compound_head, page_mapping, page_index;
	uint32_t mapping_host;					   /* struct address_space */
	uint32_t inode_number, inode_superblock, inode_generation; /* struct inode */
	uint32_t task_pid, task_tgid, task_group_leader, task_comm, task_start_time;
	uint32_t task_stack;
	uint32_t task_mm, mm_pgd; /* where the host can't read the page table's address (VMX) */
	uint32_t stack_bytes;	  /* of a kernel stack: THREAD_SIZE */
	/*
	 * From the end of the registers of user code in struct pt_regs to the end of the stack: the
	 * whole struct on x86-64, struct user_pt_regs on arm64.
	 */
	uint32_t entry_regs_end;
	/* Wanted windows; 0: no stacks. At most the limits in vmop/guest-context.h. */
	uint32_t kernel_window_bytes, user_window_bytes;
	uint8_t page_shift; /* of the guest's pages: 12, 14, 16 */
	/* arm64: bits of address in each half, 36 to 52 */
	uint8_t kernel_va_bits, user_va_bits;
	/*
	 * A word with bit 0 at page_compound_head is that of a folio's tail page. It is the
	 * address of the head + 1 or, where this is not 0, a mask (compound_info, Linux 7): the
	 * head is at the tail's address & the word.
	 */
	uint8_t page_compound_is_mask;
};

#endif
