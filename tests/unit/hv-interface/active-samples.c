// SPDX-License-Identifier: GPL-2.0-or-later
/* Batches of samples for an active guest, and the questions and answers about the host's time. */
#include "hv-interface/active-samples.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "vmop/guest-frame.h"

#define N 2000

/* Samples as a busy guest has them: 1 kHz, two vCPUs, a program and the kernel. */
static void make_samples(struct vmop_active_sample *samples, size_t n)
{
	uint64_t time_ns = 4000000000000;
	for (size_t i = 0; i < n; i++) {
		bool is_kernel = i % 7 == 0;
		time_ns += 499000 + i * 37 % 2000;
		samples[i] = (struct vmop_active_sample){
			.time_ns = time_ns,
			.address = is_kernel ? UINT64_C(0xffffffff81000000) + i * 7919 % 10000000
					     : 0x401000 + i * 31 % 3000,
			.weight_events = 1000000,
			.vcpu = i / 3 % 2,
			.is_kernel = is_kernel,
		};
	}
}

static void assert_same(const struct vmop_active_sample *a, const struct vmop_active_sample *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->weight_events, b->weight_events);
	assert_int_equal(a->vcpu, b->vcpu);
	assert_int_equal(a->event, b->event);
	assert_int_equal(a->is_kernel, b->is_kernel);
}

static void assert_same_stack(const struct vmop_active_sample *is, const uint64_t *is_frames,
			      const struct vmop_active_sample *right, const uint64_t *frames)
{
	assert_int_equal(is->has_stack, right->has_stack && frames);
	assert_int_equal(is->is_nested, right->is_nested && frames);
	if (!is->has_stack)
		return;
	assert_int_equal(is->is_stack_likely, right->is_stack_likely);
	assert_int_equal(is->stack_end, right->stack_end);
	assert_int_equal(is->n_frames, right->n_frames);
	assert_int_equal(is->first_frame, 0);
	if (is->n_frames)
		assert_memory_equal(is_frames, frames + right->first_frame,
				    is->n_frames * sizeof(*frames));
}

/* Encode samples into as many batches as needed, and read them again. Return the sum of bytes. */
static size_t round_trip(const struct vmop_active_sample *samples, size_t n, const uint64_t *frames)
{
	uint8_t buf[VMOP_ACTIVE_BATCH_BYTES];
	size_t n_done = 0, bytes = 0;
	while (n_done < n) {
		const struct vmop_active_batch batch = {.complete_ns = UINT64_MAX,
							.n_lost = 77,
							.n = n - n_done,
							.is_extended = frames != NULL};
		struct vmop_active_batch_reader reader;
		struct vmop_active_sample sample;
		struct vmop_active_batch read;
		size_t len, n_sent = vmop_active_batch_encode(&batch, samples + n_done, frames, buf,
							      &len);
		assert_true(n_sent > 0 && len <= sizeof(buf));
		assert_true(vmop_active_batch_begin(buf, len, &reader, &read));
		assert_int_equal(read.n, n_sent);
		assert_int_equal(read.n_lost, 77);
		assert_int_equal(read.is_extended, frames != NULL);
		for (size_t i = 0; i < n_sent; i++) {
			assert_int_equal(vmop_active_batch_next(&reader, &sample),
					 VMOP_ACTIVE_BATCH_SAMPLE);
			assert_same(&sample, &samples[n_done + i]);
			assert_same_stack(&sample, reader.frames, &samples[n_done + i], frames);
		}
		assert_int_equal(vmop_active_batch_next(&reader, &sample), VMOP_ACTIVE_BATCH_END);
		n_done += n_sent;
		bytes += len;
		/* A part of the samples is complete only up to the rest. */
		assert_int_equal(read.complete_ns,
				 n_done < n ? samples[n_done].time_ns : UINT64_MAX);
	}
	return bytes;
}

static void samples_are_read_as_they_were_written(void **state)
{
	struct vmop_active_sample *samples = calloc(N, sizeof(*samples));
	(void)state;
	assert_non_null(samples);
	make_samples(samples, N);
	size_t bytes = round_trip(samples, N, NULL);
	print_message("%.2f bytes a sample\n", (double)bytes / N);
	assert_true(bytes < (size_t)12 * N);
	free(samples);
}

/* The largest and the smallest values that a batch can have. */
static void extreme_samples_are_read_as_they_were_written(void **state)
{
	static const struct vmop_active_sample samples[] = {
		{.time_ns = 0},
		{.time_ns = 0,
		 .address = UINT64_MAX,
		 .is_kernel = true,
		 .weight_events = UINT64_MAX},
		{.time_ns = 1, .vcpu = VMOP_ACTIVE_NO_VCPU, .event = VMOP_ACTIVE_EVENTS_MAX - 1},
		{.time_ns = UINT64_MAX, .address = UINT64_C(1) << 63},
		{.time_ns = UINT64_MAX, .address = 1, .is_kernel = true},
	};
	(void)state;
	round_trip(samples, sizeof(samples) / sizeof(samples[0]), NULL);
}

static void a_batch_can_have_no_samples(void **state)
{
	const struct vmop_active_batch batch = {.complete_ns = 5, .n_lost = 6};
	uint8_t buf[VMOP_ACTIVE_BATCH_BYTES];
	struct vmop_active_batch_reader reader;
	struct vmop_active_sample sample;
	struct vmop_active_batch read;
	size_t len;
	(void)state;
	assert_int_equal(vmop_active_batch_encode(&batch, NULL, NULL, buf, &len), 0);
	assert_int_equal(len, VMOP_ACTIVE_BATCH_LEAST_BYTES);
	assert_true(vmop_active_batch_begin(buf, len, &reader, &read));
	assert_int_equal(read.complete_ns, 5);
	assert_int_equal(read.n_lost, 6);
	assert_int_equal(vmop_active_batch_next(&reader, &sample), VMOP_ACTIVE_BATCH_END);
}

/* Read all of a batch. Return the last outcome. */
static enum vmop_active_batch_read read_all(const uint8_t *bytes, size_t len)
{
	struct vmop_active_batch_reader reader;
	struct vmop_active_sample sample;
	struct vmop_active_batch batch;
	enum vmop_active_batch_read outcome;
	if (!vmop_active_batch_begin(bytes, len, &reader, &batch))
		return VMOP_ACTIVE_BATCH_RUBBISH;
	while ((outcome = vmop_active_batch_next(&reader, &sample)) == VMOP_ACTIVE_BATCH_SAMPLE)
		continue;
	/* It stays what it is. */
	assert_int_equal(vmop_active_batch_next(&reader, &sample), outcome);
	return outcome;
}

static void a_cut_or_too_long_batch_is_rubbish(void **state)
{
	struct vmop_active_sample samples[20];
	const struct vmop_active_batch batch = {.complete_ns = UINT64_MAX, .n = 20};
	uint8_t buf[VMOP_ACTIVE_BATCH_BYTES] = {0};
	size_t len;
	(void)state;
	make_samples(samples, 20);
	vmop_active_batch_encode(&batch, samples, NULL, buf, &len);
	assert_int_equal(read_all(buf, len), VMOP_ACTIVE_BATCH_END);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(read_all(buf, cut), VMOP_ACTIVE_BATCH_RUBBISH);
	assert_int_equal(read_all(buf, len + 1), VMOP_ACTIVE_BATCH_RUBBISH);
}

static void values_out_of_range_are_rubbish(void **state)
{
	static const struct {
		uint8_t bytes[24];
		size_t len;
	} bad[] = {
		{{3, 0, 0, 0}, 4},			/* another version */
		{{0, 0, 0, 0}, 4},			/* another version */
		{{1, 0, 0, 0x81, 0x20}, 5},		/* more samples than a batch may have */
		{{1, 0, 0, 1, 0x10, 0, 0}, 7},		/* an unknown flag */
		{{1, 0, 0, 1, 2, 0, 0x80, 0x20, 0}, 9}, /* vCPU 4096 */
		{{1, 0, 0, 1, 4, 0, 64, 0}, 8},		/* event 64 */
		{{1, 0, 0, 2, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
		  0},
		 19}, /* a time beyond 64 bits */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(read_all(bad[i].bytes, bad[i].len), VMOP_ACTIVE_BATCH_RUBBISH);
}

/* ---- stacks ------------------------------------------------------------------------------- */

#define KERNEL_FRAME UINT64_C(0xffffffff81234567)

/*
 * Give the samples stacks as a program has them: the same outer frames, and inner ones that differ.
 * The samples in the kernel also have frames of the kernel.
 */
static size_t make_stacks(struct vmop_active_sample *samples, size_t n, uint64_t *frames)
{
	size_t n_frames = 0;
	for (size_t i = 0; i < n; i++) {
		size_t first = n_frames;
		for (size_t k = 0; samples[i].is_kernel && k < 2 + i % 5; k++)
			frames[n_frames++] = KERNEL_FRAME + k * 4096 + i % 3;
		if (samples[i].is_kernel)
			frames[n_frames++] = vmop_guest_frame_pack(0x7f1234500000, true);
		for (size_t k = 0; k < 3 + i % 4; k++)
			frames[n_frames++] = 0x7f1234560000 + k * 512 + i % 7;
		for (size_t k = 0; k < 6; k++)
			frames[n_frames++] = 0x55aa00001000 + k * 100 + samples[i].vcpu;
		samples[i].has_stack = i % 11 != 0;
		samples[i].is_stack_likely = samples[i].has_stack && i % 13 == 0;
		samples[i].stack_end = VMOP_STACK_COMPLETE;
		samples[i].first_frame = first;
		samples[i].n_frames = (uint8_t)(n_frames - first);
	}
	return n_frames;
}

static void stacks_are_read_as_they_were_written(void **state)
{
	struct vmop_active_sample *samples = calloc(N, sizeof(*samples));
	uint64_t *frames = calloc(N, 32 * sizeof(*frames));
	(void)state;
	assert_non_null(samples);
	assert_non_null(frames);
	make_samples(samples, N);
	size_t n_frames = make_stacks(samples, N, frames);
	size_t bytes = round_trip(samples, N, frames);
	print_message("%.2f bytes a sample with %.1f frames\n", (double)bytes / N,
		      (double)n_frames / N);
	assert_true(bytes < (size_t)48 * N);
	/* A guest that does not take them gets the same samples without. */
	round_trip(samples, N, NULL);
	free(frames);
	free(samples);
}

/* The longest stacks, equal ones, empty ones, and frames that differ as much as they can. */
static void extreme_stacks_are_read_as_they_were_written(void **state)
{
	enum { MAX = VMOP_STACK_FRAMES_MAX };
	uint64_t frames[3 * MAX];
	const struct vmop_active_sample samples[] = {
		{.has_stack = true, .n_frames = MAX},
		{.has_stack = true, .n_frames = MAX},
		{.has_stack = true, .stack_end = VMOP_N_STACK_ENDS - 1},
		{.has_stack = true, .n_frames = MAX, .first_frame = MAX, .is_kernel = true},
		{.has_stack = true, .n_frames = MAX, .vcpu = VMOP_ACTIVE_NO_VCPU},
		{.has_stack = true,
		 .n_frames = MAX,
		 .first_frame = MAX,
		 .is_kernel = true,
		 .vcpu = VMOP_ACTIVE_NO_VCPU},
		{.has_stack = true, .n_frames = 1, .first_frame = MAX - 1, .stack_end = 3},
		{.is_nested = true, .address = 0x401000},
		{.is_nested = true, .address = UINT64_MAX, .is_kernel = true},
	};
	(void)state;
	for (size_t i = 0; i < MAX; i++) {
		frames[i] = i % 2 ? 0 : UINT64_MAX >> 1;
		frames[MAX + i] = i % 2 ? UINT64_C(1) << 63 : UINT64_MAX;
	}
	round_trip(samples, sizeof(samples) / sizeof(samples[0]), frames);
}

static void a_cut_batch_with_stacks_is_rubbish(void **state)
{
	struct vmop_active_sample samples[20];
	uint64_t frames[20 * 32];
	const struct vmop_active_batch batch = {
		.complete_ns = UINT64_MAX, .n = 20, .is_extended = true};
	uint8_t buf[VMOP_ACTIVE_BATCH_BYTES] = {0};
	size_t len;
	(void)state;
	make_samples(samples, 20);
	make_stacks(samples, 20, frames);
	vmop_active_batch_encode(&batch, samples, frames, buf, &len);
	assert_int_equal(read_all(buf, len), VMOP_ACTIVE_BATCH_END);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(read_all(buf, cut), VMOP_ACTIVE_BATCH_RUBBISH);
	assert_int_equal(read_all(buf, len + 1), VMOP_ACTIVE_BATCH_RUBBISH);
}

static void stacks_out_of_range_are_rubbish(void **state)
{
	static const struct {
		uint8_t bytes[32];
		size_t len;
	} bad[] = {
		{{1, 0, 0, 1, 0x10, 0, 0, 1, 0, 0}, 10}, /* a stack in a batch without stacks */
		{{2, 0, 0, 1, 0x20, 0, 0}, 7},		 /* without a stack, but likely */
		{{2, 0, 0, 1, 0x80, 0, 0}, 7},		 /* an unknown flag */
		{{2, 0, 0, 1, 0x50, 0, 0, 1, 0, 0}, 10}, /* of a nested guest, with a stack */
		{{1, 0, 0, 1, 0x40, 0, 0}, 7},		 /* of a nested guest, in version 1 */
		{{2, 0, 0, 1, 0x10, 0, 0}, 7},		 /* no end */
		{{2, 0, 0, 1, 0x10, 0, 0, 1, 1, 0}, 10}, /* frames of no stack before */
		{{2, 0, 0, 2, 0x10, 0, 0, 1, 0, 1, 2, 0x12, 0, 1, 0, 1, 1, 0}, 18}, /* other vCPU */
		{{2, 0, 0, 2, 0x10, 0, 0, 1, 0, 1, 2, 0x10, 0, 0, 1, 2, 0},
		 17},					       /* too many of it */
		{{2, 0, 0, 1, 0x10, 0, 0, 1, 0, 0x80, 1}, 11}, /* 128 frames */
		{{2, 0, 0, 2, 0x10, 0, 0, 1, 0, 1, 2, 0x10, 0, 0, 1, 1, 127}, 17}, /* and in sum */
		{{2, 0, 0, 1, 0x10, 0, 0, 1, 0, 1, 1}, 11}, /* a kernel frame below user code */
		{{2, 0, 0, 1, 0x11, 0, 0, 1, 0, 3, 1, 2, 1}, 13}, /* and above it */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(read_all(bad[i].bytes, bad[i].len), VMOP_ACTIVE_BATCH_RUBBISH);
}

/* A later vmop may have further ends. */
static void an_end_that_is_not_known(void **state)
{
	static const uint8_t bytes[] = {2, 0, 0, 1, 0x10, 0, 0, VMOP_N_STACK_ENDS, 0, 0};
	struct vmop_active_batch_reader reader;
	struct vmop_active_sample sample;
	struct vmop_active_batch batch;
	(void)state;
	assert_true(vmop_active_batch_begin(bytes, sizeof(bytes), &reader, &batch));
	assert_int_equal(vmop_active_batch_next(&reader, &sample), VMOP_ACTIVE_BATCH_SAMPLE);
	assert_true(sample.has_stack);
	assert_int_equal(sample.stack_end, VMOP_STACK_END_UNKNOWN);
	assert_int_equal(vmop_active_batch_next(&reader, &sample), VMOP_ACTIVE_BATCH_END);
}

static void callers_of_user_code_are_user_code(void **state)
{
	static const uint64_t frames[] = {KERNEL_FRAME, KERNEL_FRAME, 0x401000, 0x402000,
					  KERNEL_FRAME};
	(void)state;
	assert_int_equal(vmop_active_count_callers(frames, 5, true), 4);
	assert_int_equal(vmop_active_count_callers(frames, 5, false), 0);
	assert_int_equal(vmop_active_count_callers(frames + 2, 3, false), 2);
	assert_int_equal(vmop_active_count_callers(frames, 2, true), 2);
	assert_int_equal(vmop_active_count_callers(NULL, 0, false), 0);
}

static void questions_and_answers_are_read_as_they_were_written(void **state)
{
	const struct vmop_active_ask ask = {1, 100, 20, 30, 40, 10, 7};
	const struct vmop_active_clock clock = {1, 2, UINT64_MAX, 4};
	uint8_t bytes[VMOP_ACTIVE_ASK_BYTES], clock_bytes[VMOP_ACTIVE_CLOCK_BYTES];
	struct vmop_active_ask ask_read;
	struct vmop_active_clock clock_read;
	(void)state;
	vmop_active_ask_encode(&ask, bytes);
	assert_true(vmop_active_ask_decode(bytes, &ask_read));
	assert_memory_equal(&ask, &ask_read, sizeof(ask));
	vmop_active_clock_encode(&clock, clock_bytes);
	vmop_active_clock_decode(clock_bytes, &clock_read);
	assert_memory_equal(&clock, &clock_read, sizeof(clock));
}

static void counts_that_contradict_one_another_are_refused(void **state)
{
	static const struct vmop_active_ask asks[] = {
		{.n_received = 10, .n_ambiguous = 11},
		{.n_received = 10, .n_switching = 5, .n_unplaced = 6},
		{.n_received = 10, .n_ambiguous = UINT64_MAX, .n_dropped = 11},
	};
	uint8_t bytes[VMOP_ACTIVE_ASK_BYTES];
	struct vmop_active_ask read;
	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		vmop_active_ask_encode(&asks[i], bytes);
		assert_false(vmop_active_ask_decode(bytes, &read));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_read_as_they_were_written),
		cmocka_unit_test(extreme_samples_are_read_as_they_were_written),
		cmocka_unit_test(a_batch_can_have_no_samples),
		cmocka_unit_test(a_cut_or_too_long_batch_is_rubbish),
		cmocka_unit_test(values_out_of_range_are_rubbish),
		cmocka_unit_test(stacks_are_read_as_they_were_written),
		cmocka_unit_test(extreme_stacks_are_read_as_they_were_written),
		cmocka_unit_test(a_cut_batch_with_stacks_is_rubbish),
		cmocka_unit_test(stacks_out_of_range_are_rubbish),
		cmocka_unit_test(an_end_that_is_not_known),
		cmocka_unit_test(callers_of_user_code_are_user_code),
		cmocka_unit_test(questions_and_answers_are_read_as_they_were_written),
		cmocka_unit_test(counts_that_contradict_one_another_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
