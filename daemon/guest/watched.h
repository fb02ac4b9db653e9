// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state of guests.h, open to the files that implement it: guests.c, images.h's and off-cpu/.
 */
#ifndef VMOP_DAEMON_GUEST_WATCHED_H
#define VMOP_DAEMON_GUEST_WATCHED_H

#include "daemon/guest/attribution.h"
#include "daemon/guest/domain.h"
#include "daemon/guest/guests.h"
#include "daemon/guest/held-samples.h"
#include "daemon/guest/tasks.h"
#include "daemon/guest/view.h"
#include "daemon/guest/watch.h"

/* The sampling thread's state of one watched guest. */
struct vmop_watched_guest {
	struct vmop_guest_view *view;		    /* NULL: none yet */
	uint64_t begun_ns;			    /* CLOCK_MONOTONIC: when watching began */
	uint32_t code_generation, tasks_generation; /* of the last view */
	struct vmop_guest_tasks_table tasks;
	struct vmop_guest_attributor attributor; /* by view */
	/* The mapping of the last look-up and its image, valid for tasks_generation. */
	const struct vmop_guest_vma *last_vma;
	struct vmop_image *last_image;

	/* With --off-cpu. */
	struct vmop_blocked_facts blocked; /* of the last take */
	bool has_all_blocked;		   /* they were taken after the guest ended */
};

struct vmop_guests {
	struct vmop_domains *domains;
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_guest_watch *watch;
	struct vmop_held_samples held;
	bool is_ending;

	bool has_blocked;	   /* blocked threads are sampled (--off-cpu) */
	uint64_t n_blocked_missed; /* rounds, of all guests */
	uint64_t n_blocked_refused, n_blocked_torn;
	struct vmop_guest_blocked present; /* the one that is released */
};

#endif
