// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/ring-size.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"

enum {
	/* Holds 1 s of 10,000 samples a second in its first half, where the wake-up is. */
	RING_BYTES = 1 << 20,
	LARGEST_DEFAULT_BYTES = 8 << 20,
	LARGEST_RING_BYTES = 64 << 20,
	SAMPLE_BYTES = 56, /* the larger of the two layouts, with its header */
	/* The bytes that a guest's context adds, and its windows where stacks are wanted. */
	CONTEXT_BYTES = sizeof(struct vmop_bpf_guest) + 12,
	WINDOWS_BYTES = VMOP_GUEST_KERNEL_WINDOW_MAX + VMOP_GUEST_USER_WINDOW_MAX,
	ALL_WINDOWS_BYTES = WINDOWS_BYTES + VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX,
};

#define LARGEST_TOTAL_BYTES (UINT64_C(1) << 30) /* of the rings of samples with stacks */

/* Return the samples a second on a CPU. Events without a known rate count as 1 kHz. */
static uint64_t event_hz(const struct vmop_perf_event *event)
{
	if (event->kind == VMOP_PERF_CLOCK)
		return VMOP_NS_PER_S / event->attr.sample_period;
	return event->attr.freq ? event->attr.sample_freq : 1000;
}

/* Return the bytes that a CPU's samples fill in a second, without stacks. */
static uint64_t bytes_per_s(const struct vmop_perf_plan *plan)
{
	uint64_t hz = 0;
	for (size_t i = 0; i < plan->n_events; i++)
		hz += event_hz(&plan->events[i]) << plan->events[i].is_split;
	size_t regs_bytes =
		plan->guest_exit.has_regs ? sizeof(struct vmop_perf_guest_exit_regs) : 0;
	return hz * (SAMPLE_BYTES + regs_bytes);
}

uint64_t vmop_perf_ring_size_stack_hz(const struct vmop_perf_plan *plan)
{
	uint64_t hz = 0;
	for (size_t i = 0; i < plan->n_events; i++) {
		if (vmop_perf_event_has_stacks(plan->wanted[i]))
			hz += event_hz(&plan->events[i]);
	}
	return hz;
}

static bool has_stacks(const struct vmop_perf_plan *plan)
{
	return plan->stacks.is.mode != VMOP_STACKS_OFF;
}

/* Return the bytes that the stack of a host's sample of event i adds. */
static uint64_t host_stack_bytes(const struct vmop_perf_plan *plan, size_t i)
{
	if (!vmop_perf_event_has_stacks(plan->wanted[i]))
		return 0;
	return vmop_perf_plan_unwinds(plan, i) ? vmop_perf_stacks_bytes_by_bpf(&plan->stacks.is)
					       : vmop_perf_stacks_bytes(&plan->stacks.is);
}

/* Return the bytes that the context of a guest's sample of event i adds. */
static uint64_t context_bytes(const struct vmop_perf_plan *plan, size_t i)
{
	if (!vmop_perf_plan_captures(plan, i))
		return 0;
	return CONTEXT_BYTES + (has_stacks(plan) ? WINDOWS_BYTES : 0);
}

/*
 * Return the bytes that the captures of a CPU's samples fill in a second. At a time it
 * runs either the host or a guest.
 */
static uint64_t captured_bytes_per_s(const struct vmop_perf_plan *plan)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->n_events; i++) {
		uint64_t host = host_stack_bytes(plan, i), guest = context_bytes(plan, i);
		bytes += event_hz(&plan->events[i]) * (host > guest ? host : guest);
	}
	return bytes;
}

static bool has_captures(const struct vmop_perf_plan *plan)
{
	return has_stacks(plan) || plan->program.captures_guests;
}

/* Return the smallest useful ring of samples with captures. */
static uint64_t least_for_captures(const struct vmop_perf_plan *plan)
{
	uint64_t stack = vmop_perf_stacks_bytes(&plan->stacks.is), context = 0;
	if (plan->program.captures_guests)
		context = CONTEXT_BYTES + (has_stacks(plan) ? ALL_WINDOWS_BYTES : 0);
	return 8 * (stack > context ? stack : context);
}

/*
 * Return the size that samples with captures need: half a second of stacks, a second of contexts,
 * and a quarter of contexts with windows, for which the daemon drains the rings more often.
 */
static uint64_t wanted_for_captures(const struct vmop_perf_plan *plan)
{
	uint64_t wanted = bytes_per_s(plan) / 2;
	for (size_t i = 0; i < plan->n_events; i++) {
		uint64_t host = host_stack_bytes(plan, i) / 2, guest = context_bytes(plan, i);
		guest /= has_stacks(plan) ? 4 : 1;
		wanted += event_hz(&plan->events[i]) * (host > guest ? host : guest);
	}
	return wanted > least_for_captures(plan) ? wanted : least_for_captures(plan);
}

/* Return the largest ring of samples with captures: a power of two. */
static size_t largest_for_captures(size_t n_cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
	uint64_t total = memory < LARGEST_TOTAL_BYTES ? memory : LARGEST_TOTAL_BYTES;
	size_t most = LARGEST_RING_BYTES;
	while (most > RING_BYTES && most > total / (n_cpus ? n_cpus : 1))
		most /= 2;
	return most;
}

/*
 * Return the watermark that the ring would have without the contexts of guests. A new program's
 * stacks are copied until its tables are known, which begins with the drain.
 */
static size_t watermark_of_stacks(const struct vmop_perf_plan *plan)
{
	uint64_t wanted = bytes_per_s(plan) / 2;
	for (size_t i = 0; i < plan->n_events; i++)
		wanted += event_hz(&plan->events[i]) * host_stack_bytes(plan, i) / 2;
	size_t ring_bytes = RING_BYTES;
	while (ring_bytes < wanted && ring_bytes < plan->ring_bytes)
		ring_bytes *= 2;
	return ring_bytes / 4;
}

/* Set the watermark so that the ring cannot fill before the daemon reacts. */
static void set_watermark(struct vmop_perf_plan *plan, unsigned wakeup_ms)
{
	plan->watermark_bytes = plan->ring_bytes / 2;
	if (wakeup_ms) {
		uint64_t reserve =
			(bytes_per_s(plan) + captured_bytes_per_s(plan)) * wakeup_ms / 1000;
		size_t latest = plan->ring_bytes / 4 * 3, earliest = plan->ring_bytes / 8;
		size_t watermark = reserve < plan->ring_bytes ? plan->ring_bytes - reserve : 0;
		plan->watermark_bytes = watermark > latest     ? latest
					: watermark < earliest ? earliest
							       : watermark;
	}
	if (has_captures(plan) && plan->watermark_bytes > plan->ring_bytes / 4)
		plan->watermark_bytes = plan->ring_bytes / 4;
	if (has_stacks(plan) && plan->program.captures_guests &&
	    plan->watermark_bytes > watermark_of_stacks(plan))
		plan->watermark_bytes = watermark_of_stacks(plan);
}

void vmop_perf_ring_size_set(struct vmop_perf_plan *plan, const struct vmop_source_setup *setup,
			     size_t n_cpus)
{
	uint64_t wanted = 2 * bytes_per_s(plan);
	size_t least = RING_BYTES, most = LARGEST_DEFAULT_BYTES;
	if (has_captures(plan) && wanted_for_captures(plan) > wanted) {
		wanted = wanted_for_captures(plan);
		most = largest_for_captures(n_cpus);
	}
	if (setup->buffer_bytes) {
		wanted = setup->buffer_bytes;
		if (wanted < least_for_captures(plan))
			wanted = least_for_captures(plan);
		least = (size_t)sysconf(_SC_PAGESIZE);
		most = LARGEST_RING_BYTES;
	}
	plan->ring_bytes = least;
	while (plan->ring_bytes < wanted && plan->ring_bytes < most)
		plan->ring_bytes *= 2;
	set_watermark(plan, setup->wakeup_ms);
}

struct vmop_error *vmop_perf_ring_size_note(struct vmop_perf_plan *plan)
{
	_cleanup_free_ char *note = NULL;
	if (!has_stacks(plan) || plan->n_events == 0 ||
	    plan->ring_bytes >= wanted_for_captures(plan))
		return NULL;
	if (asprintf(&note,
		     "rings of %zu KiB for each CPU instead of %" PRIu64
		     " KiB: samples may be lost on a busy machine",
		     plan->ring_bytes >> 10, (wanted_for_captures(plan) + 1023) >> 10) < 0) {
		note = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_perf_stacks_add_note(&plan->stacks, note);
}
