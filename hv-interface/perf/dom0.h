// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf in Xen's dom0: whose samples there are, and whose is one.
 *
 * Without Xen's vPMU (vpmu= on its command line) perf's clock ticks in dom0, and samples it alone.
 * With it a PMU's samples are what /sys/hypervisor/pmu/pmu_mode says (enum vmop_source_reach), but
 * how Linux hands them on (arch/x86/xen/pmu.c, xen/arch/x86/cpu/vpmu.c) must be put right here:
 *
 * - Whether a sample is "a guest's", and then its address and mode too, Linux takes from what Xen
 *   noted at the PMU's last interrupt.  Of any other event (the clock, tracepoints) that is not
 *   true; before the first interrupt all of them are a guest's, at address 0 (seen with Linux 6.1).
 *   Such an event's own registers come with the sample (PERF_SAMPLE_REGS_INTR).
 * - A domain's number is lost on the way.  A guest's sample can even be of dom0 itself: Xen hands
 *   what it sampled on CPU N to dom0's vCPU N modulo their number, and calls what ran on another
 *   vCPU of dom0 a guest; dom0_vcpus_pin keeps these apart.
 * - Xen's own samples are told by their address alone: Xen has a part of the address space in which
 *   a PV domain has nothing.
 * - The task is the one that dom0's vCPU came to run, which is another moment's where something
 *   else was sampled.
 */
#ifndef VMOP_HV_INTERFACE_PERF_DOM0_H
#define VMOP_HV_INTERFACE_PERF_DOM0_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/source.h"

/* Which registers, in the order in which they come (enum perf_event_x86_regs: IP, CS). */
#define VMOP_PERF_DOM0_REGS (UINT64_C(1) << 8 | UINT64_C(1) << 10)
struct vmop_perf_dom0_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_NONE: the rest is not there */
	uint64_t ip, cs;
};

struct vmop_perf_dom0 {
	/* Of a PMU's samples; VMOP_REACH_ALL: this is no dom0, and nothing of the above holds. */
	enum vmop_source_reach view;
	bool has_regs; /* samples carry the registers above */
};

/*
 * What this machine is; has_regs stays false where the kernel gives no registers (lockdown), too.
 * root: before /proc and /sys; NULL: "".
 */
void vmop_perf_dom0_init(const char *root, struct vmop_perf_dom0 *ret);

/*
 * Puts right what perf says of a sample: its address, flags, task and source_domain.  is_by_pmu:
 * its event is counted by a PMU.  regs: its registers, where dom0->has_regs.
 */
void vmop_perf_dom0_sort(const struct vmop_perf_dom0 *dom0, bool is_by_pmu,
			 const struct vmop_perf_dom0_regs *regs, struct vmop_sample *sample);

/* The same in a few words, for --status; NULL: this is no dom0. */
const char *vmop_perf_dom0_transport(enum vmop_source_reach view);

#endif
