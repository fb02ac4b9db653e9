// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state of a guest's vCPU at the very instant of a sample, as a BPF program on the sampling
 * event reads it from the vCPU's registers and the guest's memory (hv-interface/bpf/guest-maps.h).
 *
 * Everything here comes from the guest and is hostile: any value can be in any field. Only `parts`
 * and the lengths of the windows are the program's own, and are checked when a record is decoded.
 * Fixed widths: the program writes the struct, and the source passes it on in place.
 */
#ifndef VMOP_GUEST_CONTEXT_H
#define VMOP_GUEST_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

/* Registers in the machine's DWARF numbering (vmop/stack.h, VMOP_USER_REGS). */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define VMOP_GUEST_REGS 33
#else
#define VMOP_GUEST_REGS 17
#endif

/* The parts of a context that were captured; bits. */
enum vmop_guest_part {
	VMOP_GUEST_HAS_REGS = 1 << 0, /* regs, except the stack pointer */
	VMOP_GUEST_HAS_SP = 1 << 1,   /* the stack pointer in regs; VMX may not have it */
	VMOP_GUEST_HAS_PAGE_TABLE = 1 << 2,
	VMOP_GUEST_HAS_GPA = 1 << 3,   /* of the instruction */
	VMOP_GUEST_HAS_CODE = 1 << 4,  /* code_bytes of code */
	VMOP_GUEST_HAS_PAGE = 1 << 5,  /* mapping and index; user code only */
	VMOP_GUEST_HAS_INODE = 1 << 6, /* inode, superblock, inode_number, inode_generation */
	VMOP_GUEST_HAS_TASK = 1 << 7,  /* task and all that follows it up to comm */
	VMOP_GUEST_HAS_USER_REGS =
		1 << 8,		     /* user_regs: those with which user code entered the kernel */
	VMOP_GUEST_IS_USER = 1 << 9, /* the vCPU was in user mode (CPL 3, EL0) */
	VMOP_GUEST_IS_EXITED =
		1 << 10, /* the host was at work for the vCPU: VMOP_RECORD_GUEST_STATE */
	/*
	 * The kernel's code ran between its change of the page table and that of the current task.
	 * Only where the task's page table is known: page_table is the task's then.
	 */
	VMOP_GUEST_IS_SWITCHING = 1 << 11,
	VMOP_GUEST_ALL_PARTS = (1 << 12) - 1,
};

/* The reason why the first missing part is missing; counted by the program. */
enum vmop_guest_gap {
	VMOP_GUEST_GAP_NONE = 0,
	VMOP_GUEST_GAP_UNKNOWN_KERNEL, /* vmop_guest_maps_put has not been called for this guest */
	VMOP_GUEST_GAP_NESTED,	       /* the vCPU ran a guest of its own */
	VMOP_GUEST_GAP_ENCRYPTED,      /* SEV, SEV-ES, TDX */
	VMOP_GUEST_GAP_NO_REGISTERS, /* this CPU's virtualisation keeps them where BPF can't read */
	VMOP_GUEST_GAP_NOT_MAPPED,   /* an entry of the guest's page table is not present */
	VMOP_GUEST_GAP_NO_SLOT,	     /* a guest-physical address that is not RAM */
	VMOP_GUEST_GAP_ABSENT,	     /* the VMM's page is not in memory */
	VMOP_GUEST_GAP_NO_TASK,	     /* the current task's address is not one of the kernel's */
	/* User code ran with another page table than that of the task: it is another CPU's task. */
	VMOP_GUEST_GAP_OTHER_TASK,
	/* No register has a kernel's data: firmware or a boot loader runs, perhaps after a reset.
	 */
	VMOP_GUEST_GAP_BOOT,
	VMOP_GUEST_N_GAPS,
};

/* The windows: copies of pieces of stacks. Their bytes follow the context in this order. */
enum vmop_guest_window_kind {
	VMOP_GUEST_KERNEL_WINDOW, /* from the stack pointer up, or (unknown) the task's whole stack
				   */
	VMOP_GUEST_TASK_WINDOW, /* the top of the task's stack, where the first is on another stack
				 */
	VMOP_GUEST_USER_WINDOW, /* from the user stack pointer up */
	VMOP_GUEST_N_WINDOWS,
};

/* The most bytes of each window; lengths are multiples of 8. */
#define VMOP_GUEST_KERNEL_WINDOW_MAX 4096
#define VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX 16384 /* of the first one without VMOP_GUEST_HAS_SP */
#define VMOP_GUEST_USER_WINDOW_MAX 16384

struct vmop_guest_context {
	uint32_t parts; /* enum vmop_guest_part */
	uint8_t gap;	/* enum vmop_guest_gap */
	uint8_t code_bytes;
	uint16_t n_gap_parts; /* parts that the gap made missing; 0: none was */
	uint32_t vcpu;	      /* KVM's vcpu_id */
	uint32_t vmm_pid;
	uint64_t generation; /* of vmop_guest_numbers; 0: the guest's kernel is not known */
	uint64_t page_table; /* CR3 or TTBR0, without flags */
	uint64_t gpa;
	uint8_t code[16];
	/* struct page of the code, its head in a folio; index counts pages of 4 KiB, or the guest's
	 */
	uint64_t mapping, index;
	uint64_t inode, superblock; /* addresses in the guest's kernel */
	uint64_t inode_number;
	uint32_t inode_generation;
	uint32_t reserved;
	uint64_t task;
	uint64_t start_time_ns; /* of the group leader, as vmop_guest_process.start_time_ns */
	uint32_t pid, tid;	/* the guest's tgid and pid, in its initial namespace */
	char comm[16];		/* of the group leader; need not end with a 0 */
	uint64_t regs[VMOP_GUEST_REGS];
	uint64_t user_regs[VMOP_GUEST_REGS];
	uint64_t window_address[VMOP_GUEST_N_WINDOWS];
	uint32_t window_bytes[VMOP_GUEST_N_WINDOWS]; /* 0: none */
	uint32_t padding;
	/* the windows' bytes follow */
};

_Static_assert(sizeof(struct vmop_guest_context) % 8 == 0, "windows are aligned");

/* Return the offset of a window's bytes from the start of a context that was checked. */
static inline size_t vmop_guest_window_offset(const struct vmop_guest_context *context,
					      enum vmop_guest_window_kind kind)
{
	size_t at = sizeof(*context);
	for (unsigned i = 0; i < (unsigned)kind; i++)
		at += context->window_bytes[i];
	return at;
}

/* Return the bytes of a context with its windows. */
static inline size_t vmop_guest_context_bytes(const struct vmop_guest_context *context)
{
	return vmop_guest_window_offset(context, VMOP_GUEST_N_WINDOWS);
}

#endif
