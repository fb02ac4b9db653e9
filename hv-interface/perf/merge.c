// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/merge.h"
#include "libutil/array.h"

#include <stdlib.h>

struct vmop_error *vmop_perf_merge_reserve(struct vmop_perf_merge *merge, size_t n)
{
	return vmop_array_reserve(merge->heap, merge->capacity, n) ? NULL : &vmop_error_no_memory;
}

void vmop_perf_merge_deinit(struct vmop_perf_merge *merge)
{
	free(merge->heap);
	*merge = (struct vmop_perf_merge){0};
}

/* Return the later time. UINT64_MAX is reserved for "everything". */
static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t ns = a_ns > b_ns ? a_ns : b_ns;
	return ns < UINT64_MAX ? ns : UINT64_MAX - 1;
}

/* Decode the next wanted record of the cursor. Return false at the end of the ring. */
static bool cursor_next(struct vmop_perf_cursor *cursor, struct vmop_source_stats *stats)
{
	const struct perf_event_header *header;
	while ((header = vmop_perf_ring_peek(&cursor->ring))) {
		cursor->size_bytes = header->size;
		switch (vmop_perf_record_decode(&cursor->decoder, header, &cursor->record,
						&cursor->capture)) {
		case VMOP_PERF_DECODED:
			cursor->time_ns = later(cursor->time_ns, cursor->record.time_ns);
			return true;
		case VMOP_PERF_MALFORMED:
			stats->malformed_records++;
			break;
		case VMOP_PERF_NOT_WANTED:
			break;
		}
		stats->bytes += cursor->size_bytes;
		vmop_perf_ring_skip(&cursor->ring, cursor->size_bytes);
	}
	return false;
}

static void count(struct vmop_source_stats *stats, const struct vmop_record *record)
{
	if (stats->records++ == 0)
		stats->first_ns = record->time_ns;
	switch (record->type) {
	case VMOP_RECORD_SAMPLE:
		stats->samples++;
		break;
	case VMOP_RECORD_LOST:
		stats->lost_records += record->lost.lost_records;
		break;
	case VMOP_RECORD_THROTTLE:
		stats->throttles += record->throttle.is_throttled != 0;
		break;
	case VMOP_RECORD_UNHANDLED:
		stats->unhandled_records++;
		break;
	default:
		break;
	}
}

static void deliver(struct vmop_perf_merge *merge, struct vmop_record *record,
		    const struct vmop_stack_capture *stack, const struct vmop_sink *sink,
		    struct vmop_source_stats *stats)
{
	if (record->time_ns < merge->last_ns)
		record->time_ns = merge->last_ns;
	merge->last_ns = record->time_ns;
	count(stats, record);
	sink->record(sink->arg, record, stack);
}

void vmop_perf_merge_insert(struct vmop_perf_merge *merge, struct vmop_record *record,
			    const struct vmop_sink *sink, struct vmop_source_stats *stats)
{
	deliver(merge, record, NULL, sink, stats);
}

/* Return whether a LOST record reports losses that the events' own counts have not reported. */
static bool is_news(struct vmop_perf_cursor *cursor)
{
	struct vmop_lost_record *lost = &cursor->record.lost;
	cursor->lost_seen += lost->lost_records;
	if (cursor->lost_seen <= cursor->lost_reported)
		return false;
	lost->lost_records = cursor->lost_seen - cursor->lost_reported;
	cursor->lost_reported = cursor->lost_seen;
	return true;
}

static void hand_over(struct vmop_perf_merge *merge, struct vmop_perf_cursor *cursor,
		      const struct vmop_sink *sink, struct vmop_source_stats *stats)
{
	cursor->record.time_ns = cursor->time_ns;
	if (cursor->record.type != VMOP_RECORD_LOST || is_news(cursor))
		deliver(merge, &cursor->record,
			cursor->capture.is_here ? &cursor->capture.stack : NULL, sink, stats);
	stats->bytes += cursor->size_bytes;
	vmop_perf_ring_skip(&cursor->ring, cursor->size_bytes);
}

static void sift_down(struct vmop_perf_merge *merge, size_t at)
{
	struct vmop_perf_cursor **heap = merge->heap, *moving = heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= merge->n)
			break;
		if (child + 1 < merge->n && heap[child + 1]->time_ns < heap[child]->time_ns)
			child++;
		if (heap[child]->time_ns >= moving->time_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

/* Return the time up to which the top cursor precedes all others. */
static uint64_t next_other_ns(const struct vmop_perf_merge *merge)
{
	uint64_t ns = UINT64_MAX;
	for (size_t i = 1; i < merge->n && i < 3; i++) {
		if (merge->heap[i]->time_ns < ns)
			ns = merge->heap[i]->time_ns;
	}
	return ns;
}

static void begin(struct vmop_perf_merge *merge, struct vmop_perf_cursor *const *cursors, size_t n,
		  uint64_t up_to_ns, struct vmop_source_stats *stats)
{
	merge->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (cursor_next(cursors[i], stats) && cursors[i]->time_ns < up_to_ns)
			merge->heap[merge->n++] = cursors[i];
	}
	for (size_t i = merge->n / 2; i-- > 0;)
		sift_down(merge, i);
}

/* Refresh all rings. Return whether one of them is about to overflow. */
static bool refresh(struct vmop_perf_cursor *const *cursors, size_t n)
{
	bool is_full = false;
	for (size_t i = 0; i < n; i++) {
		struct vmop_perf_ring *ring = &cursors[i]->ring;
		vmop_perf_ring_refresh(ring);
		if (vmop_perf_ring_used_bytes(ring) > ring->len_bytes / 4 * 3)
			is_full = true;
	}
	return is_full;
}

void vmop_perf_merge_drain(struct vmop_perf_merge *merge, struct vmop_perf_cursor *const *cursors,
			   size_t n, uint64_t up_to_ns, const struct vmop_sink *sink,
			   struct vmop_source_stats *stats)
{
	if (refresh(cursors, n))
		up_to_ns = UINT64_MAX;
	begin(merge, cursors, n, up_to_ns, stats);
	while (merge->n > 0) {
		struct vmop_perf_cursor *top = merge->heap[0];
		uint64_t others_ns = next_other_ns(merge);
		bool more;
		do {
			hand_over(merge, top, sink, stats);
			more = cursor_next(top, stats) && top->time_ns < up_to_ns;
		} while (more && top->time_ns <= others_ns);
		/* Give room back to the kernel before the whole drain is done. */
		if (!more || top->ring.tail - top->ring.freed > top->ring.len_bytes / 8)
			vmop_perf_ring_free(&top->ring);
		if (!more)
			merge->heap[0] = merge->heap[--merge->n];
		if (merge->n > 0)
			sift_down(merge, 0);
	}
	for (size_t i = 0; i < n; i++) {
		vmop_perf_ring_free(&cursors[i]->ring);
		stats->malformed_records += cursors[i]->ring.malformed;
		cursors[i]->ring.malformed = 0;
	}
}
