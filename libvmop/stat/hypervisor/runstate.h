// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time that Xen's vCPUs spent in each state: running, runnable (waiting for a CPU), blocked and
 * offline (xen/include/public/vcpu.h, runstate).
 *
 * Xen reports all four states of a domain's own vCPUs to it. For other domains dom0 gets only
 * the time in which they ran, and the state at the moment. Both need hypercalls of user space: in
 * dom0 root may make them; in a domU the kernel may forbid them (xen-privcmd, unrestricted).
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_RUNSTATE_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_RUNSTATE_H

#include "libvmop/stat/hypervisor/detect.h"
#include "libvmop/stat/readings.h"

struct vmop_hv_runstates;

/*
 * Open Xen, on which hv has found this machine to run (VMOP_HV_XEN). The caller closes *ret. The
 * error has the reason why runstates are not known.
 */
struct vmop_error *vmop_hv_runstates_open(const struct vmop_hv *hv, struct vmop_hv_runstates **ret);
void vmop_hv_runstates_close(struct vmop_hv_runstates *runstates); /* NULL is allowed */

/* Report each vCPU in the group "runstate". */
struct vmop_error *vmop_hv_describe_runstates(struct vmop_hv_runstates *runstates,
					      struct vmop_hv_report *report);

/* Add the times of each vCPU. */
struct vmop_error *vmop_hv_read_runstates(struct vmop_hv_runstates *runstates,
					  struct vmop_readings *readings);

#endif
