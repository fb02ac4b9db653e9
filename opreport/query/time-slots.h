// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The intervals of a report's sessions, by which a query groups samples with VMOP_BY_TIME.
 *
 * Samples have no time but that of their interval: 1 s as recorded, minutes and hours after a
 * roll-up.  A slot is an interval, or several of one session that begin close to one another where
 * there are more of them than slots.
 *
 * With steps, a slot is a step of local time (libutil/local-time.h) in which something was
 * recorded, of all sessions together.  An interval belongs to the step that its middle is in.  One
 * that is longer than the step makes one slot of all steps that it covers, since nothing is known
 * about the time within it.
 */
#ifndef VMOP_OPREPORT_QUERY_TIME_SLOTS_H
#define VMOP_OPREPORT_QUERY_TIME_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libutil/error.h"
#include "opreport/query/catalog.h"

#define VMOP_TIME_SLOTS_MAX ((size_t)1 << 16) /* of each session */
#define VMOP_NO_TIME_SLOT UINT32_MAX

struct vmop_time_slot {
	uint64_t from_ns, to_ns; /* of its intervals together, CLOCK_REALTIME */
	uint64_t longest_ns;	 /* the length of the longest interval */
	uint64_t recorded_ns;	 /* steps: the lengths of the intervals, together */
	uint32_t session;	 /* steps: 0 */
};

struct vmop_time_slots {
	struct vmop_time_slot *items; /* n */
	size_t n, capacity;
	uint64_t origin_ns, bin_ns;
	size_t n_bins;
	uint32_t *by_bin; /* session * n_bins + bin: index + 1, or 0 */
	uint64_t step_s;  /* 0: no steps */
};

/*
 * Make the slots of the intervals that overlap [from_ns, to_ns), to_ns 0: no end; at most n_max of
 * each session.  The sessions' files are in a snapshot.  The caller deinitialises ret also after an
 * error.
 */
struct vmop_error *vmop_time_slots_init(struct vmop_time_slots *ret,
					const struct vmop_session_input *sessions,
					size_t n_sessions, uint64_t from_ns, uint64_t to_ns,
					size_t n_max);

/*
 * Make slots of steps of the catalog's sessions, ascending; step_s 0 chooses a length that gives at
 * most 60.  Intervals whose events are all left out do not count.  VMOP_ERROR_USAGE: more than
 * VMOP_TIME_SLOTS_MAX.
 */
struct vmop_choice;
struct vmop_error *vmop_time_slots_init_steps(struct vmop_time_slots *ret,
					      const struct vmop_session_input *sessions,
					      const struct vmop_catalog *catalog,
					      const struct vmop_choice *choice, uint64_t step_s);
void vmop_time_slots_deinit(struct vmop_time_slots *slots);

/* Return the index of the slot of a session's interval, or VMOP_NO_TIME_SLOT. */
uint32_t vmop_time_slots_find(const struct vmop_time_slots *slots, size_t session,
			      const struct vmop_db_interval *interval);

#endif
