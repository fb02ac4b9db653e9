// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program on the sampling events. It runs in the event's interrupt, before perf writes the
 * sample. It returns 0 if its own record, in the same ring, replaces the sample, and 1 if perf's
 * sample stays (bpf_overflow_handler in kernel/events/core.c). bpf-helpers(7) has the helpers; the
 * youngest is bpf_loop, of Linux 5.17, in the part that unwinds the host's stacks.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h> /* needs linux/bpf.h's types */

#include <stdbool.h>

#include "hv-interface/bpf/layout.h"
#include "vmop/stack.h"

/* Set before the program is loaded: the verifier leaves out the code of parts that are not used. */
const volatile struct vmop_bpf_settings settings SEC(VMOP_BPF_SETTINGS_SECTION);
#define HOST settings.host

#define ENOSPC 28

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
} outputs SEC(".maps");

#include "hv-interface/bpf/guest.bpf.h"
#include "hv-interface/bpf/unwind.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VMOP_BPF_N_OUTCOMES);
	__type(key, uint32_t);
	__type(value, uint64_t);
} outcomes SEC(".maps");

static __always_inline void count(uint32_t outcome)
{
	uint64_t *n = bpf_map_lookup_elem(&outcomes, &outcome);
	if (n)
		++*n;
}

/* Write a record into the CPU's ring. perf counts one that finds no room. */
static __always_inline uint32_t write_record(struct bpf_perf_event_data *ctx, void *record,
					     uint32_t bytes)
{
	if (bytes > sizeof(struct vmop_bpf_stack) + VMOP_BPF_MAX_FRAMES * sizeof(uint64_t))
		return VMOP_BPF_NOT_WRITTEN;
	long status = bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, record, bytes);
	if (status == -ENOSPC)
		return VMOP_BPF_RING_FULL;
	return status ? VMOP_BPF_NOT_WRITTEN : VMOP_BPF_UNWOUND;
}

static __always_inline bool wants_user_frames(struct bpf_perf_event_data *ctx)
{
	return bpf_get_attach_cookie(ctx) >> VMOP_BPF_COOKIE_FRAMES_SHIFT &
	       VMOP_BPF_COOKIE_FRAMES_MASK;
}

SEC("perf_event")
int vmop_sample(struct bpf_perf_event_data *ctx)
{
	uint32_t zero = 0, bytes = 0;
	/* Most samples end within the first lines of code: those further on are in no cache. */
	if (settings.reads_guests && may_be_guests(ctx)) {
		enum fate fate = sample_guest(ctx);
		if (fate != NOT_GUESTS)
			return fate == NOT_REPLACED;
	}
	if (!settings.unwinds_host || !wants_user_frames(ctx))
		return 1;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	if (!scratch)
		return 1;
	uint32_t outcome = unwind(ctx, scratch, &bytes);
	if (outcome == VMOP_BPF_UNWOUND)
		outcome = write_record(ctx, &scratch->stack, bytes);
	count(outcome);
	return outcome != VMOP_BPF_UNWOUND && outcome != VMOP_BPF_RING_FULL;
}

char gpl[] SEC("license") = "GPL";
