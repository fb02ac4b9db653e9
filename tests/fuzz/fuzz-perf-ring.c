// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a ring shared with the kernel: hv-interface/perf/ring.h, record.h and merge.h. The
 * input's first 8 bytes are the ring's head.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum { RING_BYTES = 4096, N_RINGS = 8, MAX_FRAMES = 10 };

/* Read all bytes, so that a sanitizer sees those outside of the ring. */
static void read_all(const void *data, size_t len_bytes)
{
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < len_bytes; i++)
		sum += ((const uint8_t *)data)[i];
}

static void look_at_frames(const uint64_t *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (frames[i] >= (uint64_t)PERF_CONTEXT_MAX)
			abort();
	}
}

/* A guest's context comes with a sample of a guest or with a guest's state, and with nothing else.
 */
static void look_at_context(const struct vmop_record *record,
			    const struct vmop_stack_capture *stack)
{
	const struct vmop_guest_context *context = stack->guest;
	bool is_state = record->type == VMOP_RECORD_GUEST_STATE;
	if (!is_state &&
	    (record->type != VMOP_RECORD_SAMPLE || !(record->sample.flags & VMOP_SAMPLE_GUEST)))
		abort();
	if (is_state != !!(context->parts & VMOP_GUEST_IS_EXITED) ||
	    context->parts > VMOP_GUEST_ALL_PARTS || context->gap >= VMOP_GUEST_N_GAPS ||
	    context->code_bytes > sizeof(context->code) || stack->n_kernel_frames ||
	    stack->n_user_frames || stack->user_stack_bytes)
		abort();
	read_all(context, vmop_guest_context_bytes(context));
}

static void look_at_stack(const struct vmop_record *record, const struct vmop_stack_capture *stack)
{
	if (stack->guest) {
		look_at_context(record, stack);
		return;
	}
	bool is_chain = record->type == VMOP_RECORD_USER_CHAIN;
	if (!is_chain &&
	    (record->type != VMOP_RECORD_SAMPLE || record->sample.flags & VMOP_SAMPLE_GUEST))
		abort();
	look_at_frames(stack->kernel_frames, stack->n_kernel_frames);
	if (stack->user_generation || is_chain) /* any value: the BPF program's, a late chain's */
		read_all(stack->user_frames, stack->n_user_frames * sizeof(*stack->user_frames));
	else
		look_at_frames(stack->user_frames, stack->n_user_frames);
	if (stack->user_regs)
		read_all(stack->user_regs, VMOP_USER_REGS * sizeof(*stack->user_regs));
	if (stack->user_stack_bytes > stack->user_stack_asked_bytes ||
	    (stack->user_stack && (!stack->user_regs || stack->is_compat)))
		abort();
	read_all(stack->user_stack, stack->user_stack_bytes);
}

static void look_at(void *arg, const struct vmop_record *record,
		    const struct vmop_stack_capture *stack)
{
	if (stack)
		look_at_stack(record, stack);
	else if (record->type == VMOP_RECORD_GUEST_STATE)
		abort();
	uint64_t *last_ns = arg;
	if (record->time_ns < *last_ns)
		abort();
	*last_ns = record->time_ns;
	switch (record->type) {
	case VMOP_RECORD_MMAP:
		if (strlen(record->mmap.path) > UINT16_MAX)
			abort();
		if (record->mmap.build_id_len_bytes > VMOP_BUILD_ID_MAX)
			abort();
		break;
	case VMOP_RECORD_COMM:
		if (strlen(record->comm.comm) > UINT16_MAX)
			abort();
		break;
	case VMOP_RECORD_KSYMBOL:
		if (strlen(record->ksymbol.name) > UINT16_MAX)
			abort();
		break;
	case VMOP_RECORD_SAMPLE:
		if (record->sample.event > 1)
			abort();
		break;
	default:
		break;
	}
}

/*
 * Rings with the same data: with and without identifiers; with registers as in Xen's dom0 and as on
 * arm64; with call stacks, last and before the registers; with stacks that BPF unwound and contexts
 * of guests behind a callchain; with contexts only, and registers as on arm64 behind them.
 */
static void drain(struct perf_event_mmap_page *page, const uint8_t *ring_data, uint64_t head)
{
	static const uint64_t ids[] = {1, 2};
	static const uint64_t weights[] = {0, 10}; /* the second event's samples have no period */
	static const uint8_t wanted[] = {0xf, 0x5};
	static const uint8_t dom0_wanted[] = {0xf | VMOP_PERF_BY_PMU | VMOP_PERF_HOST_ONLY, 0x5};
	struct vmop_perf_cursor cursors[N_RINGS] = {0}, *all[N_RINGS];
	struct vmop_perf_merge merge = {0};
	struct vmop_source_stats stats = {0};
	uint64_t last_ns = 0;
	const struct vmop_sink sink = {look_at, &last_ns};
	if (vmop_perf_merge_reserve(&merge, N_RINGS))
		abort();
	for (unsigned i = 0; i < N_RINGS; i++) {
		all[i] = &cursors[i];
		if (vmop_perf_ring_init(&cursors[i].ring, page, ring_data, RING_BYTES))
			abort();
		cursors[i].decoder = (struct vmop_perf_decoder){
			.has_identifier = i > 0 && i != 4,
			.ids = ids,
			.fixed_weights = i == 1 ? weights : NULL,
			.wanted = i == 2 ? dom0_wanted : wanted,
			.n_events = i > 0 && i != 4 ? 2 : 1,
		};
		if (i == 2)
			cursors[i].decoder.dom0 = (struct vmop_perf_dom0){
				.view = VMOP_REACH_UNDIVIDED, .has_regs = true};
		if (i >= 6)
			cursors[i].decoder.output_id = 3;
		if (i == 6)
			cursors[i].decoder.output_sample_type = PERF_SAMPLE_CALLCHAIN;
		if (i == 3 || i == 5 || i == 7)
			cursors[i].decoder.guest_exit = (struct vmop_perf_guest_exit){
				.is_here = true, .has_regs = true, .len_bytes = 0x1000};
		if (i >= 4 && i < 7) {
			cursors[i].decoder.stack_sample_type = VMOP_PERF_SAMPLE_STACKS;
			cursors[i].decoder.max_frames = MAX_FRAMES;
		}
	}
	static const uint64_t steps[] = {0, 1, 2, 3};
	for (unsigned i = 0; i < 4; i++) {
		page->data_head = head + steps[i] * 1000;
		vmop_perf_merge_drain(&merge, all, N_RINGS, i == 3 ? UINT64_MAX : head, &sink,
				      &stats);
	}
	for (unsigned i = 0; i < N_RINGS; i++) {
		if (cursors[i].ring.tail != cursors[i].ring.head)
			abort(); /* everything was requested in the end */
		vmop_perf_ring_deinit(&cursors[i].ring);
	}
	vmop_perf_merge_deinit(&merge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct perf_event_mmap_page page = {0};
	uint64_t head = 0;
	if (len_bytes < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	uint8_t *ring_data = aligned_alloc(8, RING_BYTES);
	if (!ring_data)
		abort();
	size_t n = len_bytes - sizeof(head) < RING_BYTES ? len_bytes - sizeof(head) : RING_BYTES;
	memset(ring_data, 0, RING_BYTES);
	memcpy(ring_data, data + sizeof(head), n);
	drain(&page, ring_data, head);
	free(ring_data);
	return 0;
}
