// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The attributes by which the host's samples carry call stacks (perf/capture.h decodes them), and
 * the substitutes for what the kernel refuses: BPF, then CFI, then frame pointers, then kernel
 * frames, then nothing. Each step leaves a note.
 *
 * With BPF the samples have the same attributes as with CFI, for the stacks that BPF leaves to the
 * daemon: see bpf/unwind-maps.h.
 *
 * A guest's sample would carry the stack of its VMM's thread. A PMU's event that counts both worlds
 * is therefore opened twice where the counters suffice, and the guests' half carries no stack
 * (perf/guest-split.h). A clock cannot be separated so: with exclude_guest it ticks in guests too,
 * and Linux 6.18 then reports these samples as the host's. So a clock's sample of a guest costs the
 * copy, and the decoder drops the copy.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_STACKS_H
#define VMOP_HV_INTERFACE_PERF_STACKS_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/stack.h"

struct vmop_perf_stacks {
	struct vmop_stack_options is; /* mode OFF, KERNEL, FP, CFI or BPF */
	uint32_t chain_frames;	      /* at most, in a sample's callchain: 1..max_frames */
	char *note; /* NULL, or the differences from the request and the reasons */
};

/*
 * Choose what this machine can capture of the request. no_bpf: the reason why BPF can't unwind;
 * NULL: it can. root: prefix for /proc; NULL: "". Free *ret with vmop_perf_stacks_deinit, also
 * after an error. The only error is lack of memory: a kernel that refuses every mode leaves OFF and
 * a note.
 */
struct vmop_error *vmop_perf_stacks_choose(const struct vmop_stack_options *request,
					   const char *no_bpf, const char *root,
					   struct vmop_perf_stacks *ret);
void vmop_perf_stacks_deinit(struct vmop_perf_stacks *stacks);

/* Take the next lower mode than BPF and note the reason: "not by BPF, because REASON". */
struct vmop_error *vmop_perf_stacks_leave_bpf(struct vmop_perf_stacks *stacks, const char *reason);

/*
 * Return whether BPF should unwind although the request leaves it open: copies of all stacks would
 * fill more than VMOP_PERF_STACKS_COPIED_PER_S in a second. stack_hz: samples with stacks a second,
 * on all CPUs.
 */
#define VMOP_PERF_STACKS_COPIED_PER_S (UINT64_C(256) << 20)
bool vmop_perf_stacks_prefers_bpf(const struct vmop_stack_options *request, uint64_t stack_hz);

/* Append to the note. */
struct vmop_error *vmop_perf_stacks_add_note(struct vmop_perf_stacks *stacks, const char *more);

/* Return the bits of VMOP_PERF_SAMPLE_STACKS that samples of the mode have; 0: OFF. */
uint64_t vmop_perf_stacks_sample_type(const struct vmop_stack_options *stacks);

/* Add the attributes to those of an event that samples the host. */
void vmop_perf_stacks_set_attr(const struct vmop_perf_stacks *stacks, struct perf_event_attr *attr);

/*
 * Return the bits of VMOP_PERF_SAMPLE_STACKS that the samples of the BPF output event have: the
 * callchain of a stack whose user part BPF unwinds.
 */
uint64_t vmop_perf_stacks_output_type(const struct vmop_stack_options *stacks);

/* Add the attributes to those of the BPF output event. */
void vmop_perf_stacks_set_output_attr(const struct vmop_perf_stacks *stacks,
				      struct perf_event_attr *attr);

/* Return the bytes that a stack adds to a sample: with a copy the most, else a usual number. */
uint32_t vmop_perf_stacks_bytes(const struct vmop_stack_options *stacks);

/* Return the mean bytes that a stack adds where BPF unwinds most of them and the rest is copied. */
uint32_t vmop_perf_stacks_bytes_by_bpf(const struct vmop_stack_options *stacks);

#endif
