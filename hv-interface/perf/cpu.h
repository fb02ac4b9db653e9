// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The open events of one CPU. A dummy event owns the ring and carries the side-band (mmap, comm,
 * task and ksymbol records); each sampled event is redirected into the same ring.
 */
#ifndef VMOP_HV_INTERFACE_PERF_CPU_H
#define VMOP_HV_INTERFACE_PERF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/merge.h"
#include "hv-interface/perf/open.h"
#include "hv-interface/perf/stacks/attachment.h"
#include "hv-interface/perf/stacks/program.h"
#include "hv-interface/perf/stacks/stacks.h"
#include "libutil/error.h"

/* Attributes that older kernels refuse with EINVAL, the newest first. */
enum vmop_perf_missing {
	VMOP_PERF_NO_LOST_COUNT = 1 << 0, /* Linux 6.0: PERF_FORMAT_LOST */
	VMOP_PERF_NO_KSYMBOL = 1 << 1,	  /* Linux 5.1 */
	VMOP_PERF_ALL_MISSING = 3,
};

/* The attributes and sizes with which every CPU is opened. */
struct vmop_perf_plan {
	struct vmop_perf_event *events;
	uint8_t *wanted; /* vmop_perf_event_wanted_classes() of each */
	size_t n_events, events_capacity, wanted_capacity;
	size_t ring_bytes, watermark_bytes;
	unsigned missing; /* enum vmop_perf_missing: found missing on this kernel */
	struct vmop_perf_guest_exit guest_exit;
	struct vmop_perf_dom0 dom0;
	bool wants_switches; /* of tasks */
	struct vmop_perf_stacks stacks;
	struct vmop_perf_program program; /* at the events; empty: none */
	unsigned rate_divisor;		  /* of the events that CPUs open from now on; 0: 1 */
	bool is_open; /* all CPUs were opened: a CPU that comes later changes nothing above */
};

/* Return whether samples carry the id of their counter, because the plan has more than one. */
bool vmop_perf_plan_has_identifier(const struct vmop_perf_plan *plan);

/*
 * Return whether event i can have the BPF program, which tracepoints can't: their programs are of
 * another type.
 */
bool vmop_perf_plan_can_run(const struct vmop_perf_plan *plan, size_t i);

/* Return whether event i, or a half of it, samples guests. */
bool vmop_perf_plan_samples_guests(const struct vmop_perf_plan *plan, size_t i);

/* Return whether BPF unwinds the stacks of event i. */
bool vmop_perf_plan_unwinds(const struct vmop_perf_plan *plan, size_t i);

/* Return whether BPF captures the contexts of event i's samples of guests. */
bool vmop_perf_plan_captures(const struct vmop_perf_plan *plan, size_t i);

struct vmop_perf_cpu {
	struct vmop_perf_cursor cursor;
	unsigned cpu;
	int dummy_fd;
	/*
	 * Descriptors and kernel ids: first of the plan's events (of split ones: the host's
	 * halves), then of the guests' halves. -1 and 0: not on this CPU, or not split.
	 */
	int *fds;
	uint64_t *ids;
	uint64_t *fixed_weights; /* of the plan's events; vmop_perf_event_fixed_weight() */
	struct vmop_perf_attachment attachment;
	size_t n_events;
	bool is_gone;	     /* the CPU is offline; its ring still has unread records */
	uint64_t enabled_ns; /* at the last vmop_perf_cpu_is_dead */
	uint64_t seen_tail;  /* likewise */
};

/* A refused event: its index in the plan (n_events: the dummy), the CPU and the errno. */
struct vmop_perf_refusal {
	size_t event;
	unsigned cpu;
	int os_errno;	/* 0: the failed call was not perf_event_open, nor due to BPF */
	bool is_by_bpf; /* the kernel refused to attach the BPF program */
};

/*
 * Open all of the plan's events on a CPU, switched off. *ret is NULL without an error if the CPU
 * has disappeared. Sets the plan's missing bits, and makes its ring smaller if memory may not be
 * locked. Fills *refusal when perf_event_open fails. Free *ret with vmop_perf_cpu_close. With a
 * plan that is_open, a CPU where the kernel refuses the BPF program does without: its stacks are
 * copied, and its samples of guests have no contexts.
 */
struct vmop_error *vmop_perf_cpu_open(struct vmop_perf_plan *plan, unsigned cpu,
				      struct vmop_perf_refusal *refusal,
				      struct vmop_perf_cpu **ret);
void vmop_perf_cpu_close(struct vmop_perf_cpu *cpu);

struct vmop_error *vmop_perf_cpu_enable(struct vmop_perf_cpu *cpu);
void vmop_perf_cpu_disable(struct vmop_perf_cpu *cpu);

/* Note that the CPU went offline. Its ring can still be read. */
void vmop_perf_cpu_set_gone(struct vmop_perf_cpu *cpu);

/*
 * Return whether the CPU went offline and came back, which leaves its events open but dead.
 * Detected at the third call after the return at the latest. Only for enabled events.
 */
bool vmop_perf_cpu_is_dead(struct vmop_perf_cpu *cpu, unsigned missing);

/*
 * Set *ret_enabled_ns and *ret_running_ns to the times for which event i was meant to count on this
 * CPU and did count, since it was opened. A split event has the mean of its halves. Return false if
 * it is not open here or cannot be read.
 */
bool vmop_perf_cpu_times(const struct vmop_perf_cpu *cpu, size_t i, unsigned missing,
			 uint64_t *ret_enabled_ns, uint64_t *ret_running_ns);

/*
 * Return the number of records that found no room in the ring; 0 if the kernel does not count them.
 */
uint64_t vmop_perf_cpu_lost(const struct vmop_perf_cpu *cpu, unsigned missing);

#endif
