// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: the owner of a sample that the kernel reports as a guest's.
 *
 * An interrupt of a PMU or timer ends a guest's run. The host takes it when it unmasks interrupts,
 * in kvm_arch_vcpu_ioctl_run(). perf then reports the guest's program counter and mode, which is
 * right. But perf does so whenever a vCPU is loaded (kvm_arch_pmi_in_guest() in
 * arch/arm64/include/asm/kvm_host.h). All of the host's own work until the end of the ioctl
 * therefore appears at the address of the guest's last exit: most samples of a guest that exits
 * often.
 *
 * The sample's registers (PERF_SAMPLE_REGS_INTR) show the interrupted code. The sample is the
 * guest's if pc lies in that function; or if pc lies in the function that unmasks interrupts, where
 * the compiler made one, and lr in the first. Else it is the host's, at pc.
 *
 * One error remains: a counter that overflows while the host switches worlds with interrupts masked
 * has its interrupt at the same place, and counts as the guest's. So a PMU's event is opened twice
 * where possible, once for the host and once for guests (perf/guest-split.h); these are exact.
 *
 * The mode of a guest's sample is certain here: perf takes it from the guest's saved PSTATE at the
 * same moment as the address (kvm_arch_vcpu_in_kernel() in arch/arm64/kvm). It is right for 32-bit
 * code, for kernels in the lower half of the addresses and for code that runs without a page table.
 */
#ifndef VMOP_HV_INTERFACE_PERF_GUEST_EXIT_H
#define VMOP_HV_INTERFACE_PERF_GUEST_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

/* The registers of a sample, in their order there (enum perf_event_arm_regs). */
#define VMOP_PERF_GUEST_EXIT_REGS (UINT64_C(1) << 30 | UINT64_C(1) << 32)
struct vmop_perf_guest_exit_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_NONE: no registers follow */
	uint64_t lr, pc;
};

struct vmop_perf_guest_exit {
	bool is_here;  /* this is arm64 with KVM: all of the above applies */
	bool has_regs; /* samples carry the registers above */
	/* kvm_arch_vcpu_ioctl_run(); length 0: not known, perf is trusted */
	uint64_t start, len_bytes;
	/* the function that unmasks interrupts; 0: no such function */
	uint64_t unmask_start, unmask_len_bytes;
};

/*
 * Describe this machine. is_here stays false without arm64 and KVM; has_regs also where the kernel
 * gives no registers (lockdown).
 */
void vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret);

/*
 * Find the functions in the text of a kallsyms file. VMOP_ERROR_NOT_FOUND: not in the file, or its
 * addresses are hidden.
 */
struct vmop_error *vmop_perf_guest_exit_find(const char *path, struct vmop_perf_guest_exit *ret);

#endif
