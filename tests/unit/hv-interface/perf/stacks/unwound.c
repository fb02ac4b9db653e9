// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of the BPF output event, made by hand, also cut ones and such with impossible numbers. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/layout.h"
#include "hv-interface/perf/event.h"
#include "hv-interface/perf/record.h"
#include "hv-interface/perf/stacks/unwound.h"

enum { OUTPUT_ID = 77, N_FRAMES = 3, TIME = 4711, GENERATION = 9, PERIOD = 1234567 };

static const uint64_t ids[] = {11, 12};
static const uint8_t wanted[] = {0xf, 0xf};
static const uint64_t weights[] = {0, 5};
static const struct vmop_perf_decoder decoder = {
	.has_identifier = true,
	.ids = ids,
	.wanted = wanted,
	.fixed_weights = weights,
	.n_events = 2,
	.stack_sample_type = VMOP_PERF_SAMPLE_STACKS,
	.max_frames = VMOP_STACK_FRAMES_MAX,
	.output_id = OUTPUT_ID,
	.output_sample_type = PERF_SAMPLE_CALLCHAIN,
};

/* A whole record: id, ip, pid and tid, time, cpu, period, the chain, and the program's part. */
struct __attribute__((packed)) made {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period;
	uint64_t n_chain, chain[3];
	uint32_t raw_bytes;
	struct vmop_bpf_stack stack;
	uint64_t frames[N_FRAMES];
};

_Static_assert(offsetof(struct made, frames) % 8 == 0, "as in the ring");

static struct made usual(void)
{
	return (struct made){
		.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof(struct made)},
		.id = OUTPUT_ID,
		.ip = UINT64_C(0xffffffff81000010),
		.pid = 100,
		.tid = 101,
		.time = TIME,
		.cpu = 1,
		.period = 1,
		.n_chain = 3,
		.chain = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
			  UINT64_C(0xffffffff81000200)},
		.raw_bytes = sizeof(struct vmop_bpf_stack) + N_FRAMES * 8,
		.stack = {.kind = VMOP_BPF_HOST_STACK,
			  .end = VMOP_STACK_COMPLETE,
			  .n_frames = N_FRAMES,
			  .period_events = PERIOD,
			  .generation = GENERATION},
		.frames = {0x1000, 0x2000, 0x3000 | VMOP_USER_FRAME_INTERRUPTED},
	};
}

static enum vmop_perf_decoded decode_by(const struct vmop_perf_decoder *by, const void *made,
					struct vmop_record *record,
					struct vmop_perf_capture *capture)
{
	memset(capture, 0xdd, sizeof(*capture));
	return vmop_perf_record_decode(by, made, record, capture);
}

static enum vmop_perf_decoded decode(const void *made, struct vmop_record *record,
				     struct vmop_perf_capture *capture)
{
	return decode_by(&decoder, made, record, capture);
}

static void a_sample_stands_for_the_events(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct vmop_record record;
	struct vmop_perf_capture capture;
	made = usual();
	assert_int_equal(decode(&made, &record, &capture), VMOP_PERF_DECODED);
	assert_int_equal(record.type, VMOP_RECORD_SAMPLE);
	assert_int_equal(record.time_ns, TIME);
	assert_int_equal(record.sample.event, 0);
	assert_int_equal(record.sample.weight_events, PERIOD);
	assert_int_equal(record.sample.pid, 100);
	assert_int_equal(record.sample.flags, VMOP_SAMPLE_KERNEL);
	assert_true(capture.is_here);
	assert_int_equal(capture.stack.n_kernel_frames, 2);
	assert_ptr_equal(capture.stack.kernel_frames,
			 (const uint8_t *)&made + offsetof(struct made, chain) + 8);
	assert_int_equal(capture.stack.n_user_frames, N_FRAMES);
	assert_memory_equal(capture.stack.user_frames, made.frames, sizeof(made.frames));
	assert_int_equal(capture.stack.user_end, VMOP_STACK_COMPLETE);
	assert_int_equal(capture.stack.user_generation, GENERATION);
	assert_null(capture.stack.user_regs);
	assert_null(capture.stack.user_stack);
	made.stack.event = 1; /* with a weight of its own */
	made.stack.end = VMOP_STACK_DEPTH_LIMIT;
	assert_int_equal(decode(&made, &record, &capture), VMOP_PERF_DECODED);
	assert_int_equal(record.sample.event, 1);
	assert_int_equal(record.sample.weight_events, 5);
	assert_int_equal(capture.stack.user_end, VMOP_STACK_DEPTH_LIMIT);
}

static void a_guests_sample_has_no_stack(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct vmop_record record;
	struct vmop_perf_capture capture;
	made = usual();
	made.header.misc = PERF_RECORD_MISC_GUEST_KERNEL;
	assert_int_equal(decode(&made, &record, &capture), VMOP_PERF_DECODED);
	assert_int_equal(record.sample.flags, VMOP_SAMPLE_GUEST | VMOP_SAMPLE_KERNEL);
	assert_false(capture.is_here);
}

/* Every shorter record is refused, and read only within its own size. */
static void cut_records_are_malformed(void **state)
{
	(void)state;
	struct vmop_record record;
	struct vmop_perf_capture capture;
	const struct made whole = usual();
	for (uint16_t n = sizeof(struct perf_event_header); n < sizeof(whole); n++) {
		struct perf_event_header *made = malloc(n); /* a sanitizer sees bytes behind it */
		assert_non_null(made);
		memcpy(made, &whole, n);
		made->size = n;
		assert_int_equal(decode(made, &record, &capture), VMOP_PERF_MALFORMED);
		free(made);
	}
}

static void impossible_numbers_are_malformed(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct vmop_record record;
	struct vmop_perf_capture capture;
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		made = usual();                                                                    \
		made.field = value;                                                                \
		assert_int_equal(decode(&made, &record, &capture), VMOP_PERF_MALFORMED);           \
	} while (0)
	REFUSED(stack.kind, 0);
	REFUSED(stack.kind, 2);
	REFUSED(stack.event, 2);
	REFUSED(stack.event, UINT16_MAX);
	REFUSED(stack.end, VMOP_STACK_END_UNKNOWN);
	REFUSED(stack.end, VMOP_STACK_TORN);
	REFUSED(stack.end, UINT8_MAX);
	REFUSED(stack.n_frames, 0);
	REFUSED(stack.n_frames, N_FRAMES + 1);
	REFUSED(stack.n_frames, UINT8_MAX);
	REFUSED(stack.generation, 0);
	REFUSED(raw_bytes, 0);
	REFUSED(raw_bytes, made.raw_bytes - 8);
	REFUSED(raw_bytes, made.raw_bytes - 1);
	REFUSED(raw_bytes, made.raw_bytes + 8);
	REFUSED(raw_bytes, UINT32_MAX);
	REFUSED(raw_bytes, UINT32_MAX - 3);
	REFUSED(n_chain, 4);
	REFUSED(n_chain, UINT64_MAX);
}

/* Without an output event its id is that of no event. */
static void without_bpf_it_is_a_sample_like_others(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct vmop_perf_decoder other = decoder;
	struct vmop_record record;
	struct vmop_perf_capture capture;
	other.output_id = 0;
	other.stack_sample_type = PERF_SAMPLE_CALLCHAIN;
	made = usual();
	assert_int_equal(decode_by(&other, &made, &record, &capture), VMOP_PERF_DECODED);
	assert_int_equal(record.sample.weight_events, 1);
	assert_int_equal(capture.stack.n_user_frames, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_stands_for_the_events),
		cmocka_unit_test(a_guests_sample_has_no_stack),
		cmocka_unit_test(cut_records_are_malformed),
		cmocka_unit_test(impossible_numbers_are_malformed),
		cmocka_unit_test(without_bpf_it_is_a_sample_like_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
