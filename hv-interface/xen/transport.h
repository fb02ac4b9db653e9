// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The transport of Xen's samples to the xen source (xen.c): one operations table with three
 * implementations.
 *
 *   "module"                      xen/module.c: /dev/vmop of vmop.ko, which adds the tasks
 *   "hypercalls from user space"  xen/user-space.c: hypercalls and mapped buffers; no tasks
 *   "hypercalls from an active domain"  the same for a domU on dom0's list of active domains:
 *                                 it takes its own samples, and commands nothing
 *
 * A transport is opened, prepared for lists of domains and events, started, drained, stopped and
 * released. Then it can be prepared again, for other domains, or closed. Opening first ends the
 * session that a dead process left in Xen. Closing also stops and releases if necessary. In every
 * case Xen is left as it was found. One thread.
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

/* The properties that opening found. */
struct vmop_xen_machine {
	char cpu_type[64]; /* Xen's name for the model: "i386/core_2" */
	uint32_t n_counters;
	bool is_primary;  /* the initiator; else an active domU */
	bool had_remains; /* a dead process had left a session, which was ended */
};

struct vmop_xen_event {
	uint64_t period_events;
	uint64_t unit_mask;
	uint32_t code; /* the model's number for the event */
	bool xen, kernel, user;
};

struct vmop_xen_domain {
	uint16_t id;
	int error; /* set by the transport: 0, or the errno with which Xen refused the domain */
};

/* Event i is on counter i. */
struct vmop_xen_plan {
	const struct vmop_xen_event *events;
	size_t n_events;
	struct vmop_xen_domain *active; /* without the own domain */
	size_t n_active;
	struct vmop_xen_domain *passive;
	size_t n_passive;
	uint32_t backtrace_depth; /* frames that Xen adds to each sample; 0: none */
	/* Room for backtraces is needed, perhaps only by later plans. Constant while open. */
	bool has_room_for_backtraces;
	uint32_t max_samples; /* wanted capacity of a vCPU's buffer */
};

/* A sample, or a frame of its backtrace, from Xen's buffer. Escapes are not delivered. */
struct vmop_xen_entry {
	uint64_t time_ns; /* CLOCK_MONOTONIC; without the module the time of the drain */
	uint64_t ip;
	uint32_t pid, tid; /* VMOP_XEN_NO_TASK: not known */
	uint32_t cpu;	   /* this domain's; VMOP_XEN_NO_CPU: not known */
	uint16_t domain;   /* VMOP_XEN_DOMID_SELF: this one */
	uint16_t vcpu;
	uint8_t mode, event;
	/* a caller of that vCPU's last sample, innermost first */
	bool is_caller;
};

/*
 * The receiver of entries. One vCPU's entries come in order; other vCPUs' entries may come between
 * them.
 */
struct vmop_xen_entry_sink {
	void (*entry)(void *arg, const struct vmop_xen_entry *entry);
	/* n samples of that vCPU found no room in Xen's buffer or the module's ring. */
	void (*lost)(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n);
	void *arg;
};

struct vmop_xen_transport;

struct vmop_xen_transport_ops {
	const char *name;
	bool has_tasks;
	/*
	 * Open the transport; *ret is the caller's, freed with close. VMOP_ERROR_NOT_FOUND: it does
	 * not exist here (no module loaded, not on Xen, no xenoprof in this Xen). VMOP_ERROR_CANT:
	 * it exists but is not usable: no permission, or another profiler uses it.
	 */
	struct vmop_error *(*open)(struct vmop_xen_machine *ret_machine,
				   struct vmop_xen_transport **ret);
	void (*close)(struct vmop_xen_transport *transport);
	/*
	 * Reserve counters and map the buffers of the listed domains. Sets the error of each domain
	 * that Xen refuses, and continues with the others. In an active domain the plan's events
	 * and lists have no meaning, and prepare or start may return VMOP_ERROR_BUSY: a dead
	 * process still had the buffer. It is free now, but dom0 must list this domain again.
	 */
	struct vmop_error *(*prepare)(struct vmop_xen_transport *transport,
				      const struct vmop_xen_plan *plan);
	/*
	 * Start sampling. VMOP_ERROR_CANT: also if a listed active domain has not enabled its
	 * samples.
	 */
	struct vmop_error *(*start)(struct vmop_xen_transport *transport);
	struct vmop_error *(*stop)(struct vmop_xen_transport *transport);
	struct vmop_error *(*release)(struct vmop_xen_transport *transport);
	/*
	 * Deliver the entries with a time before up_to_ns if the transport has times; else all, and
	 * also if a buffer is about to overflow. Also allowed between stop and release.
	 */
	void (*drain)(struct vmop_xen_transport *transport, uint64_t up_to_ns,
		      const struct vmop_xen_entry_sink *sink);
	/* Return how often since open a buffer was skipped because of impossible indices. */
	uint64_t (*n_corrupt)(const struct vmop_xen_transport *transport);
};

/* The first member of every transport's own struct. */
struct vmop_xen_transport {
	const struct vmop_xen_transport_ops *ops;
};

extern const struct vmop_xen_transport_ops vmop_xen_transport_user_ops,
	vmop_xen_transport_module_ops, vmop_xen_transport_active_ops;

#endif
