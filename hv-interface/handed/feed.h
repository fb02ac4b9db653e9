// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data that the host hands to this guest in one session: its events, its samples until the
 * source has placed them, and its clock.
 *
 * daemon/agent.c creates it and fills it with the payloads of the host's frames. handed.h takes
 * the samples out. One thread.
 */
#ifndef VMOP_HV_INTERFACE_HANDED_FEED_H
#define VMOP_HV_INTERFACE_HANDED_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/active-samples.h"
#include "hv-interface/handed/clock.h"
#include "hv-interface/handed/events.h"
#include "libutil/error.h"

#define VMOP_HANDED_SAMPLES_MAX 65536			      /* that wait for their place */
#define VMOP_HANDED_FRAMES_MAX (16 * VMOP_HANDED_SAMPLES_MAX) /* of their stacks */

struct vmop_handed_feed {
	struct vmop_handed_events events;
	struct vmop_handed_clock clock;
	int host_time_fd;		       /* of libutil/host-time.h; -1: none */
	struct vmop_active_sample *samples;    /* a ring, in the order of time */
	uint64_t n_put, n_taken;	       /* since all were taken */
	uint64_t *frames;		       /* a ring; NULL: the host has no stacks */
	uint64_t n_frames_put, n_frames_taken; /* since all were taken */
	uint64_t n_stacks_dropped;	       /* found no room */
	uint64_t last_ns;		       /* of the last sample; the host's time */
	uint64_t complete_ns;		       /* no earlier sample comes; the host's time */
	uint64_t n_lost;		       /* on the host */
	struct vmop_active_ask counts;	       /* asked_ns and error_ns are unused */
};

/* Create a feed for the events in the text of OPEN. VMOP_ERROR_CANT: it is malformed. */
struct vmop_error *vmop_handed_feed_create(const char *text, struct vmop_handed_feed **ret);
void vmop_handed_feed_destroy(struct vmop_handed_feed *feed); /* NULL is allowed */

/*
 * Take a batch. Return false if the host must not send it: malformed, of an unknown event, with
 * call stacks that were not announced, or earlier than those before. Samples that find no room are
 * counted, and so are stacks; the sample of such a stack has one that ends with
 * VMOP_STACK_TOO_MANY.
 */
bool vmop_handed_feed_batch(struct vmop_handed_feed *feed, const uint8_t *payload,
			    size_t len_bytes);

/* Make the payload of a question for the host's time, which has the counts. */
void vmop_handed_feed_ask(struct vmop_handed_feed *feed, uint8_t ret[VMOP_ACTIVE_ASK_BYTES]);

/* Take the answer to the last question. Return false if it answers none. */
bool vmop_handed_feed_clock(struct vmop_handed_feed *feed,
			    const uint8_t payload[VMOP_ACTIVE_CLOCK_BYTES]);

/* Return the oldest sample, or NULL. It is valid until it is taken. */
const struct vmop_active_sample *vmop_handed_feed_peek(const struct vmop_handed_feed *feed);
/* Return frame i of a sample that was not taken yet, innermost first (vmop/guest-frame.h). */
uint64_t vmop_handed_feed_frame(const struct vmop_handed_feed *feed,
				const struct vmop_active_sample *sample, size_t i);
void vmop_handed_feed_take(struct vmop_handed_feed *feed);

#endif
