// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Losses, counted by name and event.  Each interval stores the difference to the previous one.
 *
 * | name            | counts                                                          |
 * |-----------------|-----------------------------------------------------------------|
 * | lost            | records for which the kernel had no room                        |
 * | throttled       | times that the kernel throttled an event on a CPU               |
 * | unhandled       | records of a type that the source does not support              |
 * | malformed       | records with impossible values                                  |
 * | store-full      | samples dropped because the session could not be written        |
 * | store-gone      | samples taken while the session's file or directory was missing |
 * | table-full      | samples dropped because the aggregate was full                  |
 * | sample-rejected | samples in rows that the session can't hold                     |
 * | fact-rejected   | other rows that the session can't hold: symbols, images, tasks  |
 * | maps-unread     | processes with user samples whose mappings could not be read    |
 * | process-limit   | records and samples of processes above the limit                |
 * | mapping-limit   | executable mappings above the limit                             |
 * | image-limit     | files above the limit                                           |
 * | guest-limit     | samples of guests above the limit                               |
 * | stale-address   | samples of Xen's HVM and PVH guests on AMD, which are not lost: |
 * |                 | their address is of the guest's previous exit                   |
 * | unsampled-ms    | milliseconds without sampling, while Xen's lists changed        |
 * | blocked-rounds  | times that guests' blocked threads were due and not read: the   |
 * |                 | limit guest-cpu; the next reading counts for the time as well   |
 * | blocked-torn    | threads of guests that changed while they were read             |
 * | blocked-limit   | blocked threads of guests above the limit                       |
 * | memory-limit    | samples whose call stacks were not kept, because the memory of  |
 * |                 | the daemon's cgroup was short                                   |
 * | symbols-unread  | sampled files of guests whose symbols were not read before the  |
 * |                 | session ended                                                   |
 */
#ifndef VMOP_DAEMON_PROFILE_LOSSES_H
#define VMOP_DAEMON_PROFILE_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"

enum vmop_loss {
	VMOP_LOSS_LOST,
	VMOP_LOSS_THROTTLED,
	VMOP_LOSS_UNHANDLED,
	VMOP_LOSS_MALFORMED,
	VMOP_LOSS_STORE_FULL,
	VMOP_LOSS_STORE_GONE,
	VMOP_LOSS_TABLE_FULL,
	VMOP_LOSS_SAMPLE_REJECTED,
	VMOP_LOSS_FACT_REJECTED,
	VMOP_LOSS_MAPS_UNREAD,
	VMOP_LOSS_PROCESS_LIMIT,
	VMOP_LOSS_MAPPING_LIMIT,
	VMOP_LOSS_IMAGE_LIMIT,
	VMOP_LOSS_GUEST_LIMIT,
	VMOP_LOSS_STALE,
	VMOP_LOSS_UNSAMPLED_MS,
	VMOP_LOSS_BLOCKED_ROUNDS,
	VMOP_LOSS_BLOCKED_TORN,
	VMOP_LOSS_BLOCKED_LIMIT,
	VMOP_LOSS_MEMORY_LIMIT,
	VMOP_LOSS_SYMBOLS_UNREAD,
	VMOP_N_LOSSES,
};

#define VMOP_LOSS_EVENTS_MAX 64 /* events with counts of their own */

struct vmop_losses {
	uint64_t now[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	uint64_t stored[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	uint64_t putting[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	/* Counts that the previous file could not store; this file stores them. */
	uint64_t inherited[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
};

/* Add n to the losses of event; 0 if they concern no event in particular. */
void vmop_losses_add(struct vmop_losses *losses, enum vmop_loss loss, uint32_t event, uint64_t n);

/* Raise the sum over all events to total.  The difference counts as that of event. */
void vmop_losses_total_of(struct vmop_losses *losses, enum vmop_loss loss, uint32_t event,
			  uint64_t total);

/* The same for event 0. */
void vmop_losses_total(struct vmop_losses *losses, enum vmop_loss loss, uint64_t total);

/* Return the sum over all events, inherited counts included. */
uint64_t vmop_losses_sum(const struct vmop_losses *losses, enum vmop_loss loss);
/* Take over the counts that `before` has not stored. */
void vmop_losses_inherit(struct vmop_losses *losses, const struct vmop_losses *before);
/* Put the counts since the last stored interval into db's open interval. */
struct vmop_error *vmop_losses_store(struct vmop_losses *losses, struct vmop_db *db);
/* Mark the put counts as stored.  Call it after the commit. */
void vmop_losses_stored(struct vmop_losses *losses);

#endif
