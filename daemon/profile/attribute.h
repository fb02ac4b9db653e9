// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a sample to its key: who (domain, vCPU, task, whose bill) and where
 * (image, offset, mode).  The per-sample path: no allocation, no lock, no system
 * call, no error object.
 */
#ifndef VMOP_DAEMON_PROFILE_ATTRIBUTE_H
#define VMOP_DAEMON_PROFILE_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/guest/guests.h"
#include "daemon/guest/provider.h"
#include "daemon/host/kernel.h"
#include "daemon/host/process.h"
#include "daemon/profile/aggregate.h"
#include "vmop/record.h"

#define VMOP_ATTRIBUTE_CPUS 64	     /* last-hit caches; CPUs beyond share them */
#define VMOP_ATTRIBUTE_QUEUE_MAX 128 /* processes whose maps are read at a flush */

struct vmop_attribution {
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_processes *processes;
	struct vmop_domains *domains;
	struct vmop_domain_provider *provider;
	struct vmop_kernel *kernel;
	struct vmop_aggregate *aggregate;
	struct vmop_guests *guests; /* NULL: nothing looks into guests */
	unsigned separate;	    /* enum vmop_setup_separate */
	uint32_t n_events;

	/* Whose samples each CPU gave last. */
	struct vmop_process *last[VMOP_ATTRIBUTE_CPUS];
	uint64_t last_generation;
	/* Processes with samples that their mappings don't explain: to be read at the flush. */
	struct vmop_process *queue[VMOP_ATTRIBUTE_QUEUE_MAX];
	uint32_t n_queue;

	uint64_t samples, unattributed;
	uint64_t malformed; /* of events that the source doesn't have */
	uint64_t no_room;   /* the aggregate was full */
	uint64_t stale;	    /* see vmop_domain.has_stale_addresses */
};

void vmop_attribute(struct vmop_attribution *attribution, const struct vmop_record *record);

/*
 * Before the interval is stored: reads the maps of queued processes, looks for
 * kernel modules that came, and gives samples that these explain their place, and
 * those of guests that were held.
 */
void vmop_attribution_settle(struct vmop_attribution *attribution);

#endif
