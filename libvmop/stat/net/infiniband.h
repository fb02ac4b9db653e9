// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of InfiniBand's and RoCE's ports (Documentation/ABI/stable/sysfs-class-infiniband).
 *
 * The counters of InfiniBand's management have 4 to 32 bits and do not wrap: they stop at their
 * largest value until they are reset (InfiniBand Architecture, PortCounters). A device with the
 * extended counters shows 64 bits under the same names, or in counters_ext on old kernels. Data is
 * counted in words of four bytes there; here in bytes.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_INFINIBAND_H
#define VMOP_LIBVMOP_STAT_NET_INFINIBAND_H

#include "libutil/error.h"
#include "libvmop/stat/readings.h"

/* Add the counters of all ports and devices. root: before /sys; "" but for tests. */
struct vmop_error *vmop_net_infiniband_add(const char *root, struct vmop_readings *readings);

#endif
