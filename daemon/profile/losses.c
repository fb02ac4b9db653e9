// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/losses.h"

#include <string.h>

static const char *const names[VMOP_N_LOSSES] = {
	[VMOP_LOSS_LOST] = "lost",
	[VMOP_LOSS_THROTTLED] = "throttled",
	[VMOP_LOSS_UNHANDLED] = "unhandled",
	[VMOP_LOSS_MALFORMED] = "malformed",
	[VMOP_LOSS_STORE_FULL] = "store-full",
	[VMOP_LOSS_STORE_GONE] = "store-gone",
	[VMOP_LOSS_TABLE_FULL] = "table-full",
	[VMOP_LOSS_SAMPLE_REJECTED] = "sample-rejected",
	[VMOP_LOSS_FACT_REJECTED] = "fact-rejected",
	[VMOP_LOSS_MAPS_UNREAD] = "maps-unread",
	[VMOP_LOSS_PROCESS_LIMIT] = "process-limit",
	[VMOP_LOSS_MAPPING_LIMIT] = "mapping-limit",
	[VMOP_LOSS_IMAGE_LIMIT] = "image-limit",
	[VMOP_LOSS_GUEST_LIMIT] = "guest-limit",
	[VMOP_LOSS_STALE] = "stale-address",
	[VMOP_LOSS_UNSAMPLED_MS] = "unsampled-ms",
	[VMOP_LOSS_BLOCKED_ROUNDS] = "blocked-rounds",
	[VMOP_LOSS_BLOCKED_TORN] = "blocked-torn",
	[VMOP_LOSS_BLOCKED_LIMIT] = "blocked-limit",
	[VMOP_LOSS_MEMORY_LIMIT] = "memory-limit",
	[VMOP_LOSS_SYMBOLS_UNREAD] = "symbols-unread",
};

void vmop_losses_add(struct vmop_losses *losses, enum vmop_loss loss, uint32_t event, uint64_t n)
{
	losses->now[loss][event < VMOP_LOSS_EVENTS_MAX ? event : 0] += n;
}

void vmop_losses_total_of(struct vmop_losses *losses, enum vmop_loss loss, uint32_t event,
			  uint64_t total)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < VMOP_LOSS_EVENTS_MAX; i++)
		sum += losses->now[loss][i];
	if (total > sum)
		vmop_losses_add(losses, loss, event, total - sum);
}

void vmop_losses_total(struct vmop_losses *losses, enum vmop_loss loss, uint64_t total)
{
	vmop_losses_total_of(losses, loss, 0, total);
}

uint64_t vmop_losses_sum(const struct vmop_losses *losses, enum vmop_loss loss)
{
	uint64_t sum = 0;
	for (size_t event = 0; event < VMOP_LOSS_EVENTS_MAX; event++)
		sum += losses->now[loss][event] + losses->inherited[loss][event];
	return sum;
}

void vmop_losses_inherit(struct vmop_losses *losses, const struct vmop_losses *before)
{
	for (size_t loss = 0; loss < VMOP_N_LOSSES; loss++)
		for (size_t event = 0; event < VMOP_LOSS_EVENTS_MAX; event++)
			losses->inherited[loss][event] += before->now[loss][event] +
							  before->inherited[loss][event] -
							  before->stored[loss][event];
}

struct vmop_error *vmop_losses_store(struct vmop_losses *losses, struct vmop_db *db)
{
	for (size_t loss = 0; loss < VMOP_N_LOSSES; loss++)
		for (uint32_t event = 0; event < VMOP_LOSS_EVENTS_MAX; event++) {
			losses->putting[loss][event] =
				losses->now[loss][event] + losses->inherited[loss][event];
			struct vmop_db_loss row = {
				.name = names[loss],
				.event = {event},
				.count = losses->putting[loss][event] - losses->stored[loss][event],
			};
			struct vmop_error *err = row.count ? vmop_db_put_loss(db, &row) : NULL;
			if (err)
				return err;
		}
	return NULL;
}

void vmop_losses_stored(struct vmop_losses *losses)
{
	memcpy(losses->stored, losses->putting, sizeof(losses->stored));
}
