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

/* Return the bytes that the stacks of a CPU's samples fill in a second. */
static uint64_t stack_bytes_per_s(const struct vmop_perf_plan *plan)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->n_events; i++) {
		if (!vmop_perf_event_has_stacks(plan->wanted[i]))
			continue;
		bytes += event_hz(&plan->events[i]) *
			 (vmop_perf_plan_unwinds(plan, i)
				  ? vmop_perf_stacks_bytes_by_bpf(&plan->stacks.is)
				  : vmop_perf_stacks_bytes(&plan->stacks.is));
	}
	return bytes;
}

/* Return the smallest useful ring of samples with stacks. */
static uint64_t least_for_stacks(const struct vmop_perf_plan *plan)
{
	return 8 * (uint64_t)vmop_perf_stacks_bytes(&plan->stacks.is);
}

/* Return the size that samples with stacks need. */
static uint64_t wanted_for_stacks(const struct vmop_perf_plan *plan)
{
	uint64_t wanted = (bytes_per_s(plan) + stack_bytes_per_s(plan)) / 2;
	return wanted > least_for_stacks(plan) ? wanted : least_for_stacks(plan);
}

static bool has_stacks(const struct vmop_perf_plan *plan)
{
	return plan->stacks.is.mode != VMOP_STACKS_OFF;
}

/* Return the largest ring of samples with stacks: a power of two. */
static size_t largest_for_stacks(size_t n_cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
	uint64_t total = memory < LARGEST_TOTAL_BYTES ? memory : LARGEST_TOTAL_BYTES;
	size_t most = LARGEST_RING_BYTES;
	while (most > RING_BYTES && most > total / (n_cpus ? n_cpus : 1))
		most /= 2;
	return most;
}

/* Set the watermark so that the ring cannot fill before the daemon reacts. */
static void set_watermark(struct vmop_perf_plan *plan, unsigned wakeup_ms)
{
	plan->watermark_bytes = plan->ring_bytes / 2;
	if (wakeup_ms) {
		uint64_t reserve = (bytes_per_s(plan) + stack_bytes_per_s(plan)) * wakeup_ms / 1000;
		size_t latest = plan->ring_bytes / 4 * 3, earliest = plan->ring_bytes / 8;
		size_t watermark = reserve < plan->ring_bytes ? plan->ring_bytes - reserve : 0;
		plan->watermark_bytes = watermark > latest     ? latest
					: watermark < earliest ? earliest
							       : watermark;
	}
	if (has_stacks(plan) && plan->watermark_bytes > plan->ring_bytes / 4)
		plan->watermark_bytes = plan->ring_bytes / 4;
}

void vmop_perf_ring_size_set(struct vmop_perf_plan *plan, const struct vmop_source_setup *setup,
			     size_t n_cpus)
{
	uint64_t wanted = 2 * bytes_per_s(plan);
	size_t least = RING_BYTES, most = LARGEST_DEFAULT_BYTES;
	if (has_stacks(plan) && wanted_for_stacks(plan) > wanted) {
		wanted = wanted_for_stacks(plan);
		most = largest_for_stacks(n_cpus);
	}
	if (setup->buffer_bytes) {
		wanted = setup->buffer_bytes;
		if (wanted < least_for_stacks(plan))
			wanted = least_for_stacks(plan);
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
	if (!has_stacks(plan) || plan->n_events == 0 || plan->ring_bytes >= wanted_for_stacks(plan))
		return NULL;
	if (asprintf(&note,
		     "rings of %zu KiB for each CPU instead of %" PRIu64
		     " KiB: samples may be lost on a busy machine",
		     plan->ring_bytes >> 10, (wanted_for_stacks(plan) + 1023) >> 10) < 0) {
		note = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_perf_stacks_add_note(&plan->stacks, note);
}
