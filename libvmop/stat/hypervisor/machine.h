// SPDX-License-Identifier: GPL-2.0-or-later
/* The virtual CPUs and clocks of this machine, as its kernel sees them. */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_MACHINE_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_MACHINE_H

#include "libvmop/stat/hypervisor/detect.h"

/* Report the groups "cpus" and "clock". */
void vmop_hv_describe_cpus(const struct vmop_hv *hv, struct vmop_hv_report *report);
void vmop_hv_describe_clock(const struct vmop_hv *hv, struct vmop_hv_report *report);

/*
 * Report the features that KVM announces (CPUID, Documentation/virt/kvm/x86/cpuid.rst) as group
 * "kvm"; nothing elsewhere.
 */
void vmop_hv_describe_kvm(const struct vmop_hv *hv, struct vmop_hv_report *report);

/* Return the features of KVM's block, or 0. */
uint32_t vmop_hv_kvm_features(const struct vmop_hv *hv);
#define VMOP_HV_KVM_STEAL_TIME (1u << 5)

#endif
