// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's profiling interface in the order that works, and back.  xen/common/xenoprof.c has states
 * (idle, counters reserved, ready, profiling) and checks only some of its calls against them; out
 * of order they leak pages, refuse domains until the next boot of the machine, or panic Xen:
 *
 *  - INIT while samples are taken ends in a panic at the next sample.  So whoever may follow a
 *    dead session stops that first (vmop_xenoprof_recover).
 *  - A passive domain that was destroyed lives on as a zombie until RELEASE_COUNTERS, which frees
 *    its buffer; unmapping that afterwards ends in a panic.  So buffers are unmapped before.
 *  - A buffer stays shared until DISABLE_VIRQ (own) or the passive list is emptied; sharing it
 *    once more meanwhile is refused (EBUSY), so each way out makes up for what was not reached.
 *
 * One is beyond any order of calls: RELEASE_COUNTERS frees the tables that Xen's NMI handler reads
 * and takes the handler away only then (do_xenoprof_op: arch_release_counters before
 * arch_disable_virq).  No counter's NMI can come in these microseconds, for STOP has silenced the
 * counters of every CPU and RELEASE_COUNTERS interrupts each once more before; any other NMI
 * (a button, a failing device) panics Xen there.  So Xen's lists are changed once for all domains
 * that came or went, not once for each.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XENOPROF_CONTROL_H
#define VMOP_HV_INTERFACE_XEN_XENOPROF_CONTROL_H

#include <stdbool.h>

#include "hv-interface/xen/link.h"
#include "hv-interface/xen/transport.h"
#include "hv-interface/xen/xenoprof-buffer.h"

/* Of one domain: its rings in mapped memory. */
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
	struct vmop_xenoprof_set sets[1 + VMOP_XENOPROF_DOMAINS_MAX]; /* the first is our own */
	size_t n_sets;
	/* What there is to undo. */
	bool is_shared, is_listed, is_reserved, is_started;
};

enum vmop_xenoprof_state {
	VMOP_XENOPROF_ABSENT,	 /* this Xen has no such interface */
	VMOP_XENOPROF_FREE,	 /* nobody here commands it */
	VMOP_XENOPROF_COMMANDED, /* somebody in this domain does, or died doing it */
};

/* Asks without changing anything. */
enum vmop_xenoprof_state vmop_xenoprof_probe(struct vmop_xen_link *link);

/*
 * Ends whatever session this domain has left behind, in whichever state, and its command of
 * the interface.  Must not be called while another profiler lives.  What doesn't apply, Xen
 * refuses.
 */
void vmop_xenoprof_recover(struct vmop_xen_link *link);

/*
 * Takes command.  VMOP_ERROR_CANT: the processor is unknown to Xen, another domain commands.
 * xenoprof is the caller's; after an error nothing is left to be done.
 */
struct vmop_error *vmop_xenoprof_open(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link);

/*
 * Lists, buffers, counters; see vmop_xen_transport_ops.prepare.  After an error it is as after
 * vmop_xenoprof_release.
 */
struct vmop_error *vmop_xenoprof_prepare(struct vmop_xenoprof *xenoprof,
					 const struct vmop_xen_plan *plan);
struct vmop_error *vmop_xenoprof_start(struct vmop_xenoprof *xenoprof);
/* What is in the buffers may still be read. */
struct vmop_error *vmop_xenoprof_stop(struct vmop_xenoprof *xenoprof);
/* Unmaps the buffers and gives back counters and domains; stops first, if need be. */
void vmop_xenoprof_release(struct vmop_xenoprof *xenoprof);
/* Gives up the command too. */
void vmop_xenoprof_close(struct vmop_xenoprof *xenoprof);

/*
 * The part of a domain that does not command but sees to its own samples, once dom0 has put it on
 * its list and before it starts.  INIT is left out: it tells an active domain nothing it
 * needs, and in the middle of a session it would bring down Xen, whoever calls it.
 *
 * vmop_xenoprof_join takes the buffer.  *ret_is_stuck: not yet; one that died had it still.
 * It is given back now, and dom0 must empty its list and put this domain on it again.
 */
struct vmop_error *vmop_xenoprof_join(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link,
				      uint32_t max_samples, bool *ret_is_stuck);
/* From now on dom0 may start. */
struct vmop_error *vmop_xenoprof_make_ready(struct vmop_xenoprof *xenoprof);
/*
 * Gives the buffer back: after dom0 has stopped and before it empties its list.  Else Xen
 * refuses, which is VMOP_ERROR_CANT, and the next join makes up for it.
 */
struct vmop_error *vmop_xenoprof_leave(struct vmop_xenoprof *xenoprof);

#endif
