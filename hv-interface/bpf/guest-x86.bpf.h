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
	SOFTWARE_CONTEXT = 1,		  /* perf_sw_context */
};

/* A page table's address with this mask is the kernel's: Linux has the user's copy behind it. */
#define KERNEL_HALF (~UINT64_C(0x1000))

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
	int32_t context = SOFTWARE_CONTEXT;
	uint64_t event = 0, pmu = 0;
	READ_KERNEL(handling, vcpu + HOST.vcpu_handling_intr);
	if (handling != HANDLING_IRQ)
		return handling != 0;
	/* struct bpf_perf_event_data_kern: registers, data, event. */
	READ_KERNEL(event, (uint64_t)ctx + 16);
	READ_KERNEL(pmu, event + HOST.event_pmu);
	READ_KERNEL(context, pmu + HOST.pmu_task_ctx_nr);
	return context == SOFTWARE_CONTEXT;
}

/* KVM's order of registers: rax rcx rdx rbx rsp rbp rsi rdi r8-r15. */
static __always_inline int read_general_registers(struct guest_work *work,
						  struct vmop_guest_context *context, uint64_t vcpu)
{
	uint64_t *regs = work->registers;
	if (bpf_probe_read_kernel(regs, 16 * sizeof(*regs),
				  (const void *)(vcpu + HOST.vcpu_regs)) ||
	    READ_KERNEL(context->regs[16], vcpu + HOST.vcpu_rip))
		return VMOP_GUEST_GAP_NO_REGISTERS;
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

static __always_inline int read_vmx(struct vmop_guest_context *context, uint64_t vcpu)
{
	uint32_t available = 0;
	uint64_t loaded = 0;
	READ_KERNEL(available, vcpu + HOST.vcpu_regs_avail);
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
	uint64_t cr4 = 0, efer = 0;
	uint8_t is_protected = 0;
	int gap;
	if (HOST.vcpu_is_protected != VMOP_BPF_NO_FIELD)
		READ_KERNEL(is_protected, vcpu + HOST.vcpu_is_protected);
	if (is_protected)
		return VMOP_GUEST_GAP_ENCRYPTED;
	gap = read_general_registers(work, context, vcpu);
	if (gap)
		return gap;
	READ_KERNEL(context->page_table, vcpu + HOST.vcpu_cr3);
	if (HOST.virtualisation == VMOP_BPF_SVM)
		gap = read_svm(context, vcpu, ret_per_cpu);
	else if (HOST.virtualisation == VMOP_BPF_VMX)
		gap = read_vmx(context, vcpu);
	else
		gap = read_pvm(context, vcpu);
	if (settings.withholds_registers)
		context->parts &= ~(VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE);
	context->page_table = context->parts & VMOP_GUEST_HAS_PAGE_TABLE
				      ? context->page_table & ENTRY_ADDRESS
				      : 0;
	if (!(context->parts & VMOP_GUEST_HAS_SP))
		context->regs[7] = 0;
	READ_KERNEL(cr4, vcpu + HOST.vcpu_cr4);
	READ_KERNEL(efer, vcpu + HOST.vcpu_efer);
	work->n_levels = cr4 & CR4_LA57 ? 5 : 4;
	/* Other tables than those of long mode, or none. */
	return gap || efer & EFER_LMA ? gap : VMOP_GUEST_GAP_NOT_MAPPED;
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
