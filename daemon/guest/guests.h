// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples of passive guests, between the moment when they are taken and the flush that
 * attributes them.
 *
 * The source delivers the address and the vCPU of such a sample, and on some hosts its context: the
 * guest's task, the page of the code, and pieces of the stacks (vmop/guest-context.h).  A sample
 * waits until a thread (watch.h) has found the file of that page or, without a context, has read
 * what the vCPUs ran before and after it:
 *
 *	1. daemon/profile/attribute.c finds the domain and vCPU of the sample, and passes it to
 *	   vmop_guests_hold, which appends it to a queue of held samples (held-samples.h).  With a
 *	   context it requests the facts that it lacks (context/samples.h), and unwinds the stacks
 *	   (stacks/sample-unwinder.h): only the addresses of the callers are kept.
 *	2. At the flush vmop_guests_release takes the newest view of each guest: the code of its
 *	   kernel becomes the domain's, and symbols of files become their images'.
 *	3. It attributes each held sample to a task and an image, by its context and the rules of
 *	   context/placement.h, or by that view and the rules of attribution.h.
 *	4. It puts each attributed sample into the caller's sink, which adds it to the aggregate.
 *
 * A held sample is a record of fixed size: its key, domain, vCPU, address, time and weight.  Its
 * callers are n_frames addresses in the queue's buffer, from first_frame on.
 *
 * Samples of a new guest wait while the guest is searched, at most some seconds, and are stored in
 * a later interval than that in which they were taken.  A guest without a kernel that can be found
 * may be booting: its kernel samples wait 15 s.
 *
 * All functions are for the sampling thread, and none of them waits for a guest.
 */
#ifndef VMOP_DAEMON_GUEST_GUESTS_H
#define VMOP_DAEMON_GUEST_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/guest/guest-sample.h"
#include "daemon/guest/off-cpu/batch.h"
#include "daemon/guest/view.h"
#include "daemon/guest/watch.h"
#include "daemon/profile/sample-key.h"
#include "vmop/guest-context.h"
#include "vmop/record.h"
#include "vmop/stack.h"

struct vmop_code_store;
struct vmop_guest_maps;
struct vmop_guests;
struct vmop_off_cpu;
struct vmop_tasks;

/*
 * Create *ret and start the watching thread.  cpu_permille: the CPU time that it may take, in
 * thousandths of one CPU.  off_cpu: how blocked threads are sampled; NULL: they are not.  domains,
 * images and tasks must outlive *ret.  watch: the thread of a session before with the same options,
 * which is taken over, and *watch becomes NULL; NULL, or NULL in it: none.
 */
struct vmop_error *vmop_guests_create(struct vmop_domains *domains, struct vmop_images *images,
				      struct vmop_tasks *tasks, unsigned cpu_permille,
				      const struct vmop_off_cpu *off_cpu,
				      struct vmop_guest_watch **watch, struct vmop_guests **ret);
/*
 * Destroy guests, but return its watching thread for the next session. The thread keeps its
 * readers of guests for a while, and the source the numbers of their kernels: samples go on to have
 * contexts. The caller owns it (vmop_guest_watch_destroy()).
 */
struct vmop_guest_watch *vmop_guests_end_session(struct vmop_guests *guests);
void vmop_guests_destroy(struct vmop_guests *guests); /* NULL is allowed */

/*
 * Use the maps by which the source captures the contexts of guests' samples; NULL: it captures
 * none. stacks: what the source captures of stacks, copied. Call it before the first tick; maps
 * must outlive guests.
 */
void vmop_guests_set_maps(struct vmop_guests *guests, struct vmop_guest_maps *maps,
			  const struct vmop_stack_options *stacks);

/*
 * Store sampled code of guests in a store; NULL: store no code. Call it before the first tick;
 * store must outlive guests.
 */
void vmop_guests_set_code(struct vmop_guests *guests, struct vmop_code_store *store);

/* Watch guests that came, and stop watching guests that went. Call it about once a second. */
void vmop_guests_tick(struct vmop_guests *guests);

/*
 * Return whether files of some guest were looked for too late in the last seconds: programs that
 * live for milliseconds delete them. Then the rings must be drained sooner.
 */
bool vmop_guests_lose_files(const struct vmop_guests *guests);

/* Take what the watching thread found since the last call. Call it after each drain. */
void vmop_guests_drained(struct vmop_guests *guests);

/*
 * Hold a sample of a passive guest until the flush.  key lacks only the task, image and certainty.
 * vcpu: -1 if it is not known.  context: what the vCPU ran, or NULL.  False: no room, and the
 * caller attributes it without a task.  For the per-sample path.
 */
bool vmop_guests_hold(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_sample_key *key, const struct vmop_record *record,
		      int32_t vcpu, const struct vmop_guest_context *context);

/* The callers of a sample, as the source unwound them. */
struct vmop_guest_held_frames {
	const uint64_t *frames; /* innermost first, packed (vmop/guest-frame.h) */
	size_t n;
	enum vmop_stack_end end;
};

/* Do the same with a sample that has callers, but no context. */
bool vmop_guests_hold_frames(struct vmop_guests *guests, struct vmop_domain *domain,
			     const struct vmop_sample_key *key, const struct vmop_record *record,
			     int32_t vcpu, const struct vmop_guest_held_frames *frames);

/*
 * Return the callers of the sample that vmop_guests_hold got last, also if it found no room for
 * that; NULL: it has no stack. They are valid until the next call of a function of this header.
 */
const struct vmop_guest_callers *vmop_guests_callers(const struct vmop_guests *guests);

/*
 * Keep the state in which a guest left its vCPU, until the next sample of that CPU and thread. For
 * the per-sample path.
 */
void vmop_guests_keep_state(struct vmop_guests *guests, struct vmop_domain *domain, uint32_t cpu,
			    uint32_t tid, const struct vmop_guest_context *context);

/*
 * Return the frames of the state that was kept for that CPU and thread, whose first one is the
 * guest's instruction itself, and drop the state. NULL: no state was kept. They are valid until the
 * next call of a function of this header. For the per-sample path.
 */
const struct vmop_stack_frames *vmop_guests_take_state(struct vmop_guests *guests, uint32_t cpu,
						       uint32_t tid);

/* As vmop_guest_watch_probe. ABSENT also for a domain that is not watched. */
enum vmop_guest_probed vmop_guests_probe(struct vmop_guests *guests,
					 const struct vmop_domain *domain,
					 const struct vmop_guest_probe *probe,
					 uint8_t ret[VMOP_GUEST_PROBE_BYTES]);

/* Return whether a flush is due because the queue of held samples is nearly full. */
bool vmop_guests_want_flush(const struct vmop_guests *guests);

/* Return the number of samples that wait for the next flush, or for a later one. */
uint32_t vmop_guests_n_held(const struct vmop_guests *guests);

struct vmop_guest_sink {
	void (*put)(void *arg, const struct vmop_guest_sample *sample);
	void *arg;
};

/*
 * Attribute the held samples and put each into sink, before an interval is stored.  Samples of
 * guests that are still being searched stay held.
 */
void vmop_guests_release(struct vmop_guests *guests, const struct vmop_guest_sink *sink);

struct vmop_guest_blocked_sink {
	void (*put)(void *arg, struct vmop_guest_blocked *blocked);
	void *arg;
};

/* Put the blocked threads of all guests since the last call into sink. Follows a release. */
void vmop_guests_release_blocked(struct vmop_guests *guests,
				 const struct vmop_guest_blocked_sink *sink);

/* Losses of the blocked samples of all guests since the creation. */
struct vmop_guests_blocked_losses {
	uint64_t n_missed; /* rounds */
	uint64_t n_torn;   /* threads */
	uint64_t n_refused;
};
void vmop_guests_blocked_losses(const struct vmop_guests *guests,
				struct vmop_guests_blocked_losses *ret);

/* Return the totals of a domain's blocked threads; NULL: they are not sampled, or not yet. */
const struct vmop_blocked_facts *vmop_guests_blocked_facts(const struct vmop_guests *guests,
							   const struct vmop_domain *domain);

/* Set whether the next release is the last one, which leaves no sample held. */
void vmop_guests_set_ending(struct vmop_guests *guests, bool is_ending);

/*
 * Take the symbols of guests' files that are not read yet, which a saved session cannot get later.
 * Waits for them at most 250 ms. Follows the last release.
 */
void vmop_guests_take_last_symbols(struct vmop_guests *guests);
/* Return the number of files whose symbols that call could not take. */
uint64_t vmop_guests_n_symbols_unread(const struct vmop_guests *guests);

/* Return the view of a domain, valid until the next release or tick; NULL: it has none. */
const struct vmop_guest_view *vmop_guests_view(const struct vmop_guests *guests,
					       const struct vmop_domain *domain);

#endif
