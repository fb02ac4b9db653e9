// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/rings.h"

#include <stdlib.h>

/* Check the module's description of the rings against the mapping. */
static struct vmop_error *check_map(const struct vmop_xendev_map *map, size_t len_bytes)
{
	if (len_bytes < sizeof(*map) || map->magic != VMOP_XENDEV_MAGIC)
		return vmop_error_new(VMOP_ERROR_CANT,
				      VMOP_XENDEV_PATH ": not a device of vmop's kernel module");
	if (map->abi != VMOP_XENDEV_ABI || map->record_bytes != sizeof(struct vmop_xendev_record))
		return vmop_error_new(
			VMOP_ERROR_CANT,
			VMOP_XENDEV_PATH
			": vmop's kernel module has version %u (records of %u bytes), this program "
			"version %u (%zu): both must come from the same release",
			map->abi, map->record_bytes, VMOP_XENDEV_ABI,
			sizeof(struct vmop_xendev_record));
	uint64_t data_bytes = (uint64_t)map->ring_records * sizeof(struct vmop_xendev_record);
	if (map->n_rings == 0 || map->ring_records == 0 ||
	    (map->ring_records & (map->ring_records - 1)) != 0 ||
	    map->first_offset < sizeof(*map) || map->first_offset > len_bytes ||
	    map->first_offset % 64 != 0 || map->ring_bytes % 64 != 0 || map->data_offset % 8 != 0 ||
	    map->data_offset < sizeof(struct vmop_xendev_ring) ||
	    map->data_offset > map->ring_bytes || data_bytes > map->ring_bytes - map->data_offset ||
	    map->n_rings > (len_bytes - map->first_offset) / map->ring_bytes)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      VMOP_XENDEV_PATH ": the rings don't fit into their mapping");
	return NULL;
}

struct vmop_error *vmop_xen_rings_init(struct vmop_xen_rings *rings, void *map, size_t len_bytes)
{
	const struct vmop_xendev_map *head = map;
	*rings = (struct vmop_xen_rings){0};
	struct vmop_error *err = check_map(head, len_bytes);
	if (err)
		return err;
	rings->readers = calloc(head->n_rings, sizeof(*rings->readers));
	if (!rings->readers)
		return &vmop_error_no_memory;
	rings->n = head->n_rings;
	rings->n_records = head->ring_records;
	for (uint32_t i = 0; i < rings->n; i++) {
		uint8_t *at = (uint8_t *)map + head->first_offset + i * head->ring_bytes;
		struct vmop_xen_ring_reader *reader = &rings->readers[i];
		reader->ring = (void *)at;
		reader->records = (const void *)(at + head->data_offset);
		reader->tail = reader->freed = reader->ring->tail;
		reader->head = reader->tail;
		reader->lost = reader->ring->lost;
	}
	return NULL;
}

void vmop_xen_rings_deinit(struct vmop_xen_rings *rings)
{
	free(rings->readers);
	*rings = (struct vmop_xen_rings){0};
}

void vmop_xen_rings_refresh(struct vmop_xen_rings *rings)
{
	for (uint32_t i = 0; i < rings->n; i++) {
		struct vmop_xen_ring_reader *reader = &rings->readers[i];
		/* Pairs with the module's release. */
		reader->head = __atomic_load_n(&reader->ring->head, __ATOMIC_ACQUIRE);
		if (reader->head - reader->tail > rings->n_records) {
			reader->tail = reader->head;
			rings->malformed++;
		}
	}
	rings->others_ns = 0;
}

unsigned vmop_xen_rings_percent_used(const struct vmop_xen_rings *rings)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < rings->n; i++) {
		uint64_t used = rings->readers[i].head - rings->readers[i].tail;
		if (used > most)
			most = used;
	}
	return (unsigned)(most * 100 / rings->n_records);
}

/* Return the next record of a ring; NULL: the ring is empty. */
static const struct vmop_xendev_record *peek(const struct vmop_xen_rings *rings, uint32_t i)
{
	const struct vmop_xen_ring_reader *reader = &rings->readers[i];
	if (reader->tail == reader->head)
		return NULL;
	return &reader->records[reader->tail & (rings->n_records - 1)];
}

/* Make the ring with the oldest record the current one, until another ring has an older record. */
static const struct vmop_xendev_record *choose(struct vmop_xen_rings *rings)
{
	const struct vmop_xendev_record *oldest = NULL;
	rings->others_ns = UINT64_MAX;
	for (uint32_t i = 0; i < rings->n; i++) {
		const struct vmop_xendev_record *record = peek(rings, i);
		if (!record)
			continue;
		if (!oldest || record->time_ns < oldest->time_ns) {
			if (oldest)
				rings->others_ns = oldest->time_ns;
			oldest = record;
			rings->current = i;
		} else if (record->time_ns < rings->others_ns) {
			rings->others_ns = record->time_ns;
		}
	}
	return oldest;
}

const struct vmop_xendev_record *vmop_xen_rings_next(struct vmop_xen_rings *rings,
						     uint64_t up_to_ns)
{
	const struct vmop_xendev_record *record = peek(rings, rings->current);
	if (!record || record->time_ns >= rings->others_ns)
		record = choose(rings);
	if (!record || record->time_ns >= up_to_ns)
		return NULL;
	rings->readers[rings->current].tail++;
	return record;
}

uint64_t vmop_xen_rings_take_lost(struct vmop_xen_rings *rings)
{
	uint64_t lost = 0;
	for (uint32_t i = 0; i < rings->n; i++) {
		struct vmop_xen_ring_reader *reader = &rings->readers[i];
		uint64_t now = __atomic_load_n(&reader->ring->lost, __ATOMIC_RELAXED);
		if (now < reader->lost)
			rings->malformed++;
		else
			lost += now - reader->lost;
		reader->lost = now;
	}
	return lost;
}

void vmop_xen_rings_free(struct vmop_xen_rings *rings)
{
	for (uint32_t i = 0; i < rings->n; i++) {
		struct vmop_xen_ring_reader *reader = &rings->readers[i];
		if (reader->freed == reader->tail)
			continue;
		reader->freed = reader->tail;
		/* All reads come before the module may overwrite the records. */
		__atomic_store_n(&reader->ring->tail, reader->tail, __ATOMIC_RELEASE);
	}
}
