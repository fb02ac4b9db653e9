// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/processes.h"

#include <stdlib.h>
#include <string.h>

/* The intervals after which a process without samples is dropped. */
#define UNUSED_INTERVALS 2
/* The most slots that a look-up compares: a guest can choose keys that collide. */
#define MAX_PROBES 128

bool vmop_guest_processes_init(struct vmop_guest_processes *processes)
{
	*processes = (struct vmop_guest_processes){.interval = 1};
	processes->slots = calloc(VMOP_GUEST_SEEN_SLOTS, sizeof(*processes->slots));
	return processes->slots;
}

static void drop(struct vmop_guest_seen *seen, struct vmop_images *images)
{
	vmop_guest_snapshot_free(seen->snapshot);
	vmop_image_unref(images, seen->generated);
}

void vmop_guest_processes_deinit(struct vmop_guest_processes *processes, struct vmop_images *images)
{
	for (uint32_t i = 0; processes->slots && i < VMOP_GUEST_SEEN_SLOTS; i++)
		drop(&processes->slots[i], images);
	free(processes->slots);
	*processes = (struct vmop_guest_processes){0};
}

/* Return the slot of a process, or else the free slot where it belongs. NULL: no slot is free. */
static struct vmop_guest_seen *slot_of(const struct vmop_guest_processes *processes,
				       const struct vmop_guest_seen_key *key)
{
	uint64_t hash = (key->start_time_ns ^ key->pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32);
	for (unsigned i = 0; processes->slots && i < MAX_PROBES; i++) {
		struct vmop_guest_seen *seen = &processes->slots[(at + i) % VMOP_GUEST_SEEN_SLOTS];
		if (!seen->has_entry || !memcmp(&seen->key, key, sizeof(*key)))
			return seen;
	}
	return NULL;
}

struct vmop_guest_seen *vmop_guest_processes_find(const struct vmop_guest_processes *processes,
						  uint32_t pid, uint64_t start_time_ns)
{
	const struct vmop_guest_seen_key key = {.pid = pid, .start_time_ns = start_time_ns};
	struct vmop_guest_seen *seen = slot_of(processes, &key);
	return seen && seen->has_entry ? seen : NULL;
}

struct vmop_guest_seen *vmop_guest_processes_get(struct vmop_guest_processes *processes,
						 uint32_t pid, uint64_t start_time_ns)
{
	const struct vmop_guest_seen_key key = {.pid = pid, .start_time_ns = start_time_ns};
	struct vmop_guest_seen *seen = slot_of(processes, &key);
	if (!seen || (!seen->has_entry && processes->n >= VMOP_GUEST_SEEN_SLOTS / 4 * 3))
		return NULL;
	if (!seen->has_entry) {
		*seen = (struct vmop_guest_seen){.key = key, .has_entry = true};
		processes->n++;
	}
	seen->used_in = processes->interval;
	return seen;
}

void vmop_guest_seen_take(struct vmop_guest_seen *seen, struct vmop_guest_snapshot *snapshot)
{
	vmop_guest_snapshot_free(seen->snapshot);
	seen->snapshot = snapshot;
	seen->process = snapshot && vmop_guest_snapshot_count(snapshot)
				? vmop_guest_snapshot_get(snapshot, 0)
				: NULL;
	seen->state = seen->process ? VMOP_GUEST_SEEN_FOUND : VMOP_GUEST_SEEN_NONE;
}

void vmop_guest_processes_next_interval(struct vmop_guest_processes *processes,
					struct vmop_images *images)
{
	struct vmop_guest_processes to = {.interval = processes->interval + 1};
	processes->interval++;
	if (processes->n < VMOP_GUEST_SEEN_SLOTS / 4)
		return;
	to.slots = calloc(VMOP_GUEST_SEEN_SLOTS, sizeof(*to.slots));
	if (!to.slots)
		return;
	for (uint32_t i = 0; i < VMOP_GUEST_SEEN_SLOTS; i++) {
		struct vmop_guest_seen *seen = &processes->slots[i];
		if (!seen->has_entry)
			continue;
		struct vmop_guest_seen *slot =
			processes->interval - seen->used_in > UNUSED_INTERVALS
				? NULL
				: slot_of(&to, &seen->key);
		if (!slot) {
			drop(seen, images);
			continue;
		}
		*slot = *seen;
		to.n++;
	}
	free(processes->slots);
	*processes = to;
}
