// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/guest-split.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SWITCHES                                                                                   \
	"events while the kernel switches to a guest or back count as the guest's, because "

static bool is_of_both(const struct vmop_perf_event *event)
{
	return event->host && event->guest;
}

static bool can_split(const struct vmop_perf_event *event)
{
	return event->kind == VMOP_PERF_HARDWARE && is_of_both(event);
}

/* A group that is opened only as a trial. */
struct trial {
	unsigned cpu;
	int *fds; /* the first is the leader's */
	size_t n;
};

/* Add an event to the trial group. Return false if it is refused. */
static bool join(struct trial *trial, struct perf_event_attr *attr)
{
	int fd = vmop_perf_open(attr, trial->cpu, trial->n ? trial->fds[0] : -1);
	if (fd >= 0)
		trial->fds[trial->n++] = fd;
	return fd >= 0;
}

/* Add an event or both of its halves. Return false if one is refused. */
static bool join_event(struct trial *trial, const struct vmop_perf_event *event, bool is_split)
{
	struct perf_event_attr attr;
	if (event->kind != VMOP_PERF_HARDWARE || !vmop_perf_event_attr_on(event, trial->cpu, &attr))
		return true;
	attr.exclude_guest |= is_split;
	bool fits = join(trial, &attr);
	if (!fits && event->n_parts > 1 && errno == ENOENT)
		return true; /* it takes no counter of this type of cores: see perf/choice.c */
	if (!fits || !is_split)
		return fits;
	attr.exclude_guest = 0;
	attr.exclude_host = 1;
	return join(trial, &attr);
}

/*
 * Return whether the CPU could count all events at once with the first n of them split. The kernel
 * refuses a group that could never run (validate_group() in drivers/perf/arm_pmu.c). That check
 * passes over members that are switched off, so only the leader is, which needs no counter.
 */
static bool would_fit(const struct vmop_perf_plan *plan, unsigned cpu, size_t n)
{
	struct perf_event_attr off = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	struct trial trial = {.cpu = cpu, .fds = calloc(2 * plan->n_events + 1, sizeof(int))};
	bool fits = trial.fds && join(&trial, &off);
	for (size_t i = 0; fits && i < plan->n_events; i++) {
		const struct vmop_perf_event *event = &plan->events[i];
		fits = join_event(&trial, event, i < n && can_split(event));
	}
	while (trial.n > 0)
		close(trial.fds[--trial.n]);
	free(trial.fds);
	return fits;
}

void vmop_perf_guest_split_apply(struct vmop_perf_plan *plan, unsigned cpu)
{
	size_t n = plan->n_events;
	while (n > 0 && (!can_split(&plan->events[n - 1]) || !would_fit(plan, cpu, n)))
		n--;
	for (size_t i = 0; i < plan->n_events; i++)
		plan->events[i].is_split = i < n && can_split(&plan->events[i]);
}

struct vmop_error *vmop_perf_guest_split_note(struct vmop_perf_plan *plan)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < plan->n_events && !err; i++) {
		struct vmop_perf_event *event = &plan->events[i];
		if (event->is_split || !is_of_both(event) || event->kind == VMOP_PERF_SOFTWARE)
			continue;
		err = vmop_perf_event_add_note(
			event, event->kind == VMOP_PERF_CLOCK
				       ? SWITCHES "a clock can't separate them"
				       : SWITCHES "too few counters are free to separate them");
	}
	return err;
}
