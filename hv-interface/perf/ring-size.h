// SPDX-License-Identifier: GPL-2.0-or-later
/* The size of the CPUs' rings, from the rate and size of the samples. */
#ifndef VMOP_HV_INTERFACE_PERF_RING_SIZE_H
#define VMOP_HV_INTERFACE_PERF_RING_SIZE_H

#include <stddef.h>

#include "hv-interface/perf/cpu.h"
#include "hv-interface/source.h"

/*
 * Set the plan's ring_bytes and watermark_bytes for n_cpus CPUs. Samples without stacks have room
 * for two seconds, samples with stacks for half a second (with BPF a quarter of them copied), the
 * contexts of guests' samples for a second, and with the windows of their stacks for a quarter, in
 * up to 64 MiB a CPU and an eighth of the machine's memory, at most 1 GiB, for all CPUs. With
 * stacks or contexts a ring wakes the daemon when a quarter of it is filled, or of the size
 * that only the host's stacks would need.
 */
void vmop_perf_ring_size_set(struct vmop_perf_plan *plan, const struct vmop_source_setup *setup,
			     size_t n_cpus);

/* Return the samples with stacks that a CPU has in a second; 1 kHz for an unknown rate. */
uint64_t vmop_perf_ring_size_stack_hz(const struct vmop_perf_plan *plan);

/*
 * Add a note to the plan's stacks if the rings are smaller than the samples with stacks need: as a
 * result of the bounds above, of the set-up, or of a limit on locked memory.
 */
struct vmop_error *vmop_perf_ring_size_note(struct vmop_perf_plan *plan);

#endif
