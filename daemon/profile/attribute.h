// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attribution: finding a sample's key, who (domain, vCPU, task, bill) and where (image, offset,
 * mode).  The per-sample path: it allocates nothing, takes no lock, makes no system call and builds
 * no error object.
 */
#ifndef VMOP_DAEMON_PROFILE_ATTRIBUTE_H
#define VMOP_DAEMON_PROFILE_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/guest/guests.h"
#include "daemon/guest/provider.h"
#include "daemon/guest/sample-copy.h"
#include "daemon/host/kernel.h"
#include "daemon/host/process.h"
#include "daemon/profile/aggregate.h"
#include "daemon/profile/jit-samples.h"
#include "daemon/stack/stacks.h"
#include "vmop/record.h"

#define VMOP_ATTRIBUTE_CPUS 64	     /* caches of the last process; more CPUs share them */
#define VMOP_ATTRIBUTE_QUEUE_MAX 128 /* processes whose maps are read at one flush */

struct vmop_attribution {
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_processes *processes;
	struct vmop_domains *domains;
	struct vmop_domain_provider *provider;
	struct vmop_kernel *kernel;
	struct vmop_aggregate *aggregate;
	struct vmop_guests *guests;	      /* NULL: guests are not introspected */
	struct vmop_stacks *stacks;	      /* NULL: call stacks are not kept */
	struct vmop_jit_samples *jit_samples; /* NULL: no jitdumps are read */
	unsigned separate;		      /* enum vmop_setup_separate */
	uint32_t n_events;
	struct vmop_event_id blocked_event; /* of blocked threads; they need stacks */
	uint32_t max_frames;		    /* of their stacks */

	struct vmop_sample_copy copy; /* of active guests */

	uint64_t time_ns; /* of the sample that is being attributed */
	/* The stack and the process of the host's sample that is being attributed, or NULL. */
	const struct vmop_stack_capture *capture;
	struct vmop_process *process;
	/* The guest's frame for which the host works in that sample; id 0: none. */
	struct vmop_stack_node below;

	/* The process of each CPU's last sample. */
	struct vmop_process *last[VMOP_ATTRIBUTE_CPUS];
	uint64_t last_generation;
	/* Processes with samples outside their known mappings: the flush reads their maps. */
	struct vmop_process *queue[VMOP_ATTRIBUTE_QUEUE_MAX];
	uint32_t n_queue;
	bool text_waits; /* a sample in unknown kernel text waits for its stack */

	uint64_t samples, unattributed;
	uint64_t malformed; /* samples of events that the source lacks */
	uint64_t no_room;   /* samples for which the aggregate was full */
	uint64_t stale;	    /* see vmop_domain.has_stale_addresses */
};

/*
 * Attribute a sample with the call stack in capture, which may be NULL. Add it to the aggregate, or
 * hold it for its guest or until its stack can be unwound.
 */
void vmop_attribute(struct vmop_attribution *attribution, const struct vmop_record *record,
		    const struct vmop_stack_capture *capture);

/* Keep the state in which a guest left a vCPU, for the next sample of that CPU. */
void vmop_attribution_keep_guest_state(struct vmop_attribution *attribution,
				       const struct vmop_record *record,
				       const struct vmop_stack_capture *capture);

/* Add a sample that waited for its stack: the release of struct vmop_stacks_options. */
void vmop_attribution_put_stack_sample(void *arg, const struct vmop_stack_sample *sample);

/* Hold a sample until its process's jitdump is read: the hold of struct vmop_stacks_options. */
bool vmop_attribution_hold_jit_sample(void *arg, const struct vmop_stack_sample *sample,
				      const struct vmop_process *process,
				      const struct vmop_stack_frames *frames);

/* Add a sample that was held: the release of struct vmop_jit_samples_options. */
void vmop_attribution_put_jit_sample(void *arg, const struct vmop_stack_sample *sample,
				     uint32_t pid, const struct vmop_stack_frames *frames);

/*
 * Resolve the samples that could not be attributed at once, before their interval is stored.  Adds
 * the held samples of guests, reads the maps of queued processes, looks for new kernel modules, and
 * locates the samples that these explain. Adds the samples that waited for stacks and jitdumps, for
 * which the last interval has more time.
 */
void vmop_attribution_resolve_late(struct vmop_attribution *attribution, bool is_last);

#endif
