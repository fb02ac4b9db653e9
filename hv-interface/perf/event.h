// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event names -> perf_event_attr.  In this order: perf's generic names of
 * hardware, software and cache events; rNNN, raw; "pmu/.../"; tracepoints;
 * whatever libpfm4 knows about this machine's PMUs, where it was built in;
 * opcontrol's names.  Whether the machine counts it is not known until it is
 * opened (perf/choice.h).
 */
#ifndef VMOP_HV_INTERFACE_PERF_EVENT_H
#define VMOP_HV_INTERFACE_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/cpus.h"
#include "hv-interface/perf/name.h"
#include "hv-interface/source.h"
#include "libutil/error.h"

/*
 * Samples a second of an event whose request has no count.  A little off the
 * round 1000, so as not to beat with the kernel's own tick.
 */
#define VMOP_PERF_DEFAULT_HZ 999

enum vmop_perf_kind {
	VMOP_PERF_CLOCK,    /* cpu-clock, task-clock: counted in ns, by a timer */
	VMOP_PERF_SOFTWARE, /* counted by the kernel: page-faults, tracepoints, ... */
	VMOP_PERF_HARDWARE, /* a PMU's */
};

/* What an event is on some of the CPUs: those of one PMU. */
struct vmop_perf_part {
	char *pmu;     /* its name */
	uint32_t type; /* in the place of attr's */
	uint64_t config;
	struct vmop_cpus cpus;
};

struct vmop_perf_event {
	char *name; /* what is really sampled */
	enum vmop_perf_kind kind;
	struct perf_event_attr attr;	/* what to count, how often and in which modes; no more */
	uint64_t lowest_period_events;	/* a lower count is refused */
	bool counts_cycles;		/* the clock can stand in for it */
	bool kernel, user, host, guest; /* what is wanted of it */
	char *asked;			/* NULL, or the request's name, which stands for this */
	unsigned group;			/* those of one number are counted at a time; 0: alone */
	char *note;			/* NULL, or what differs from the request, and why */
	bool guests_left_out;		/* though wanted: another event may count them */
	bool is_split;			/* host and guests by a counter each: perf/guest-split.h */
	size_t request;			/* index of the request that it comes from */
	struct vmop_perf_part *parts;	/* none: attr as it is, on every CPU */
	size_t n_parts, parts_capacity;
};

/*
 * VMOP_ERROR_USAGE: no such event or unit mask, with names that come near; a
 * count that is too low, with the lowest; a frequency above the kernel's limit.
 * root: as in perf/pmu.h.
 */
struct vmop_error *vmop_perf_event_resolve(const struct vmop_event_request *request,
					   const char *root, struct vmop_perf_event *ret);
void vmop_perf_event_deinit(struct vmop_perf_event *event);

/*
 * Makes event the software clock, at the frequency or period that event had (a cycle
 * taken for a nanosecond, but no more often than the kernel samples); its name changes,
 * its modes stay.
 */
struct vmop_error *vmop_perf_event_become_clock(struct vmop_perf_event *event);

/*
 * Which samples the source must leave out by itself: the kernel applies host and guest
 * to PMUs alone, and for clocks "no kernel" would drop all of a guest's.  Bit
 * VMOP_PERF_CLASS(is_guest, is_kernel) is set where the sample is wanted.
 */
#define VMOP_PERF_CLASS(is_guest, is_kernel) ((unsigned)(is_guest) << 1 | (unsigned)(is_kernel))
#define VMOP_PERF_ALL_CLASSES 0xfu
/* With all classes, of a PMU that itself counts nowhere but there. */
#define VMOP_PERF_HOST_ONLY 0x10u
#define VMOP_PERF_GUEST_ONLY 0x20u
/* And whether a PMU counts it. */
#define VMOP_PERF_BY_PMU 0x40u
uint8_t vmop_perf_event_wanted_classes(const struct vmop_perf_event *event);

/*
 * What to open on a CPU.  False: the event is none of that CPU's: it belongs to a PMU of others
 * (hybrid machines, PMUs beside the cores).
 */
bool vmop_perf_event_attr_on(const struct vmop_perf_event *event, unsigned cpu,
			     struct perf_event_attr *ret);

/*
 * Leaves out the PMU that a CPU has, of an event that others count too.  The name becomes
 * "OTHER-PMU/NAME/", so that nothing is compared with what all of the machine's CPUs count.
 */
struct vmop_error *vmop_perf_event_leave_out_pmu(struct vmop_perf_event *event, unsigned cpu);

/*
 * What each sample stands for, where the kernel's word on it must not be asked for, else 0: with
 * PERF_SAMPLE_PERIOD an event that the kernel counts gets a sample for every count, whatever its
 * period (perf_swevent_event in kernel/events/core.c).
 */
uint64_t vmop_perf_event_fixed_weight(const struct vmop_perf_event *event);

/* perf's modifiers for the modes that event is counted in, ":u", ":kG": "" for all. In ret. */
#define VMOP_PERF_MODIFIERS_BYTES 4
const char *vmop_perf_event_modifiers(const struct vmop_perf_event *event,
				      char ret[VMOP_PERF_MODIFIERS_BYTES]);

/* The lowest count of a PMU's own event, as far as its name tells how often it happens. */
uint64_t vmop_perf_lowest_by_name(const char *name);

/* Behind the note that there may be. */
struct vmop_error *vmop_perf_event_add_note(struct vmop_perf_event *event, const char *more);

/* Sets attr's exclude_ bits from what is wanted. */
void vmop_perf_event_set_modes(struct vmop_perf_event *event);

/* /proc/sys/kernel/perf_event_max_sample_rate; UINT64_MAX where it can't be read. */
uint64_t vmop_perf_max_sample_rate_hz(void);

#endif
