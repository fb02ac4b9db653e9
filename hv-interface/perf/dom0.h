// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf in Xen's dom0: the domains that it samples, and the corrections that its samples need.
 *
 * Without Xen's vPMU (vpmu= on its command line) perf's clock ticks in dom0 and samples only dom0.
 * With it /sys/hypervisor/pmu/pmu_mode decides which domains a PMU samples (enum
 * vmop_source_reach). The samples pass through arch/x86/xen/pmu.c and xen/arch/x86/cpu/vpmu.c and
 * then need these corrections:
 *
 * - Linux takes the guest flag of a sample, and then its address and mode, from Xen's notes of the
 *   PMU's last interrupt. For any other event (the clock, tracepoints) these are wrong; before the
 *   first interrupt every sample counts as a guest's, at address 0 (seen with Linux 6.1). Such a
 *   sample has the event's own registers (PERF_SAMPLE_REGS_INTR).
 * - A domain's number is lost. A guest's sample can even come from dom0: Xen delivers the samples
 *   of CPU N to dom0's vCPU N modulo their number, and reports code on another vCPU of dom0 as a
 *   guest. dom0_vcpus_pin avoids that.
 * - Xen's own samples are recognised by their address: Xen has a part of the address space where a
 *   PV domain has nothing.
 * - The task is the one that runs on dom0's vCPU when the sample arrives, which is a later moment
 *   if the sample hit other code.
 */
#ifndef VMOP_HV_INTERFACE_PERF_DOM0_H
#define VMOP_HV_INTERFACE_PERF_DOM0_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/source.h"

/* The registers of a sample, in their order there (enum perf_event_x86_regs: IP, CS). */
#define VMOP_PERF_DOM0_REGS (UINT64_C(1) << 8 | UINT64_C(1) << 10)
struct vmop_perf_dom0_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_NONE: no registers follow */
	uint64_t ip, cs;
};

struct vmop_perf_dom0 {
	/* Reach of the PMU's samples. VMOP_REACH_ALL: not a dom0, so no correction applies. */
	enum vmop_source_reach view;
	bool has_regs; /* samples carry the registers above */
};

/*
 * Describe this machine. has_regs stays false also where the kernel gives no registers (lockdown).
 * root: prefix for /proc and /sys; NULL: "".
 */
void vmop_perf_dom0_init(const char *root, struct vmop_perf_dom0 *ret);

/*
 * Correct a sample's address, flags, task and source_domain. is_by_pmu: a PMU counts its event.
 * regs: its registers, if dom0->has_regs, else NULL.
 */
void vmop_perf_dom0_correct(const struct vmop_perf_dom0 *dom0, bool is_by_pmu,
			    const struct vmop_perf_dom0_regs *regs, struct vmop_sample *sample);

/* Return the view in a few words for --status; NULL: not a dom0. The string is static. */
const char *vmop_perf_dom0_transport(enum vmop_source_reach view);

#endif
