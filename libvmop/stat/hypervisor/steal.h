// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steal clock of this machine: whether there is one, whether the time of tasks leaves it out,
 * and its time for each CPU.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_STEAL_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_STEAL_H

#include "libvmop/stat/hypervisor/detect.h"
#include "libvmop/stat/readings.h"

/* Return NULL if the steal time of /proc/stat is counted, or why it is not, or may not be. */
const char *vmop_hv_steal_reason(const struct vmop_hv *hv);

/* Report the group "steal". */
void vmop_hv_describe_steal(const struct vmop_hv *hv, struct vmop_hv_report *report);

/* Add the steal time of each online CPU, in steps of the kernel's 1/USER_HZ. */
struct vmop_error *vmop_hv_read_steal(const struct vmop_hv *hv, struct vmop_readings *readings);

#endif
