// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: whose is a sample that the kernel calls a guest's?
 *
 * A PMU's or timer's interrupt in a guest ends the guest's run; the host takes it when it unmasks
 * interrupts, in kvm_arch_vcpu_ioctl_run().  perf then gives the guest's program counter and
 * mode, which is right.  But it does so whenever a vCPU is loaded (kvm_arch_pmi_in_guest() in
 * arch/arm64/include/asm/kvm_host.h), so for all of the host's own work from the ioctl to its end
 * too, with the address at which the guest left last: most of the samples of a guest
 * that exits much.  What was really interrupted is in the sample's registers
 * (PERF_SAMPLE_REGS_INTR): the guest's if pc lies in that function, or in the function with which
 * it unmasks interrupts, where the compiler made one, and lr in it; else the host's, at pc.
 *
 * Left with the guest is what overflows while the host switches worlds with interrupts masked: its
 * interrupt comes at the same place.  So an event of a PMU is opened twice where that can be, once
 * for the host and once for guests (perf/guest-split.h); these are exact.
 *
 * A guest sample's mode is perf's to tell here: it is taken from the guest's saved PSTATE, in the
 * same moment as the address (kvm_arch_vcpu_in_kernel() in arch/arm64/kvm), and so right for 32-bit
 * code, for kernels in the lower half of the addresses and for code that runs without a page table.
 */
#ifndef VMOP_HV_INTERFACE_PERF_GUEST_EXIT_H
#define VMOP_HV_INTERFACE_PERF_GUEST_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

/* Which registers, in the order in which they come (enum perf_event_arm_regs). */
#define VMOP_PERF_GUEST_EXIT_REGS (UINT64_C(1) << 30 | UINT64_C(1) << 32)
struct vmop_perf_guest_exit_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_NONE: the rest is not there */
	uint64_t lr, pc;
};

struct vmop_perf_guest_exit {
	bool is_here;		   /* this is arm64, with KVM: all that is said above holds */
	bool has_regs;		   /* samples carry the registers above */
	uint64_t start, len_bytes; /* the function's; length 0: not known, the kernel is believed */
	uint64_t unmask_start, unmask_len_bytes; /* the one that it unmasks with; 0: none */
};

/*
 * What this machine needs: is_here stays false on others than arm64 and without KVM, has_regs
 * where the kernel gives no registers, too (lockdown).
 */
void vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret);

/*
 * Finds the function in the text of a kallsyms file.  VMOP_ERROR_NOT_FOUND: it isn't there, or
 * addresses are hidden.
 */
struct vmop_error *vmop_perf_guest_exit_find(const char *path, struct vmop_perf_guest_exit *ret);

#endif
