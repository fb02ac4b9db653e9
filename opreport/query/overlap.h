// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Overlapping sessions of one machine: which intervals are counted, so that no moment is counted
 * twice.
 *
 * A coverage is a session's list of intervals.  An interval is left out if it overlaps the counted
 * intervals of a coverage with a higher rank; an interval is counted in full or not at all.
 */
#ifndef VMOP_OPREPORT_QUERY_OVERLAP_H
#define VMOP_OPREPORT_QUERY_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_span {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME, [from, to) */
};

struct vmop_coverage {
	const struct vmop_span *spans; /* n, ascending by from_ns; not owned */
	size_t n;
	uint64_t start_ns; /* coverages with one start are copies of one session */
	bool *is_left_out; /* n, of the caller: the result */
};

/*
 * The overlap of a coverage's first interval with the last one of the coverage before it: both
 * clocks are read at different moments.  A tenth of an interval, and at most this, is no overlap.
 */
#define VMOP_OVERLAP_NS UINT64_C(100000000)

/*
 * Set is_left_out of all coverages.  The rank follows the order of the list, except that of
 * coverages of the same session, the one that ends last ranks first: the others are older copies
 * of it, whose intervals are parts of its own.
 */
struct vmop_error *vmop_overlap_resolve(const struct vmop_coverage *coverages, size_t n);

#endif
