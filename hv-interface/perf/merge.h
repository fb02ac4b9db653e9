// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The merge of all CPUs' rings into one stream in time order.
 *
 * Within a ring an interrupt can put its record before an older one that was being written. The
 * merge then uses the running maximum of the times. That keeps causes before effects: a mapping is
 * in the ring before any CPU can run in it.
 *
 * perf/perf.c is the caller. One thread. A drain allocates nothing.
 */
#ifndef VMOP_HV_INTERFACE_PERF_MERGE_H
#define VMOP_HV_INTERFACE_PERF_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/record.h"
#include "hv-interface/perf/ring.h"
#include "hv-interface/source.h"
#include "libutil/error.h"

/* A ring and the next record in it. */
struct vmop_perf_cursor {
	struct vmop_perf_ring ring;
	struct vmop_perf_decoder decoder;
	uint64_t time_ns; /* the running maximum */
	struct vmop_record record;
	uint16_t size_bytes;		  /* of record in the ring */
	struct vmop_perf_capture capture; /* of record */
	/* Lost records: as counted by LOST records, and as reported to the sink. */
	uint64_t lost_seen, lost_reported;
};

struct vmop_perf_merge {
	struct vmop_perf_cursor **heap;
	size_t n, capacity;
	uint64_t last_ns; /* the time of the last delivered record */
};

/* Make room for n cursors, so that draining them allocates nothing. */
struct vmop_error *vmop_perf_merge_reserve(struct vmop_perf_merge *merge, size_t n);
void vmop_perf_merge_deinit(struct vmop_perf_merge *merge);

/*
 * Deliver to sink the records in the cursors' rings with a time before up_to_ns, and count them in
 * stats. The rest stays in the rings. If a ring is more than three quarters full, deliver
 * everything, whatever its time.
 */
void vmop_perf_merge_drain(struct vmop_perf_merge *merge, struct vmop_perf_cursor *const *cursors,
			   size_t n, uint64_t up_to_ns, const struct vmop_sink *sink,
			   struct vmop_source_stats *stats);

/*
 * Deliver one record that is in no ring, at its own time or at the last record's if that is later.
 */
void vmop_perf_merge_insert(struct vmop_perf_merge *merge, struct vmop_record *record,
			    const struct vmop_sink *sink, struct vmop_source_stats *stats);

#endif
