// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMware's pseudo performance counters, which a guest reads in user mode (rdpmc; "Timekeeping in
 * VMware Virtual Machines"), and the hypervisor's answers at the port of VMware's tools. KVM
 * emulates both with its parameter enable_vmware_backdoor. On any other machine the instructions
 * fault, so they are tried under a signal handler. The calling thread has to be the only one that
 * handles SIGSEGV, SIGILL or SIGBUS meanwhile.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_VMWARE_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_VMWARE_H

#include "libvmop/stat/hypervisor/detect.h"
#include "libvmop/stat/readings.h"

enum vmop_hv_vmware_counter {
	VMOP_HV_VMWARE_HOST_TSC,
	VMOP_HV_VMWARE_REAL_NS,	    /* the host's time */
	VMOP_HV_VMWARE_APPARENT_NS, /* the time that the guest has been shown */
	VMOP_HV_VMWARE_N,
};

struct vmop_hv_vmware {
	bool has[VMOP_HV_VMWARE_N];
	uint64_t values[VMOP_HV_VMWARE_N];
};

/* Read those of the counters that answer. */
void vmop_hv_vmware_read(struct vmop_hv_vmware *ret);

/* Return whether a counter answers. */
bool vmop_hv_vmware_has_any(const struct vmop_hv_vmware *vmware);

/* Report the group "vmware"; the port is only tried where VMware or the counters answer. */
void vmop_hv_describe_vmware(const struct vmop_hv *hv, struct vmop_hv_report *report);

/* Add those of the counters that answer. */
struct vmop_error *vmop_hv_read_vmware(struct vmop_readings *readings);

#endif
