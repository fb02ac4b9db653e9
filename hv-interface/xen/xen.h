// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The xen source: Xen's profiling samples of dom0, of passive domains and of Xen itself; in an
 * active domU the samples of that domU.
 *
 * Callers use it as a struct vmop_source (source.h). Data meets the folder's files in this order:
 *
 * Opening: event.h resolves the requests; transport.h is the table of transports: module.c (with
 * device.h, the user's side of the kernel module) or user-space.c (with link.h, xenoprof-control.h
 * and owner-file.h); lists.h makes Xen's lists of domains.
 *
 * Draining: rings.h and records.h read the module's rings, or xenoprof-buffer.h reads Xen's
 * buffers; pending.h keeps the samples that were taken between two drains; trace.h joins a sample
 * with its callers; xen.c puts them in order with the tasks' records (perf/perf.h) and delivers to
 * the sink.
 *
 * With call stacks (backtraces.h) the samples of user and kernel code have a struct
 * vmop_stack_capture with user_frames or kernel_frames, also those of passive domains. Samples of
 * Xen's own code have none.
 *
 * A sample of Xen's own code has VMOP_SAMPLE_HYPERVISOR, one of a passive domain VMOP_SAMPLE_GUEST,
 * one of this domain neither. source_domain and source_vcpu name the vCPU that ran, or for which
 * Xen ran. Xen does not report the physical CPU. With the module cpu is this domain's CPU for this
 * domain's samples; else it is UINT32_MAX.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XEN_H
#define VMOP_HV_INTERFACE_XEN_XEN_H

#include "hv-interface/source.h"
#include "hv-interface/xen/link.h"
#include "hv-interface/xen/transport.h"

extern const struct vmop_source_ops vmop_source_xen_ops;

/*
 * Open the source over a transport and a link, which it owns from now on, also on errors. The link
 * answers questions about domains; NULL: no stacks in dom0. For tests; vmop_source_open chooses the
 * best transport.
 */
struct vmop_error *vmop_xen_open_over(struct vmop_xen_transport *transport,
				      const struct vmop_xen_machine *machine,
				      struct vmop_xen_link *link,
				      const struct vmop_source_setup *setup,
				      struct vmop_source **ret);

/*
 * Return whether this Xen has xenoprof; true if the question fails: opening the source then returns
 * the reason.
 */
bool vmop_xen_has_xenoprof(void);

#endif
