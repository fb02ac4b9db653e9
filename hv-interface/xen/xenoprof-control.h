// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's profiling interface, called in the only safe order, and back. xen/common/xenoprof.c has
 * states (idle, counters reserved, ready, profiling) and checks only some of its calls against
 * them. In another order they leak pages, refuse domains until the machine reboots, or panic Xen:
 *
 * - INIT while samples are taken ends in a panic at the next sample. So a successor of a dead
 *   session stops that first (vmop_xenoprof_recover).
 * - A destroyed passive domain lives on as a zombie until RELEASE_COUNTERS, which frees its buffer;
 *   unmapping that afterwards ends in a panic. So buffers are unmapped before.
 * - A buffer stays shared until DISABLE_VIRQ (own) or the passive list is emptied; sharing it again
 *   meanwhile is refused (EBUSY). So each way out also undoes the steps that an earlier one missed.
 *
 * One hazard remains in any order: RELEASE_COUNTERS frees the tables that Xen's NMI handler reads
 * and removes the handler only then (do_xenoprof_op: arch_release_counters before
 * arch_disable_virq). No counter's NMI can come in these microseconds: STOP has silenced the
 * counters of every CPU, and RELEASE_COUNTERS interrupts each CPU once more before. Any other NMI
 * (a button, a failing device) panics Xen there. So Xen's lists are changed once for all domains
 * that came or went, not once for each.
 *
 * One thread.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XENOPROF_CONTROL_H
#define VMOP_HV_INTERFACE_XEN_XENOPROF_CONTROL_H

#include <stdbool.h>

#include "hv-interface/xen/link.h"
#include "hv-interface/xen/transport.h"
#include "hv-interface/xen/xenoprof-buffer.h"

/* One domain's rings in mapped memory. */
struct vmop_xenoprof_set {
	uint16_t domain;
	void *memory;
	size_t n_pages;
	struct vmop_xenoprof_ring *rings; /* n_rings of them, one a vCPU */
	uint32_t n_rings;
};

struct vmop_xenoprof {
	struct vmop_xen_link *link; /* not owned */
	struct vmop_xen_machine machine;
	/* the first is this domain's own */
	struct vmop_xenoprof_set sets[1 + VMOP_XENOPROF_DOMAINS_MAX];
	size_t n_sets;
	/* Steps that must be undone. */
	bool is_shared, is_listed, is_reserved, is_started;
	bool has_backtraces; /* Xen adds them until the depth is 0 or the command is given up */
};

enum vmop_xenoprof_state {
	VMOP_XENOPROF_ABSENT,	 /* this Xen has no such interface */
	VMOP_XENOPROF_FREE,	 /* no process here commands it */
	VMOP_XENOPROF_COMMANDED, /* a process in this domain commands it, or died doing so */
};

/* Return the state of Xen's interface without changing it. */
enum vmop_xenoprof_state vmop_xenoprof_probe(struct vmop_xen_link *link);

/*
 * End any session that this domain has left behind, in any state, and its command of the interface.
 * Must not be called while another profiler lives. Xen refuses the calls that do not apply.
 */
void vmop_xenoprof_recover(struct vmop_xen_link *link);

/*
 * Take command. *xenoprof is the caller's memory; after an error nothing must be undone.
 * VMOP_ERROR_CANT: the processor is unknown to Xen, or another domain commands.
 */
struct vmop_error *vmop_xenoprof_open(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link);

/*
 * Set lists, buffers and counters; see vmop_xen_transport_ops.prepare. After an error the state is
 * as after vmop_xenoprof_release.
 */
struct vmop_error *vmop_xenoprof_prepare(struct vmop_xenoprof *xenoprof,
					 const struct vmop_xen_plan *plan);
struct vmop_error *vmop_xenoprof_start(struct vmop_xenoprof *xenoprof);
/* Stop sampling. The buffers can still be read. */
struct vmop_error *vmop_xenoprof_stop(struct vmop_xenoprof *xenoprof);
/* Unmap the buffers and give back counters and domains; stop first if necessary. */
void vmop_xenoprof_release(struct vmop_xenoprof *xenoprof);
/* Give up the command as well. */
void vmop_xenoprof_close(struct vmop_xenoprof *xenoprof);

/*
 * The part of a domain that takes its own samples without command, between dom0's listing and its
 * start. It leaves out INIT, which has no use in an active domain and in the middle of a session
 * would bring down Xen, whoever calls it.
 *
 * vmop_xenoprof_join takes the buffer. *ret_is_stuck: not taken, because a dead process still had
 * it. It is given back now, and dom0 must empty its list and put this domain on it again.
 */
struct vmop_error *vmop_xenoprof_join(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link,
				      uint32_t max_samples, bool *ret_is_stuck);
/* Get ready: dom0 may start from now on. */
struct vmop_error *vmop_xenoprof_make_ready(struct vmop_xenoprof *xenoprof);
/*
 * Give the buffer back, after dom0 has stopped and before it empties its list. Otherwise Xen
 * refuses (VMOP_ERROR_CANT), and the next join repeats it.
 */
struct vmop_error *vmop_xenoprof_leave(struct vmop_xenoprof *xenoprof);

#endif
