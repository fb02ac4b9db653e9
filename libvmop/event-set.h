// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events of a set: resolved names, encodings, groups. Events are resolved before the first is
 * opened. An event that the machine or the user's rights exclude keeps its place, with a reason.
 */
#ifndef VMOP_LIBVMOP_EVENT_SET_H
#define VMOP_LIBVMOP_EVENT_SET_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"

#define VMOP_COUNTERS_MAX 256 /* events of a set */

#define VMOP_ONLY_IN_KERNEL "it happens only in the kernel, which is left out"
#define VMOP_ONLY_A_PMU_DIVIDES "only a PMU counts the host apart from guests"
#define VMOP_CLOCK_COUNTS_BOTH "a clock counts kernel and user together"

struct vmop_set_event {
	char *name; /* with modes: "cycles:u" */
	const char *unit;
	struct perf_event_attr attr;
	bool is_clock;	   /* it counts time, whatever modes are left out */
	bool is_pmus;	   /* a PMU counts it: the page may have its value */
	bool needs_kernel; /* without the kernel's part it would always be 0 */
	size_t leader;	   /* index of the first event of its group; its own for a single event */
	char *reason;	   /* NULL, or why it is not counted */
};

struct vmop_event_set {
	struct vmop_set_event *events;
	size_t n, capacity;
};

/*
 * Resolve a list of events for a thread (cpu -1) or a CPU. VMOP_ERROR_USAGE: the list is empty or
 * has an error of grammar, or an event has a COUNT. An event that this machine lacks has a reason;
 * the error is returned instead if is_strict.
 */
struct vmop_error *vmop_event_set_resolve(const char *list, int cpu, bool is_strict,
					  struct vmop_event_set *ret);
void vmop_event_set_deinit(struct vmop_event_set *set);

/* Note that the event is not counted, and the other events of its group neither. */
struct vmop_error *vmop_event_set_exclude(struct vmop_event_set *set, size_t i, const char *reason);

/* Leave out the kernel: the name gets ":u", unless it counts time. */
struct vmop_error *vmop_set_event_leave_out_kernel(struct vmop_set_event *event);

/* Leave out the host: the name gets ":G". Only for events of a PMU. */
struct vmop_error *vmop_set_event_leave_out_host(struct vmop_set_event *event);

/* Return the number of events in the group that the i-th event leads. */
size_t vmop_event_set_group_size(const struct vmop_event_set *set, size_t i);

#endif
