// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf-worlds.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_of_both(const struct vmop_perf_event *event)
{
	return event->host && event->guest;
}

static bool can_split(const struct vmop_perf_event *event)
{
	return event->kind == VMOP_PERF_HARDWARE && is_of_both(event);
}

/* leader -1: it leads a group itself. False: refused. */
static bool join(struct perf_event_attr *attr, unsigned cpu, int leader, int *ret)
{
	attr->size = sizeof(*attr);
	*ret = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, leader, PERF_FLAG_FD_CLOEXEC);
	return *ret >= 0;
}

/*
 * Whether the CPU could count all events at once with the first n of them split: the kernel
 * refuses a group that could never be (validate_group() in drivers/perf/arm_pmu.c). It passes
 * over members that are switched off, so only the group's leader is, which needs no counter.
 */
static bool would_fit(const struct vmop_perf_plan *plan, unsigned cpu, size_t n)
{
	struct perf_event_attr off = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int *fds = calloc(2 * plan->n_events + 1, sizeof(*fds));
	bool fits = fds && join(&off, cpu, -1, &fds[0]);
	size_t n_fds = fits;
	for (size_t i = 0; fits && i < plan->n_events; i++) {
		const struct vmop_perf_event *event = &plan->events[i];
		bool is_split = i < n && can_split(event);
		struct perf_event_attr attr;
		if (event->kind != VMOP_PERF_HARDWARE ||
		    !vmop_perf_event_attr_on(event, cpu, &attr))
			continue;
		attr.exclude_guest |= is_split;
		fits = join(&attr, cpu, fds[0], &fds[n_fds]);
		n_fds += fits;
		if (!fits || !is_split)
			continue;
		attr.exclude_guest = 0;
		attr.exclude_host = 1;
		fits = join(&attr, cpu, fds[0], &fds[n_fds]);
		n_fds += fits;
	}
	while (n_fds > 0)
		close(fds[--n_fds]);
	free(fds);
	return fits;
}

void vmop_perf_worlds_split(struct vmop_perf_plan *plan, unsigned cpu)
{
	size_t n = plan->n_events;
	while (n > 0 && (!can_split(&plan->events[n - 1]) || !would_fit(plan, cpu, n)))
		n--;
	for (size_t i = 0; i < plan->n_events; i++)
		plan->events[i].is_split = i < n && can_split(&plan->events[i]);
}

struct vmop_error *vmop_perf_worlds_note(struct vmop_perf_plan *plan)
{
	for (size_t i = 0; i < plan->n_events; i++) {
		struct vmop_perf_event *event = &plan->events[i];
		if (event->is_split || !is_of_both(event) || event->kind == VMOP_PERF_SOFTWARE)
			continue;
		const char *before = event->note ? event->note : "";
		char *note;
		if (asprintf(&note,
			     "%s%swhat comes while the kernel switches to a guest or back counts "
			     "as the guest's, for %s",
			     before, *before ? "; " : "",
			     event->kind == VMOP_PERF_CLOCK
				     ? "a clock can't tell them apart"
				     : "too few counters are free to count them apart") < 0)
			return &vmop_error_no_memory;
		free(event->note);
		event->note = note;
	}
	return NULL;
}
