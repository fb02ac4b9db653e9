// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The insides of passive guests, as the sampling thread uses them: their
 * kernel's text in the domain's text map, and for each sample the task and the
 * file that it most likely is of.
 *
 * perf tells a guest sample's address and vCPU, and nothing of the guest's task.
 * So samples are held until their interval is stored, when the watcher has read
 * what the vCPUs ran before and after them, and are then placed by the rules of
 * guest/attribution.h.
 *
 * A guest that was just met is searched first: its samples wait for that, some
 * seconds at the most, and are then stored in a later interval than they were taken in. Of one
 * without a kernel that can be found, which may be booting, the kernel's samples wait 15 s.
 */
#ifndef VMOP_DAEMON_GUEST_GUESTS_H
#define VMOP_DAEMON_GUEST_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/guest/view.h"
#include "daemon/profile/sample-key.h"
#include "vmop/record.h"

struct vmop_guests;
struct vmop_tasks;

/* cpu_permille: what looking may cost, of one CPU. */
struct vmop_error *vmop_guests_create(struct vmop_domains *domains, struct vmop_images *images,
				      struct vmop_tasks *tasks, unsigned cpu_permille,
				      struct vmop_guests **ret);
/* NULL is allowed. The domains must still be there. */
void vmop_guests_destroy(struct vmop_guests *guests);

/*
 * The per-sample path: holds a sample of a passive guest, whose key is complete but
 * for task, image and certainty.  False: there is no room; the caller places it.
 */
bool vmop_guests_hold(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_sample_key *key, const struct vmop_record *record,
		      int32_t vcpu);

/* Much is held: time for a flush. */
bool vmop_guests_want_flush(const struct vmop_guests *guests);

/* Every second or so: watches guests that came, leaves those that went. */
void vmop_guests_tick(struct vmop_guests *guests);

/* Where a held sample belongs. image is never NULL. */
struct vmop_guest_placed {
	struct vmop_sample_key key; /* but for the image */
	struct vmop_image *image;
	uint64_t offset;
	uint64_t weight_events;
};

/*
 * Before an interval is stored: takes up what the watcher has found, and hands every
 * held sample to put.
 */
void vmop_guests_settle(struct vmop_guests *guests,
			void (*put)(void *arg, const struct vmop_guest_placed *placed), void *arg);

/* Whether the next settle is the last one, which puts samples of guests that are still searched,
 * too. */
void vmop_guests_set_ending(struct vmop_guests *guests, bool is_ending);

/* Samples that wait for the next settle, or for one after it. */
uint32_t vmop_guests_n_held(const struct vmop_guests *guests);

/* What is known of a domain's insides; NULL: nothing. Holds until the next settle or tick. */
const struct vmop_guest_view *vmop_guests_view(const struct vmop_guests *guests,
					       const struct vmop_domain *domain);

#endif
