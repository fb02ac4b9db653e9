// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time from which the samples of a span are.  An interval of the store belongs to the span in
 * which its middle lies, but it can be longer than the span: 1.2 s on a busy host.  If each bar of
 * a chart had the width of its span, some bars would be empty, and others twice as high as their
 * neighbours.
 */
#ifndef VMOP_OPREPORT_STACKS_TIME_EXTENTS_H
#define VMOP_OPREPORT_STACKS_TIME_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

/* Spans, at most. */
#define VMOP_TIME_SPANS_MAX 240

/* The time of a span's intervals, CLOCK_REALTIME; from_ns == to_ns: it has none. */
struct vmop_time_extent {
	uint64_t from_ns, to_ns;
};

/* By span. */
struct vmop_time_extents {
	struct vmop_time_extent spans[VMOP_TIME_SPANS_MAX];
};

/* Add an interval to those of a span. */
void vmop_time_extents_add(struct vmop_time_extents *extents, size_t span, uint64_t from_ns,
			   uint64_t to_ns);

/* Merge spans 0 and 1, 2 and 3, ... of n_spans. */
void vmop_time_extents_halve(struct vmop_time_extents *extents, size_t n_spans);

/*
 * Part the extents of neighbours that overlap, as those of sessions with different intervals do: at
 * the spans' bound, or as near to it as both have time.  Spans of len_ns begin at start_ns.
 */
void vmop_time_extents_part(struct vmop_time_extents *extents, size_t n_spans, uint64_t start_ns,
			    uint64_t len_ns);

#endif
