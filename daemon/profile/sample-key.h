// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The key of a sample: everything but its offset.  It equals struct vmop_db_chunk_key, except that
 * image and task are of the daemon's tables; flush.c translates them when it stores a chunk.
 */
#ifndef VMOP_DAEMON_PROFILE_SAMPLE_KEY_H
#define VMOP_DAEMON_PROFILE_SAMPLE_KEY_H

#include <stdint.h>

#include "daemon/host/ids.h"
#include "vmop/ids.h"

struct vmop_sample_key {
	struct vmop_event_id event;
	struct vmop_domain_id domain; /* that ran the code */
	/* The guest that the work was done for; with VMOP_BILL_SELF the same as domain. */
	struct vmop_domain_id billed;
	uint8_t bill;	   /* enum vmop_bill */
	uint8_t mode;	   /* enum vmop_mode */
	uint8_t certainty; /* enum vmop_certainty */
	int32_t vcpu;	   /* -1: vCPUs are not separated, or none ran */
	int32_t cpu;	   /* -1: CPUs are not separated */
	struct vmop_task_id task;
	struct vmop_image_slot image;
	struct vmop_stack_id stack; /* of the callers; 0: none was captured */
};

#endif
