// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The key of a sample: everything but its offset.  It equals struct vmop_db_chunk_key, except that
 * image and task are of the daemon's tables; profiler.c translates them when it stores a chunk.
 */
#ifndef VMOP_DAEMON_PROFILE_SAMPLE_KEY_H
#define VMOP_DAEMON_PROFILE_SAMPLE_KEY_H

#include <stdint.h>

#include "daemon/host/ids.h"

struct vmop_sample_key {
	uint32_t event;
	uint32_t domain;   /* that ran the code */
	uint32_t billed;   /* guest that the work was done for; == domain with VMOP_BILL_SELF */
	uint8_t bill;	   /* enum vmop_bill */
	uint8_t mode;	   /* enum vmop_mode */
	uint8_t certainty; /* enum vmop_certainty */
	int32_t vcpu;	   /* -1: vCPUs are not separated, or none ran */
	int32_t cpu;	   /* -1: CPUs are not separated */
	struct vmop_task_id task;
	struct vmop_image_slot image;
	uint32_t stack; /* leaf of an interned stack; 0: none */
};

#endif
