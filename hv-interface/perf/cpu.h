// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is open on one CPU: a dummy event, which owns the ring and carries the
 * side-band (mmap, comm, task, ksymbol records), and one event for each that is
 * sampled, redirected into the same ring.
 */
#ifndef VMOP_HV_INTERFACE_PERF_CPU_H
#define VMOP_HV_INTERFACE_PERF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/merge.h"
#include "hv-interface/perf/open.h"
#include "libutil/error.h"

/* Parts of an event that older kernels refuse with EINVAL, the newest first. */
enum vmop_perf_missing {
	VMOP_PERF_NO_LOST_COUNT = 1 << 0, /* Linux 6.0: PERF_FORMAT_LOST */
	VMOP_PERF_NO_KSYMBOL = 1 << 1,	  /* 5.1 */
	VMOP_PERF_ALL_MISSING = 3,
};

/* How every CPU is opened. */
struct vmop_perf_plan {
	struct vmop_perf_event *events;
	uint8_t *wanted; /* vmop_perf_event_wanted_classes() of each */
	size_t n_events, events_capacity, wanted_capacity;
	size_t ring_bytes, watermark_bytes;
	unsigned missing; /* enum vmop_perf_missing: what was found not to be there */
	struct vmop_perf_guest_exit guest_exit;
	struct vmop_perf_dom0 dom0;
};

/* Whether samples say of which counter they are: there is more than one. */
bool vmop_perf_plan_has_identifier(const struct vmop_perf_plan *plan);

struct vmop_perf_cpu {
	struct vmop_perf_cursor cursor;
	unsigned cpu;
	int dummy_fd;
	/*
	 * Of the plan's events (of split ones: of the host's halves), and after them of the guests'
	 * halves; -1, 0: not one of this CPU's, not split.
	 */
	int *fds;
	uint64_t *ids;
	uint64_t *fixed_weights; /* of the plan's events; vmop_perf_event_fixed_weight() */
	size_t n_events;
	bool is_gone;	     /* what is in its ring is still to be read */
	uint64_t enabled_ns; /* at the last vmop_perf_cpu_is_dead */
	uint64_t seen_tail;  /* likewise */
};

/* Which event, of those of the plan, was refused, where and how; n_events: the dummy. */
struct vmop_perf_refusal {
	size_t event;
	unsigned cpu;
	int os_errno; /* 0: it was not perf_event_open that failed */
};

/*
 * Opens all of the plan's events on a CPU, not yet counting.  *ret is NULL
 * without an error when there is no such CPU any more.  The plan's missing bits
 * are filled in on the way, its ring made smaller where memory may not be
 * locked.  refusal says which event it was when a perf_event_open failed.
 */
struct vmop_error *vmop_perf_cpu_open(struct vmop_perf_plan *plan, unsigned cpu,
				      struct vmop_perf_refusal *refusal,
				      struct vmop_perf_cpu **ret);
void vmop_perf_cpu_close(struct vmop_perf_cpu *cpu);

struct vmop_error *vmop_perf_cpu_enable(struct vmop_perf_cpu *cpu);
void vmop_perf_cpu_disable(struct vmop_perf_cpu *cpu);

/*
 * Whether the CPU went away and came back: its events are there but dead.  Known at the
 * third call after it at the latest.  To be asked of enabled ones only.
 */
bool vmop_perf_cpu_is_dead(struct vmop_perf_cpu *cpu, unsigned missing);

/*
 * How long the plan's event i was to count on this CPU and did, since it was opened; false: it
 * isn't open here, or can't be read.  Of a split event the mean of its halves.
 */
bool vmop_perf_cpu_times(const struct vmop_perf_cpu *cpu, size_t i, unsigned missing,
			 uint64_t *ret_enabled_ns, uint64_t *ret_running_ns);

/* Records that its events had no room for, so far; 0 where the kernel doesn't say. */
uint64_t vmop_perf_cpu_lost(const struct vmop_perf_cpu *cpu, unsigned missing);

#endif
