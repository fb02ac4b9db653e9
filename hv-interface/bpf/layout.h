// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The common ground of the daemon and the BPF program on the sampling events: the maps' values and
 * the record that the program puts into the ring. Both sides are built from one source, so that the
 * layouts have no versions. Machine-independent: fixed widths only.
 *
 * The program is compiled without the C library: only freestanding headers here.
 */
#ifndef VMOP_HV_INTERFACE_BPF_LAYOUT_H
#define VMOP_HV_INTERFACE_BPF_LAYOUT_H

#include "hv-interface/bpf/unwind-maps.h"
#include "vmop/guest-context.h"
#include "vmop/guest-numbers.h"

/* Bounds of the maps. Mappings take 4 MiB; tables take memory as they are put. */
enum {
	VMOP_BPF_MAX_TABLES = 4096,
	VMOP_BPF_MAX_PROCESSES = 16384,
	VMOP_BPF_MAPPING_BITS = 17,
	VMOP_BPF_MAX_MAPPINGS = 1 << VMOP_BPF_MAPPING_BITS,
	VMOP_BPF_MAX_FRAMES = 128, /* in a record: VMOP_STACK_FRAMES_MAX callers, and the leaf */
};

/*
 * A table is an array of pages, so that one look-up of the map reaches many rows. It begins with
 * VMOP_BPF_TABLE_WORDS, which the directory follows: a word for each block of the text, which
 * refers to the block's rows. The rows of a block lie in one page, in their order. Pages of rules
 * end the table.
 */
enum {
	VMOP_BPF_PAGE_BYTES = 4096,
	VMOP_BPF_PAGE_WORDS = VMOP_BPF_PAGE_BYTES / 8,
	VMOP_BPF_PAGE_ROWS = VMOP_BPF_PAGE_BYTES / 4,
	VMOP_BPF_RULE_BYTES = 32,
	VMOP_BPF_PAGE_RULES = VMOP_BPF_PAGE_BYTES / VMOP_BPF_RULE_BYTES,
};

/* The words at the beginning of a table. */
enum {
	VMOP_BPF_FIRST_BLOCK = 0,
	VMOP_BPF_N_BLOCKS = 1,
	VMOP_BPF_RULE_PAGE = 2, /* the first page of rules */
	VMOP_BPF_N_RULES = 3,
	VMOP_BPF_TABLE_WORDS = 4,
};

/*
 * A word of the directory: from bit 0 the page of the block's rows, the first row in it, the number
 * of rows, and the rule that holds from the block's start to its first row.
 */
enum {
	VMOP_BPF_DIR_PAGE_BITS = 20,
	VMOP_BPF_DIR_ROW_BITS = 10,
	VMOP_BPF_DIR_COUNT_BITS = 11,
	VMOP_BPF_DIR_ROW_SHIFT = VMOP_BPF_DIR_PAGE_BITS,
	VMOP_BPF_DIR_COUNT_SHIFT = VMOP_BPF_DIR_ROW_SHIFT + VMOP_BPF_DIR_ROW_BITS,
	VMOP_BPF_DIR_RULE_SHIFT = VMOP_BPF_DIR_COUNT_SHIFT + VMOP_BPF_DIR_COUNT_BITS,
};

#define VMOP_BPF_NO_RULE ((UINT32_C(1) << VMOP_UNWIND_RULE_BITS) - 1)

_Static_assert(VMOP_BPF_DIR_RULE_SHIFT + VMOP_UNWIND_RULE_BITS <= 64, "a word");
_Static_assert(1 << VMOP_UNWIND_BLOCK_BITS <= VMOP_BPF_PAGE_ROWS, "a block's rows fit a page");
_Static_assert(1 << VMOP_BPF_DIR_ROW_BITS == VMOP_BPF_PAGE_ROWS, "any row of a page");

union vmop_bpf_page {
	uint64_t words[VMOP_BPF_PAGE_WORDS];
	uint32_t rows[VMOP_BPF_PAGE_ROWS];
	struct {
		struct vmop_unwind_rule rule;
		uint8_t reserved[VMOP_BPF_RULE_BYTES - sizeof(struct vmop_unwind_rule)];
	} rules[VMOP_BPF_PAGE_RULES];
};

_Static_assert(sizeof(union vmop_bpf_page) == VMOP_BPF_PAGE_BYTES, "a page");

/* The value of a process: its mappings are [first, first + n) in the map of mappings. */
struct vmop_bpf_process {
	uint64_t generation;
	uint32_t first, n;
};

_Static_assert(sizeof(struct vmop_bpf_process) == 16, "a map's value");
_Static_assert(sizeof(struct vmop_unwind_mapping) == 32, "a map's value");

/* The fate of a sample at the program; the map of outcomes counts them. */
enum vmop_bpf_outcome {
	VMOP_BPF_UNWOUND,      /* the stack is in the ring */
	VMOP_BPF_NO_PROCESS,   /* not one of the map's, as kernel threads are not */
	VMOP_BPF_NO_REGISTERS, /* not those of a 64-bit program's user code */
	VMOP_BPF_NO_TABLE,     /* the table is absent or being built */
	VMOP_BPF_NO_RULE_HERE, /* a rule that the program can't follow, or none */
	VMOP_BPF_NO_MEMORY,    /* a part of the stack is not in memory */
	VMOP_BPF_NO_CODE,      /* a return address that is not in code */
	VMOP_BPF_NO_PROGRESS,  /* a frame that is not above its callee's */
	VMOP_BPF_CHANGED,      /* the process got other mappings meanwhile */
	VMOP_BPF_NOT_WRITTEN,  /* the ring refused the record, but for lack of room */
	VMOP_BPF_RING_FULL,    /* lost, and counted as such by perf */
	VMOP_BPF_N_OUTCOMES,
};

/*
 * The cookie of an event to which the program is attached: the event's index in the plan, the most
 * frames to find, and a flag.
 */
#define VMOP_BPF_COOKIE_EVENT_MASK UINT64_C(0xffff)
#define VMOP_BPF_COOKIE_FRAMES_SHIFT 16
#define VMOP_BPF_COOKIE_FRAMES_MASK UINT64_C(0x7f)
/* The kernel's software counts the event: its samples come in interrupts, but not in NMIs. */
#define VMOP_BPF_COOKIE_IS_SOFTWARE (UINT64_C(1) << 32)

/* The content of a record. */
enum vmop_bpf_kind {
	VMOP_BPF_HOST_STACK = 1, /* struct vmop_bpf_stack */
	VMOP_BPF_GUEST = 2,	 /* struct vmop_bpf_guest, in place of a guest's sample */
	/*
	 * struct vmop_bpf_guest, in front of a host's sample of a vCPU's thread, which follows in
	 * the ring: the state in which the guest left the vCPU.
	 */
	VMOP_BPF_GUEST_STATE = 3,
};

/*
 * A record in the ring, as PERF_SAMPLE_RAW of the CPU's BPF output event: in place of the sample of
 * perf's own. The kernel puts 32 bits of size before it, which align its 64-bit fields.
 */
struct vmop_bpf_stack {
	uint32_t kind; /* VMOP_BPF_HOST_STACK */
	uint16_t event;
	uint8_t end; /* enum vmop_stack_end: COMPLETE or DEPTH_LIMIT */
	uint8_t n_frames;
	uint32_t reserved; /* 0 */
	uint64_t period_events;
	uint64_t generation; /* vmop_unwind_maps_put_process */
	/* n_frames addresses of 64 bits follow: vmop_stack_capture.user_frames */
} __attribute__((packed));

_Static_assert(offsetof(struct vmop_bpf_stack, period_events) == 12, "aligned with the size");
_Static_assert(sizeof(struct vmop_bpf_stack) == 28, "aligned with the size");

/* A guest's context in the ring, aligned with the size before it. */
struct vmop_bpf_guest {
	uint32_t kind; /* VMOP_BPF_GUEST or VMOP_BPF_GUEST_STATE */
	uint16_t event;
	uint16_t reserved;  /* 0 */
	uint32_t len_bytes; /* vmop_guest_context_bytes() */
	uint64_t period_events;
	struct vmop_guest_context context;
	/* its windows follow */
} __attribute__((packed));

_Static_assert(offsetof(struct vmop_bpf_guest, period_events) == 12, "aligned with the size");
_Static_assert(offsetof(struct vmop_bpf_guest, context) == 20, "aligned with the size");

#define VMOP_BPF_MAX_VCPUS 8192 /* threads whose last vCPU is remembered */

/*
 * A piece of a struct that has all the members that are read; first is a multiple of 4. bytes is 0
 * if they are too far apart, or not known.
 */
struct vmop_bpf_span {
	uint32_t first, bytes;
};

struct vmop_bpf_spans {
	struct vmop_bpf_span task, page, inode;
};

#define VMOP_BPF_SPAN_MAX 1024 /* bytes */

/* The value of a guest in the map of guests, whose key is the VMM's pid. */
struct vmop_bpf_guest_value {
	struct vmop_guest_numbers numbers;
	struct vmop_bpf_spans spans; /* of the guest's structs, by the numbers */
};

/*
 * A filter of the VMMs in the map of guests, by the low bits of their pids. Another process can
 * have a bit too. It is an array's only value, which costs less to look up than a hash's.
 */
#define VMOP_BPF_VMM_BITS 4096

struct vmop_bpf_vmm_filter {
	uint64_t words[VMOP_BPF_VMM_BITS / 64];
};

/* The counters of a CPU: struct vmop_guest_maps_facts explains them. */
struct vmop_bpf_guest_counts {
	uint64_t n_samples, n_contexts, n_exited, n_ring_full, n_switching;
	uint64_t gaps[VMOP_GUEST_N_GAPS];
	uint64_t cost_ns;
};

/* The virtualisation that KVM uses on this host. */
enum vmop_bpf_virtualisation {
	VMOP_BPF_NO_KVM = 0,
	VMOP_BPF_SVM,
	VMOP_BPF_VMX,
	VMOP_BPF_PVM, /* guests run at CPL 3, and their page tables are shadowed */
	VMOP_BPF_ARM64,
};

#define VMOP_BPF_NO_FIELD UINT32_MAX

/*
 * Where the host's kernel keeps what the program reads: offsets in bytes, or VMOP_BPF_NO_FIELD.
 * host-layout.c finds them; the names are those of the kernel's structs and members.
 */
struct vmop_bpf_host_layout {
	uint32_t virtualisation; /* enum vmop_bpf_virtualisation */
	uint32_t page_shift;	 /* of the host's pages, in which KVM counts */
	/* struct task_struct */
	uint32_t task_preempt_notifiers, task_mm;
	/* struct kvm_vcpu, its preempt_notifier.link */
	uint32_t vcpu_notifier, vcpu_kvm, vcpu_id, vcpu_idx;
	/* arm64: task_struct.flags, perf_event.attr, kvm_vcpu and kvm_vcpu.arch, kvm.arch */
	uint32_t task_flags, event_attr;
	uint32_t vcpu_cpu, vcpu_mode, vcpu_context_regs, vcpu_hcr, vcpu_mmu;
	uint32_t kvm_mmu, kvm_is_protected;
	uint32_t vcpu_sp_el1, vcpu_tpidr_el1; /* of its sys_regs */
	uint32_t counters_are_nmis;	      /* bool: a counter interrupts masked code, too */
	/* kvm_vcpu.arch on x86 */
	uint32_t vcpu_regs, vcpu_rip, vcpu_regs_avail, vcpu_cr3, vcpu_cr4, vcpu_efer;
	uint32_t vcpu_handling_intr, vcpu_is_protected;
	uint32_t avail_rsp, avail_rip, avail_cr3; /* bits of regs_avail */
	/* struct vcpu_svm, and struct vmcb from its beginning */
	uint32_t svm_vmcb, svm_current_vmcb, svm_vmcb01;
	uint32_t vmcb_features, vmcb_cpl, vmcb_cr3, vmcb_gs_base, vmcb_kernel_gs_base;
	uint32_t vmx_loaded_vmcs, vmx_vmcs01; /* struct vcpu_vmx */
	uint32_t pvm_cpl;		      /* struct vcpu_pvm */
	/* struct kvm, kvm_memslots, kvm_memory_slot */
	uint32_t kvm_mm, kvm_users_count, kvm_memslots;
	uint32_t slots_generation, slots_node_idx, slots_tree;
	uint32_t slot_node, slot_base_gfn, slot_npages, slot_address, slot_flags;
};

/* Settings at the load: constants to the verifier, which removes unused code. */
struct vmop_bpf_settings {
	uint8_t unwinds_host, reads_guests, withholds_registers; /* bool: vmop_bpf_request */
	struct vmop_bpf_host_layout host;
};

#define VMOP_BPF_SETTINGS_SECTION ".rodata.settings"

#endif
