// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the xen source (xen.c) gets at Xen's samples: one operations table, three ways behind it.
 *
 *   "module"                      xen/module.c: /dev/vmop of vmop.ko, which knows which task ran
 *   "hypercalls from user space"  xen/user-space.c: hypercalls and mapped buffers; knows no tasks
 *   "hypercalls from an active domain"  the same for a domU that dom0 has on its list of active
 *                                 ones: it takes its own samples, and commands nothing
 *
 * A way is opened (which ends what somebody who died left running in Xen, before anything else
 * is asked of it), prepared for a list of domains and events, started, drained, stopped and
 * released; then it may be prepared again, for other domains, or closed.  Closing does what is
 * missing of stop and release.  Whatever happens, Xen is left as it was found.
 */
#ifndef VMOP_HV_INTERFACE_XEN_TRANSPORT_H
#define VMOP_HV_INTERFACE_XEN_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/xen/xenoprof-abi.h"
#include "libutil/error.h"

#define VMOP_XEN_NO_TASK UINT32_MAX
#define VMOP_XEN_NO_CPU UINT32_MAX

/* What opening told. */
struct vmop_xen_machine {
	char cpu_type[64]; /* Xen's name of the model: "i386/core_2" */
	uint32_t n_counters;
	bool is_primary;  /* this is the initiator; else an active domU */
	bool had_remains; /* somebody who died had left a session, which was ended */
};

struct vmop_xen_event {
	uint64_t period_events;
	uint64_t unit_mask;
	uint32_t code; /* the model's number of the event */
	bool xen, kernel, user;
};

struct vmop_xen_domain {
	uint16_t id;
	int error; /* out: 0, or an errno: this domain is not sampled */
};

/* Event i is on counter i. */
struct vmop_xen_plan {
	const struct vmop_xen_event *events;
	size_t n_events;
	struct vmop_xen_domain *active; /* without this domain itself */
	size_t n_active;
	struct vmop_xen_domain *passive;
	size_t n_passive;
	uint32_t backtrace_depth; /* frames that Xen adds to each sample; 0: none */
	uint32_t max_samples;	  /* a vCPU's buffer is to hold */
};

/* A sample, or a frame of its backtrace, as Xen's buffer has it; escapes are not handed over. */
struct vmop_xen_entry {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of the moment it was found, where it is polled */
	uint64_t ip;
	uint32_t pid, tid; /* VMOP_XEN_NO_TASK: not known */
	uint32_t cpu;	   /* physical, or this domain's; VMOP_XEN_NO_CPU: not known */
	uint16_t domain;   /* VMOP_XEN_DOMID_SELF: this one */
	uint16_t vcpu;
	uint8_t mode, event;
	bool is_caller; /* of that vCPU's last sample, innermost first: backtrace_depth */
};

/* Entries of one vCPU come in their order, others' may come between those of two calls. */
struct vmop_xen_entry_sink {
	void (*entry)(void *arg, const struct vmop_xen_entry *entry);
	/* So many samples of that vCPU found no room in Xen's buffer, or in the module's. */
	void (*lost)(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n);
	void *arg;
};

struct vmop_xen_transport;

struct vmop_xen_transport_ops {
	const char *name;
	bool knows_tasks;
	/*
	 * VMOP_ERROR_NOT_FOUND: this way isn't there (no module loaded, not on Xen, no xenoprof in
	 * this Xen); VMOP_ERROR_CANT: it is, and can't be used: no permission, or another profiler
	 * holds it.
	 */
	struct vmop_error *(*open)(struct vmop_xen_machine *ret_machine,
				   struct vmop_xen_transport **ret);
	void (*close)(struct vmop_xen_transport *transport);
	/*
	 * A domain that Xen refuses has its error set and the others go on.  In an active domain,
	 * where the plan's events and lists say nothing, prepare or start give VMOP_ERROR_BUSY: one
	 * that died had the buffer; it is free, but dom0 must list this domain once more.
	 */
	struct vmop_error *(*prepare)(struct vmop_xen_transport *transport,
				      const struct vmop_xen_plan *plan);
	/* VMOP_ERROR_CANT: also when an active domain of the list has not enabled its samples. */
	struct vmop_error *(*start)(struct vmop_xen_transport *transport);
	struct vmop_error *(*stop)(struct vmop_xen_transport *transport);
	struct vmop_error *(*release)(struct vmop_xen_transport *transport);
	/*
	 * Hands over what there is with a time before up_to_ns, if the way knows times: else all,
	 * as when there is danger of a buffer running over.  Also between stop and release.
	 */
	void (*drain)(struct vmop_xen_transport *transport, uint64_t up_to_ns,
		      const struct vmop_xen_entry_sink *sink);
	/* Times since it was opened that a buffer's indices could not be and it was skipped. */
	uint64_t (*n_corrupt)(const struct vmop_xen_transport *transport);
};

/* Every way begins with this. */
struct vmop_xen_transport {
	const struct vmop_xen_transport_ops *ops;
};

extern const struct vmop_xen_transport_ops vmop_xen_transport_user_ops,
	vmop_xen_transport_module_ops, vmop_xen_transport_active_ops;

#endif
