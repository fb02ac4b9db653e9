// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers of a vCPU on arm64, as KVM has them in an interrupt: the general registers, the
 * program counter, PSTATE and SP_EL0 are copied into the host's memory at each exit. The system
 * registers are copied then only by a host without VHE. With VHE they stay in the CPU until another
 * vCPU or a program of the host needs them, so those that Linux changes at each switch of tasks are
 * not used: the page table of user code is that of the current task.
 *
 * In Linux, SP_EL0 is the stack pointer of user code, and in the kernel the current task.
 *
 * Sources: arch/arm64/kvm/{arm.c,hyp/entry.S,hyp/include/hyp/sysreg-sr.h},
 * arch/arm64/include/asm/{current.h,percpu.h,ptrace.h}, include/linux/context_tracking.h.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_ARM64_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_ARM64_BPF_H

#include "hv-interface/bpf/guest-memory.bpf.h"
#include "hv-interface/bpf/machine.bpf.h"

enum {
	PF_VCPU = 1,	   /* task_struct.flags: the CPU's time is a guest's */
	IN_GUEST_MODE = 1, /* kvm_vcpu.mode */
	ATTR_FLAGS = 40,   /* struct perf_event_attr: the bits that begin with `disabled` */
	EL_MASK = 0xf,	   /* PSTATE: 0 at EL0, of 64 and of 32 bits */
	IS_32_BIT = 0x10,
};
#define ATTR_EXCLUDE_HOST (UINT64_C(1) << 19)
#define ATTR_EXCLUDE_GUEST (UINT64_C(1) << 20)
#define HCR_E2H (UINT64_C(1) << 34)

/* The half of user code has a table of its own. */
#define KERNEL_HALF UINT64_C(0)

/* A kernel thread runs with no page table, or that of any process. */
#define KERNEL_HAS_PAGE_TABLE 0

/* struct user_pt_regs: x0 to x30, sp, pc, pstate. */
enum { ENTRY_REGS_BYTES = 34 * 8, ENTRY_SP = 31, ENTRY_PC = 32, ENTRY_PSTATE = 33 };

/*
 * Return whether the sample is one of the guest's. The host takes the interrupt that ended the
 * guest's run where it unmasks interrupts for a moment, with the task's time still counted as the
 * guest's; at no other place does it unmask them with that mark. A counter that interrupts masked
 * code too comes before KVM has left its mode. Counters for one of the two worlds are exact.
 */
static __always_inline bool is_guest_sample(struct bpf_perf_event_data *ctx, uint64_t vcpu)
{
	bool is_software = bpf_get_attach_cookie(ctx) & VMOP_BPF_COOKIE_IS_SOFTWARE;
	uint32_t task_flags = 0;
	int32_t mode = IN_GUEST_MODE;
	uint64_t event = 0, attr = 0;
	if (!is_software) {
		/* struct bpf_perf_event_data_kern: registers, data, event. */
		READ_KERNEL(event, (uint64_t)ctx + 16);
		READ_KERNEL(attr, event + HOST.event_attr + ATTR_FLAGS);
	}
	if (attr & (ATTR_EXCLUDE_HOST | ATTR_EXCLUDE_GUEST))
		return attr & ATTR_EXCLUDE_HOST;
	READ_KERNEL(task_flags, (uint64_t)bpf_get_current_task() + HOST.task_flags);
	if (HOST.counters_are_nmis && !is_software)
		READ_KERNEL(mode, vcpu + HOST.vcpu_mode);
	return task_flags & PF_VCPU && mode == IN_GUEST_MODE;
}

/* Return whether a vCPU's memory and registers are hidden from the host. */
static __always_inline bool is_vcpu_protected(uint64_t vcpu)
{
	uint8_t is_protected = 0;
	uint64_t kvm = 0;
	if (HOST.kvm_is_protected == VMOP_BPF_NO_FIELD)
		return false;
	READ_KERNEL(kvm, vcpu + HOST.vcpu_kvm);
	READ_KERNEL(is_protected, kvm + HOST.kvm_is_protected);
	return is_protected;
}

/* Return whether KVM has copied the system registers. */
static __always_inline bool are_system_registers_saved(uint64_t vcpu)
{
	uint64_t hcr = HCR_E2H;
	int32_t cpu = 0; /* -1: the vCPU is on no CPU */
	READ_KERNEL(hcr, vcpu + HOST.vcpu_hcr);
	READ_KERNEL(cpu, vcpu + HOST.vcpu_cpu);
	return !(hcr & HCR_E2H) || cpu < 0;
}

/* Set what the kernel's mode keeps in the stack pointers. */
static __always_inline void read_kernel_stack_pointers(struct guest_work *work,
						       struct vmop_guest_context *context,
						       uint64_t vcpu, uint64_t sp_el0)
{
	if (sp_el0 >> 63)
		work->task = sp_el0;
	if (!are_system_registers_saved(vcpu))
		return;
	READ_KERNEL(context->regs[SP], vcpu + HOST.vcpu_sp_el1);
	context->parts |= VMOP_GUEST_HAS_SP;
}

/*
 * Fill the context with the vCPU's registers. Set *ret_per_cpu to the base of the guest's per-CPU
 * data, which does not change while its kernel runs. Return an enum vmop_guest_gap: the guest's
 * memory is not to be read.
 */
static __always_inline int read_vcpu(struct guest_work *work, struct vmop_guest_context *context,
				     uint64_t vcpu, uint64_t *ret_per_cpu)
{
	uint64_t *regs = work->registers, mmu = 0;
	work->task = 0;
	if (work->kept.is_protected)
		return VMOP_GUEST_GAP_ENCRYPTED;
	if (bpf_probe_read_kernel(regs, ENTRY_REGS_BYTES,
				  (const void *)(vcpu + HOST.vcpu_context_regs)))
		return VMOP_GUEST_GAP_NO_REGISTERS;
	_Pragma("unroll") for (int i = 0; i < 31; i++) context->regs[i] = regs[i];
	context->regs[PC] = regs[ENTRY_PC];
	context->parts |= VMOP_GUEST_HAS_REGS;
	READ_KERNEL(*ret_per_cpu, vcpu + HOST.vcpu_tpidr_el1);
	if (regs[ENTRY_PSTATE] & EL_MASK) {
		read_kernel_stack_pointers(work, context, vcpu, regs[ENTRY_SP]);
	} else {
		context->parts |= VMOP_GUEST_IS_USER;
		if (!(regs[ENTRY_PSTATE] & IS_32_BIT)) {
			context->parts |= VMOP_GUEST_HAS_SP;
			context->regs[SP] = regs[ENTRY_SP];
		}
	}
	if (settings.withholds_registers)
		context->parts &= ~VMOP_GUEST_HAS_SP;
	if (!(context->parts & VMOP_GUEST_HAS_SP))
		context->regs[SP] = 0;
	READ_KERNEL(mmu, vcpu + HOST.vcpu_mmu);
	return mmu == work->kvm + HOST.kvm_mmu ? 0 : VMOP_GUEST_GAP_NESTED;
}

/* Set *ret to the address from which the kernel's stack is copied: the innermost frame record. */
static __always_inline bool find_stack_start(const struct vmop_guest_context *context,
					     uint64_t *ret)
{
	*ret = context->regs[FP] & ~UINT64_C(7);
	return true;
}

/* Return whether an entry is storing its registers right now. */
static __always_inline bool is_entering(const struct vmop_guest_context *context, uint64_t at)
{
	(void)context;
	(void)at;
	return false; /* the stack pointer does not show it */
}

/* Fill user_regs from a struct pt_regs at the entry. False: the entry was not from user code. */
static __always_inline bool take_entry_registers(struct vmop_guest_context *context,
						 const uint64_t *words)
{
	if (words[ENTRY_PSTATE] & (EL_MASK | IS_32_BIT))
		return false;
	_Pragma("unroll") for (int i = 0; i <= ENTRY_PC; i++) context->user_regs[i] = words[i];
	return true;
}

#endif
