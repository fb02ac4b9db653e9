// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples of active guests that wait until they are handed to the guests' agents: a queue for
 * each guest whose agent has a session.
 *
 * take is on the per-sample path: it copies a sample and its call stack into room that is there
 * already. A queue that is full counts what it drops. A stack that finds no room is counted, too,
 * and its sample has one that ends with VMOP_STACK_TOO_MANY. One thread.
 */
#ifndef VMOP_DAEMON_ACTIVE_HANDING_H
#define VMOP_DAEMON_ACTIVE_HANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/active/links.h"
#include "daemon/guest/sample-copy.h"
#include "hv-interface/active-samples.h"

#define VMOP_HANDING_SAMPLES_MAX 32768 /* of a guest: a second of 32 busy vCPUs at 1 kHz */
#define VMOP_HANDING_FRAMES_MAX (16 * VMOP_HANDING_SAMPLES_MAX) /* of their stacks */

/* Batches of a guest that one step sends. */
#define VMOP_HANDING_BATCHES_MAX 16

struct vmop_handing;

struct vmop_error *vmop_handing_create(struct vmop_handing **ret);
void vmop_handing_destroy(struct vmop_handing *handing); /* NULL is allowed */

/* Return the receiver of samples, valid as long as handing. */
struct vmop_sample_copy vmop_handing_copy(struct vmop_handing *handing);

enum vmop_handing_kind {
	VMOP_HANDING_OFF,
	VMOP_HANDING_SAMPLES,  /* to an older agent: samples of nested guests are as its own */
	VMOP_HANDING_EXTENDED, /* batches of version 2 */
	VMOP_HANDING_STACKS,   /* the same, with call stacks */
};

/*
 * Begin a queue for the guest of a VMM, or end it and drop its samples. Another kind than before
 * begins it anew. Without memory it is not begun, and a later call tries again.
 */
void vmop_handing_set(struct vmop_handing *handing, uint32_t vmm_pid, enum vmop_handing_kind kind);

/* The sums of a guest since its queue began. */
struct vmop_handing_sums {
	uint64_t n_samples, n_bytes;
	uint64_t n_lost;	/* samples that found no room */
	uint64_t n_stacks_lost; /* stacks that found no room, of other samples */
};

/* Set *ret to the sums of the guest of a VMM. Return false if it has no queue. */
bool vmop_handing_sums(struct vmop_handing *handing, uint32_t vmm_pid,
		       struct vmop_handing_sums *ret);

/* Note that all samples before that time (CLOCK_MONOTONIC) were taken. */
void vmop_handing_complete(struct vmop_handing *handing, uint64_t complete_ns);

/*
 * Return whether it is time to send what waits for a guest. A few samples wait for more, because
 * each frame has some 25 bytes of its own; the agent waits up to two seconds for them.
 */
bool vmop_handing_is_due(struct vmop_handing *handing, uint32_t vmm_pid);

/*
 * Send what waits for a guest, as far as its connection accepts it now. Return true if nothing
 * waits any more.
 */
bool vmop_handing_send(struct vmop_handing *handing, struct vmop_active_links *links,
		       uint32_t vmm_pid);

#endif
