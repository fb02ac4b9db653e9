// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rings of all CPUs as one stream in time order.
 *
 * Within a ring an interrupt can put its record before an older one that was
 * being written; the running maximum of the times is used then.  That keeps
 * causes before effects: a mapping is in the ring before any CPU can run in it.
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

/* One ring and the record that is next in it. */
struct vmop_perf_cursor {
	struct vmop_perf_ring ring;
	struct vmop_perf_decoder decoder;
	uint64_t time_ns; /* the running maximum */
	struct vmop_record record;
	uint16_t size_bytes; /* of record in the ring */
	/* Lost records: those that LOST records told of, and those that the sink was told of. */
	uint64_t lost_seen, lost_reported;
};

struct vmop_perf_merge {
	struct vmop_perf_cursor **heap;
	size_t n, capacity;
	uint64_t last_ns; /* the time of the last record handed over */
};

/* Makes room for n cursors, so that draining them allocates nothing. */
struct vmop_error *vmop_perf_merge_reserve(struct vmop_perf_merge *merge, size_t n);
void vmop_perf_merge_deinit(struct vmop_perf_merge *merge);

/*
 * Hands to sink what is in the cursors' rings with a time before up_to_ns, and counts
 * it in stats; the rest stays in the rings.  When a ring is more than three
 * quarters full, everything goes, whatever its time.
 */
void vmop_perf_merge_drain(struct vmop_perf_merge *merge, struct vmop_perf_cursor *const *cursors,
			   size_t n, uint64_t up_to_ns, const struct vmop_sink *sink,
			   struct vmop_source_stats *stats);

/* Hands over one record that is in no ring, at the time of the last one or its own. */
void vmop_perf_merge_insert(struct vmop_perf_merge *merge, struct vmop_record *record,
			    const struct vmop_sink *sink, struct vmop_source_stats *stats);

#endif
