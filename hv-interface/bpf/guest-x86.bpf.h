// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers of a vCPU on x86-64, as KVM has them in an interrupt: SVM copies all into its own
 * memory at each exit. VMX leaves the stack pointer and CR3 in the VMCS, which only the processor
 * reads, unless KVM had a reason to fetch them (regs_avail). PVM runs guests without either.
 *
 * Sources: arch/x86/kvm/{kvm_cache_regs.h,svm/svm.c,vmx/vmx.c}, arch/x86/include/asm/svm.h;
 * AMD's APM 2, appendix B (VMCB).
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_X86_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_X86_BPF_H

#include "hv-interface/bpf/guest-memory.bpf.h"

enum {
	CR4_LA57 = 1 << 12,
	EFER_LMA = 1 << 10,		  /* long mode is active, with its page tables */
	VMCB_NESTED_PAGING = 1 << 0,	  /* the VMCB's CR3 is the guest's own */
	VMCB_ENCRYPTED = 1 << 1 | 1 << 2, /* SEV, SEV-ES */
	HANDLING_IRQ = 1,		  /* enum kvm_intr_type */
};

/* A page table's address with this mask is the kernel's: Linux has the user's copy behind it. */
#define KERNEL_HALF (~UINT64_C(0x1000))

/* All code runs with the page table of a process. */
#define KERNEL_HAS_PAGE_TABLE VMOP_GUEST_HAS_PAGE_TABLE

/* The registers of user code in the guest at the kernel's entry: struct pt_regs, by its words. */
enum { ENTRY_REGS_BYTES = 21 * 8, ENTRY_CS = 17, ENTRY_RIP = 16, ENTRY_RSP = 19 };

/*
 * Return whether the sample is one of the guest's: the interrupt came while the guest ran, and KVM
 * has not returned to its own work. A counter's interrupt is an NMI. While KVM handles the guest's
 * other interrupt, such a sample is the handler's (kvm_arch_pmi_in_guest of later kernels).
 */
static __always_inline bool is_guest_sample(struct bpf_perf_event_data *ctx, uint64_t vcpu)
{
	uint8_t handling = 0;
	READ_KERNEL(handling, vcpu + HOST.vcpu_handling_intr);
	return handling == HANDLING_IRQ ? bpf_get_attach_cookie(ctx) & VMOP_BPF_COOKIE_IS_SOFTWARE
					: handling != 0;
}

/*
 * The registers of a vCPU that KVM keeps near each other, in the order of its memory: they are
 * copied at once. The numbers of HOST are constants to the verifier.
 */
enum { N_ARCH_WORDS = 32 };

_Static_assert(N_ARCH_WORDS <= N_SAVED_WORDS, "they have room");

/* Return a register that is among those that were copied, or read it. */
static __always_inline uint64_t arch_word(const struct guest_work *work, uint64_t vcpu,
					  uint32_t field)
{
	uint32_t at = field - HOST.vcpu_regs;
	uint64_t word = 0;
	if (at % 8 == 0 && at < N_ARCH_WORDS * 8)
		return work->registers[at / 8];
	READ_KERNEL(word, vcpu + field);
	return word;
}

/* Return whether a vCPU's memory and registers are hidden from the host. */
static __always_inline bool is_vcpu_protected(uint64_t vcpu)
{
	uint8_t is_protected = 0;
	if (HOST.vcpu_is_protected != VMOP_BPF_NO_FIELD)
		READ_KERNEL(is_protected, vcpu + HOST.vcpu_is_protected);
	return is_protected;
}

/* KVM's order of registers: rax rcx rdx rbx rsp rbp rsi rdi r8-r15. */
static __always_inline int read_general_registers(struct guest_work *work,
						  struct vmop_guest_context *context, uint64_t vcpu)
{
	uint64_t *regs = work->registers;
	if (bpf_probe_read_kernel(regs, N_ARCH_WORDS * sizeof(*regs),
				  (const void *)(vcpu + HOST.vcpu_regs)))
		return VMOP_GUEST_GAP_NO_REGISTERS;
	context->regs[16] = arch_word(work, vcpu, HOST.vcpu_rip);
	context->regs[0] = regs[0];
	context->regs[1] = regs[2];
	context->regs[2] = regs[1];
	context->regs[3] = regs[3];
	context->regs[4] = regs[6];
	context->regs[5] = regs[7];
	context->regs[6] = regs[5];
	context->regs[7] = regs[4];
	_Pragma("unroll") for (int i = 8; i < 16; i++) context->regs[i] = regs[i];
	context->parts |= VMOP_GUEST_HAS_REGS;
	return 0;
}

static __always_inline int read_svm(struct vmop_guest_context *context, uint64_t vcpu,
				    uint64_t *ret_per_cpu)
{
	uint64_t vmcb = 0, current_vmcb = 0, features = 0;
	uint8_t cpl = 0;
	READ_KERNEL(vmcb, vcpu + HOST.svm_vmcb);
	READ_KERNEL(current_vmcb, vcpu + HOST.svm_current_vmcb);
	READ_KERNEL(features, vmcb + HOST.vmcb_features);
	if (READ_KERNEL(cpl, vmcb + HOST.vmcb_cpl))
		return VMOP_GUEST_GAP_NO_REGISTERS;
	context->parts |= VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE;
	if (cpl == 3)
		context->parts |= VMOP_GUEST_IS_USER;
	if (features & VMCB_NESTED_PAGING)
		READ_KERNEL(context->page_table, vmcb + HOST.vmcb_cr3);
	if (features & VMCB_ENCRYPTED)
		return VMOP_GUEST_GAP_ENCRYPTED;
	if (current_vmcb != vcpu + HOST.svm_vmcb01)
		return VMOP_GUEST_GAP_NESTED;
	/* The kernel's base is in the other register while user code runs, and at its edges. */
	if (cpl != 3)
		READ_KERNEL(*ret_per_cpu, vmcb + HOST.vmcb_gs_base);
	if (!(*ret_per_cpu >> 63))
		READ_KERNEL(*ret_per_cpu, vmcb + HOST.vmcb_kernel_gs_base);
	return 0;
}

static __always_inline int read_vmx(const struct guest_work *work,
				    struct vmop_guest_context *context, uint64_t vcpu)
{
	uint32_t available = (uint32_t)arch_word(work, vcpu, HOST.vcpu_regs_avail);
	uint64_t loaded = 0;
	READ_KERNEL(loaded, vcpu + HOST.vmx_loaded_vmcs);
	if (!(available >> (HOST.avail_rip & 31) & 1)) {
		context->parts = 0;
		return VMOP_GUEST_GAP_NO_REGISTERS;
	}
	if (available >> (HOST.avail_rsp & 31) & 1)
		context->parts |= VMOP_GUEST_HAS_SP;
	if (available >> (HOST.avail_cr3 & 31) & 1)
		context->parts |= VMOP_GUEST_HAS_PAGE_TABLE;
	if (!(context->regs[16] >> 63))
		context->parts |= VMOP_GUEST_IS_USER;
	return loaded == vcpu + HOST.vmx_vmcs01 ? 0 : VMOP_GUEST_GAP_NESTED;
}

static __always_inline int read_pvm(struct vmop_guest_context *context, uint64_t vcpu)
{
	int32_t cpl = 0;
	READ_KERNEL(cpl, vcpu + HOST.pvm_cpl);
	context->parts |= VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE;
	if (cpl == 3)
		context->parts |= VMOP_GUEST_IS_USER;
	return 0;
}

/*
 * Fill the context with the vCPU's registers. Set *ret_per_cpu to the base of the guest's per-CPU
 * data if a register has it. Return an enum vmop_guest_gap: the guest's memory is not to be read.
 */
static __always_inline int read_vcpu(struct guest_work *work, struct vmop_guest_context *context,
				     uint64_t vcpu, uint64_t *ret_per_cpu)
{
	int gap;
	if (work->kept.is_protected)
		return VMOP_GUEST_GAP_ENCRYPTED;
	gap = read_general_registers(work, context, vcpu);
	if (gap)
		return gap;
	context->page_table = arch_word(work, vcpu, HOST.vcpu_cr3);
	if (HOST.virtualisation == VMOP_BPF_SVM)
		gap = read_svm(context, vcpu, ret_per_cpu);
	else if (HOST.virtualisation == VMOP_BPF_VMX)
		gap = read_vmx(work, context, vcpu);
	else
		gap = read_pvm(context, vcpu);
	if (settings.withholds_registers)
		context->parts &= ~(VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE);
	context->page_table = context->parts & VMOP_GUEST_HAS_PAGE_TABLE
				      ? context->page_table & ENTRY_ADDRESS
				      : 0;
	if (!(context->parts & VMOP_GUEST_HAS_SP))
		context->regs[7] = 0;
	work->n_levels = arch_word(work, vcpu, HOST.vcpu_cr4) & CR4_LA57 ? 5 : 4;
	/* Other tables than those of long mode, or none. */
	return gap || arch_word(work, vcpu, HOST.vcpu_efer) & EFER_LMA ? gap
								       : VMOP_GUEST_GAP_NOT_MAPPED;
}

/* Set *ret to the address from which the kernel's stack is copied. False: not known. */
static __always_inline bool find_stack_start(const struct vmop_guest_context *context,
					     uint64_t *ret)
{
	*ret = context->regs[7] & ~UINT64_C(7);
	return context->parts & VMOP_GUEST_HAS_SP;
}

/* Return whether an entry is storing its registers right now, at address `at`. */
static __always_inline bool is_entering(const struct vmop_guest_context *context, uint64_t at)
{
	return context->parts & VMOP_GUEST_HAS_SP && context->regs[7] - at <= ENTRY_REGS_BYTES;
}

/* Fill user_regs from a struct pt_regs at the entry. False: the entry was not from user code. */
static __always_inline bool take_entry_registers(struct vmop_guest_context *context,
						 const uint64_t *words)
{
	if ((words[ENTRY_CS] & 3) != 3)
		return false;
	uint64_t *to = context->user_regs;
	/* r15-r12, rbp, rbx, r11-r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags, rsp, ss */
	to[15] = words[0];
	to[14] = words[1];
	to[13] = words[2];
	to[12] = words[3];
	to[6] = words[4];
	to[3] = words[5];
	to[11] = words[6];
	to[10] = words[7];
	to[9] = words[8];
	to[8] = words[9];
	to[0] = words[10];
	to[2] = words[11];
	to[1] = words[12];
	to[4] = words[13];
	to[5] = words[14];
	to[7] = words[ENTRY_RSP];
	to[16] = words[ENTRY_RIP];
	return true;
}

#endif
