// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profiling hypercall for a program: vmop/xenoprof.h, and the numbers of Xen's
 * xen/include/public/{xen.h,hvm/hvm_op.h} that Linux does not export to programs.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XENOPROF_ABI_H
#define VMOP_HV_INTERFACE_XEN_XENOPROF_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "vmop/xenoprof.h"

#define VMOP_XEN_HYPERCALL_XENOPROF 31 /* __HYPERVISOR_xenoprof_op */
#define VMOP_XEN_HYPERCALL_HVM 34      /* __HYPERVISOR_hvm_op */
#define VMOP_XEN_HYPERCALL_HYPFS 42    /* __HYPERVISOR_hypfs_op */
#define VMOP_XEN_HVM_GET_PARAM 1       /* HVMOP_get_param */
#define VMOP_XEN_DOMID_SELF 0x7ff0     /* DOMID_SELF */
#define VMOP_XEN_DOMID_FIRST_RESERVED 0x7ff0

#endif
