// SPDX-License-Identifier: GPL-2.0-or-later
/* The host and KVM guests, by the perf events of Linux. */
#ifndef VMOP_HV_INTERFACE_PERF_PERF_H
#define VMOP_HV_INTERFACE_PERF_PERF_H

#include "hv-interface/source.h"

extern const struct vmop_source_ops vmop_source_perf_ops;

#endif
