// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What could not be sampled, delivered, attributed or read, counted by name and
 * event; stored as the difference since the interval before.
 *
 * | name          | what is counted                                                   |
 * |---------------|-------------------------------------------------------------------|
 * | lost          | records that the kernel had no room for                           |
 * | throttled     | times that the kernel held an event back on a CPU                 |
 * | unhandled     | records of a type that the source does not know                   |
 * | malformed     | records that can't be what they say                               |
 * | store-full    | samples dropped because the session could not be written          |
 * | store-gone    | samples taken while the session's file or directory was not there   |
 * | table-full    | samples dropped because more places were hit than an interval has room for |
 * | sample-rejected | samples in rows that the session can't hold                      |
 * | fact-rejected | other rows that the session can't hold: symbols, images, tasks    |
 * | maps-unread   | processes with user samples whose mappings could not be read      |
 * | process-limit | records and samples of processes beyond those that are kept track of |
 * | mapping-limit | executable mappings beyond those that are kept track of           |
 * | image-limit   | files beyond those that are kept track of                         |
 * | guest-limit   | samples of guests beyond those that are kept track of             |
 * | stale-address | samples (none of them lost) of Xen's HVM and PVH guests on AMD: their    |
 * |               | address is where the guest was at its exit before                       |
 * | unsampled-ms  | milliseconds that nobody was sampled, while Xen's lists changed           |
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
	VMOP_N_LOSSES,
};

#define VMOP_LOSS_EVENTS_MAX 64 /* events that are counted each for itself */

struct vmop_losses {
	uint64_t now[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	uint64_t stored[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	uint64_t putting[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
	/* Counted for the previous file, which could not store them: stored in this one. */
	uint64_t inherited[VMOP_N_LOSSES][VMOP_LOSS_EVENTS_MAX];
};

/* Counts n more of what concerns event (0 where none in particular). */
void vmop_losses_add(struct vmop_losses *losses, enum vmop_loss loss, uint32_t event, uint64_t n);

/* All of them together are total by now: what no event was counted for is event 0's. */
void vmop_losses_total(struct vmop_losses *losses, enum vmop_loss loss, uint64_t total);

/* Return the sum over all events, inherited counts included. */
uint64_t vmop_losses_sum(const struct vmop_losses *losses, enum vmop_loss loss);
/* Take over the counts that `before` has not stored. */
void vmop_losses_inherit(struct vmop_losses *losses, const struct vmop_losses *before);
struct vmop_error *vmop_losses_store(struct vmop_losses *losses, struct vmop_db *db);
/* After the commit. */
void vmop_losses_stored(struct vmop_losses *losses);

#endif
