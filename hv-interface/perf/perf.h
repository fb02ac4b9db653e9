// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The perf source: the host and KVM guests, by the perf events of Linux. Also dom0's tasks for the
 * xen source.
 *
 * Callers use it as a struct vmop_source (source.h). Data meets the folder's files in this order:
 *
 * Opening: event.h resolves requests with the tables of name.h, pmu.h (sysfs), pfm.h (libpfm4) and
 * tracepoint.h (tracefs); choice.h makes a plan of them and replaces refused events; guest-split.h
 * and guest-exit.h (arm64) and dom0.h (Xen) prepare the corrections that the machine needs;
 * stacks.h chooses the call stacks to capture, and ring-size.h the size of the rings; cpu.h opens
 * the plan on each CPU by open.h, and attachment.h attaches the BPF program (program.h), which
 * unwinds stacks and captures what guests run.
 *
 * Draining: ring.h reads the kernel's records of a CPU in place; record.h decodes them, with the
 * corrections; capture.h, unwound.h and guest.h decode the captures beside them; merge.h puts all
 * CPUs into one order; perf.c adds the CPUs that come and go, and delivers to the sink.
 *
 * permission.h answers what the kernel permits before any source is open.
 */
#ifndef VMOP_HV_INTERFACE_PERF_PERF_H
#define VMOP_HV_INTERFACE_PERF_PERF_H

#include "hv-interface/source.h"

extern const struct vmop_source_ops vmop_source_perf_ops;

#endif
