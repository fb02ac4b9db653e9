// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples with a context (vmop/guest-context.h): requests what they need, and attributes them. The
 * task is the context's, the place follows the rules of placement.h.
 *
 * A context counts only if it was captured by the numbers of the kernel in the guest's view. The
 * structs of another kernel have their fields elsewhere, so the captured words can be anything.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_SAMPLES_H
#define VMOP_DAEMON_GUEST_CONTEXT_SAMPLES_H

#include "daemon/guest/watched.h"

/* Return whether contexts of this generation are of the kernel in the guest's newest view. */
static inline bool vmop_guest_context_is_current(const struct vmop_watched_guest *watched,
						 uint64_t generation)
{
	return watched && watched->view && generation &&
	       watched->view->numbers.generation == generation;
}

/* Count a sample with its context, or without one (NULL). On the per-sample path. */
static inline void vmop_guest_context_count(struct vmop_watched_guest *watched,
					    const struct vmop_guest_context *context)
{
	if (!context)
		watched->n_without_context++;
	else if (context->parts & VMOP_GUEST_HAS_TASK)
		watched->n_with_task++;
	else
		watched->n_by_gap[context->gap < VMOP_GUEST_N_GAPS ? context->gap : 0]++;
}

/* Set *ret to what a held sample keeps of context; it has no stack. On the per-sample path. */
void vmop_guest_context_keep(const struct vmop_guest_context *context,
			     struct vmop_held_context *ret);

/*
 * Request what a sample at address needs to be attributed, and is not known yet. context is
 * current; kept is of it. Return the process as vmop_guest_context_process(). On the per-sample
 * path; takes the lock of the watching thread once for each new page, process and perf map.
 */
const struct vmop_guest_process *
vmop_guest_context_request(struct vmop_guests *guests, struct vmop_domain *domain,
			   const struct vmop_guest_context *context,
			   const struct vmop_held_context *kept, uint64_t address,
			   uint64_t time_ns);

/*
 * Return the process of a context with its mappings, from the newest list that has it. NULL: none,
 * or none since it executed its present program.
 */
const struct vmop_guest_process *
vmop_guest_context_process(const struct vmop_watched_guest *watched,
			   const struct vmop_held_context *context);

/*
 * The intervals for which samples wait for an answer: while the watching thread reads a kernel's
 * symbols again, on a machine that gives it little of the CPU, answers take longer than one.
 */
#define VMOP_GUEST_ANSWER_INTERVALS 4

/* Return whether an answer for a held sample is awaited, so that the sample stays held. */
bool vmop_guest_context_waits(const struct vmop_watched_guest *watched,
			      const struct vmop_held_sample *held,
			      const struct vmop_held_context *context);

/*
 * Attribute a held sample whose context is current. Completes *sample, whose image is known for
 * kernel code. Return the process as vmop_guest_context_process().
 */
const struct vmop_guest_process *
vmop_guest_context_attribute(struct vmop_guests *guests, const struct vmop_held_sample *held,
			     const struct vmop_held_context *context,
			     struct vmop_guest_sample *sample);

/*
 * Set *caller to the file of the page in a current context, if that is known, in place of one by
 * the mappings. On the per-sample path.
 */
void vmop_guest_context_place_known(const struct vmop_watched_guest *watched,
				    const struct vmop_held_context *context, uint64_t address,
				    struct vmop_stack_caller *caller);

/* Take the answers of the watching thread. Call it between samples. */
void vmop_guest_take_answers(struct vmop_guests *guests);

/* Begin the next interval of a guest, after its samples were released. */
void vmop_guest_context_next_interval(struct vmop_guests *guests, struct vmop_domain *domain);

#endif
