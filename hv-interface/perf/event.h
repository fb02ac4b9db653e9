// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resolution of event names into perf_event_attr. In this order: perf's generic names of hardware,
 * software and cache events; rNNN, raw; "pmu/.../"; tracepoints; the names that libpfm4, if built
 * in, has for this machine's PMUs; opcontrol's names. Opening the event shows whether the machine
 * counts it (perf/choice.h).
 */
#ifndef VMOP_HV_INTERFACE_PERF_EVENT_H
#define VMOP_HV_INTERFACE_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/cpus.h"
#include "hv-interface/event-request.h"
#include "hv-interface/perf/name.h"
#include "libutil/error.h"

/*
 * Frequency in Hz of an event whose request has no count. A little off the round 1000, so as not to
 * beat with the kernel's own tick.
 */
#define VMOP_PERF_DEFAULT_HZ 999

enum vmop_perf_kind {
	VMOP_PERF_CLOCK,    /* cpu-clock, task-clock: a timer counts ns */
	VMOP_PERF_SOFTWARE, /* the kernel counts: page-faults, tracepoints, ... */
	VMOP_PERF_HARDWARE, /* a PMU counts */
};

/* The encoding of an event on the CPUs of one PMU. */
struct vmop_perf_part {
	char *pmu;     /* its name */
	uint32_t type; /* replaces attr's */
	uint64_t config;
	struct vmop_cpus cpus;
};

/* The call stacks of an event's samples, where the plan has any. */
enum vmop_perf_event_stacks {
	VMOP_PERF_STACKS_PLANNED,
	VMOP_PERF_STACKS_LEFT_OUT,     /* the event was refused with them */
	VMOP_PERF_STACKS_NOT_AT_FAULT, /* it was also refused without them, so it has them */
};

struct vmop_perf_event {
	char *name; /* the event that is sampled */
	enum vmop_perf_kind kind;
	struct perf_event_attr attr;	/* encoding, period and modes; no other fields */
	uint64_t lowest_period_events;	/* a lower period is refused */
	bool counts_cycles;		/* the clock can replace it */
	bool kernel, user, host, guest; /* modes and worlds that the request wants */
	char *asked;			/* NULL, or the name in the request, where it differs */
	unsigned group;	      /* events of one number are counted at the same times; 0: no group */
	char *note;	      /* NULL, or the differences from the request and the reason */
	bool guests_left_out; /* despite the request; another event may count them */
	bool is_split;	      /* one counter for the host and one for guests: perf/guest-split.h */
	size_t request;	      /* index of the request that it comes from */
	enum vmop_perf_event_stacks stacks;
	unsigned stacks_cpu; /* LEFT_OUT: the CPU and the errno of that refusal */
	int stacks_errno;
	struct vmop_perf_part *parts; /* empty: attr as it is, on every CPU */
	size_t n_parts, parts_capacity;
};

/*
 * Resolve a request into *ret; free it with vmop_perf_event_deinit. VMOP_ERROR_USAGE: no such event
 * or unit mask (the message has similar names), a count below the lowest (which it has), or a
 * frequency above the kernel's limit. root: see perf/pmu.h.
 */
struct vmop_error *vmop_perf_event_resolve(const struct vmop_event_request *request,
					   const char *root, struct vmop_perf_event *ret);
void vmop_perf_event_deinit(struct vmop_perf_event *event);

/*
 * Turn event into the software clock, at the frequency or period that it had. A cycle counts as a
 * nanosecond, but the clock never exceeds the kernel's sampling limit. The name changes, the modes
 * stay.
 */
struct vmop_error *vmop_perf_event_become_clock(struct vmop_perf_event *event);

/*
 * Return the classes of samples that the source keeps; it drops the rest. The kernel applies host
 * and guest only to PMUs, and for clocks "no kernel" would drop all of a guest's samples. Bit
 * VMOP_PERF_CLASS(is_guest, is_kernel) is set for a wanted class.
 */
#define VMOP_PERF_CLASS(is_guest, is_kernel) ((unsigned)(is_guest) << 1 | (unsigned)(is_kernel))
#define VMOP_PERF_ALL_CLASSES 0xfu
/* Added to the classes of a PMU's half that counts only in that world. */
#define VMOP_PERF_HOST_ONLY 0x10u
#define VMOP_PERF_GUEST_ONLY 0x20u
/* Added to the classes of an event that a PMU counts. */
#define VMOP_PERF_BY_PMU 0x40u
/* Added to the classes of an event without call stacks. */
#define VMOP_PERF_NO_STACKS 0x80u
uint8_t vmop_perf_event_wanted_classes(const struct vmop_perf_event *event);

/*
 * Return whether the samples of an event, or of a half of it, with these classes carry a call
 * stack: not if it samples only guests or was refused with stacks.
 */
static inline bool vmop_perf_event_has_stacks(uint8_t wanted)
{
	const unsigned hosts =
		1u << VMOP_PERF_CLASS(false, false) | 1u << VMOP_PERF_CLASS(false, true);
	return wanted & hosts && !(wanted & (VMOP_PERF_GUEST_ONLY | VMOP_PERF_NO_STACKS));
}

/*
 * Set *ret to the attributes for a CPU. Return false if the event belongs to a PMU of other CPUs
 * (hybrid machines, PMUs beside the cores).
 */
bool vmop_perf_event_attr_on(const struct vmop_perf_event *event, unsigned cpu,
			     struct perf_event_attr *ret);

/*
 * Remove the PMU of a CPU from an event that other PMUs count too. The name becomes
 * "OTHER-PMU/NAME/", so that it is not compared with counts of all CPUs.
 */
struct vmop_error *vmop_perf_event_leave_out_pmu(struct vmop_perf_event *event, unsigned cpu);

/*
 * Return the weight of each sample at the full rate where the kernel does not report it, else 0.
 * With PERF_SAMPLE_PERIOD an event that the kernel counts gets a sample for every count, whatever
 * its period (perf_swevent_event in kernel/events/core.c). Samples of a clock would keep the period
 * with which it was opened (perf_swevent_hrtimer), whatever it is changed to.
 */
uint64_t vmop_perf_event_fixed_weight(const struct vmop_perf_event *event);

/*
 * Write perf's modifiers for the event's modes into ret, ":u", ":kG", or "" for all modes. Return
 * ret.
 */
#define VMOP_PERF_MODIFIERS_BYTES 4
const char *vmop_perf_event_modifiers(const struct vmop_perf_event *event,
				      char ret[VMOP_PERF_MODIFIERS_BYTES]);

/* Return the lowest period of a PMU's own event, judging by its name. */
uint64_t vmop_perf_lowest_by_name(const char *name);

/* Append a note to the event's notes. */
struct vmop_error *vmop_perf_event_add_note(struct vmop_perf_event *event, const char *more);

/* Set attr's exclude_ bits from the wanted modes. */
void vmop_perf_event_set_modes(struct vmop_perf_event *event);

/* Return /proc/sys/kernel/perf_event_max_sample_rate in Hz; UINT64_MAX if it cannot be read. */
uint64_t vmop_perf_max_sample_rate_hz(void);

#endif
