// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The batches and answers of a hostile host. The input is a list of steps: a byte selects the
 * step, the next one is the length of its payload in units of 4 bytes.
 *	0	a batch of samples
 *	1	the guest asks for the time
 *	2	an answer: the payload, filled up with zeros
 *	3	the same, for the last question
 *	4	the guest takes a sample
 *	5	the source delivers all samples
 * Each batch whose samples can be read must be read the same after it was written again, in its
 * version and in the first one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/handed/feed.h"
#include "hv-interface/handed/handed.h"
#include "vmop/guest-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The samples of a batch, with their frames one after another. */
struct content {
	struct vmop_active_batch batch;
	struct vmop_active_sample samples[VMOP_ACTIVE_BATCH_SAMPLES + 1];
	uint64_t frames[VMOP_ACTIVE_BATCH_SAMPLES * VMOP_STACK_FRAMES_MAX];
	size_t n_frames;
};

static void take_frames(const struct vmop_active_batch_reader *reader,
			struct vmop_active_sample *sample, struct content *content)
{
	check(sample->has_stack || !(sample->n_frames || sample->is_stack_likely));
	check(!sample->is_nested || (reader->is_extended && !sample->has_stack));
	check(!sample->has_stack || reader->is_extended);
	check(sample->n_frames <= VMOP_STACK_FRAMES_MAX && sample->first_frame == 0);
	check(sample->stack_end < VMOP_N_STACK_ENDS);
	check(vmop_active_count_callers(reader->frames, sample->n_frames, sample->is_kernel) ==
	      sample->n_frames);
	sample->first_frame = content->n_frames;
	memcpy(content->frames + content->n_frames, reader->frames,
	       sample->n_frames * sizeof(*content->frames));
	content->n_frames += sample->n_frames;
}

/* Read all samples of a batch. Return false if it is rubbish. */
static bool read_all(const uint8_t *payload, size_t len, struct content *content)
{
	struct vmop_active_sample *samples = content->samples;
	struct vmop_active_batch *batch = &content->batch;
	struct vmop_active_batch_reader reader;
	enum vmop_active_batch_read outcome;
	size_t n = 0;
	content->n_frames = 0;
	if (!vmop_active_batch_begin(payload, len, &reader, batch))
		return false;
	while ((outcome = vmop_active_batch_next(&reader, &samples[n])) ==
	       VMOP_ACTIVE_BATCH_SAMPLE) {
		check(samples[n].vcpu < VMOP_ACTIVE_VCPUS_MAX);
		check(samples[n].event < VMOP_ACTIVE_EVENTS_MAX);
		check(n == 0 || samples[n].time_ns >= samples[n - 1].time_ns);
		take_frames(&reader, &samples[n], content);
		n++;
		check(n <= batch->n);
	}
	return outcome == VMOP_ACTIVE_BATCH_END;
}

static void check_same(const struct content *content, const struct content *again, bool is_extended)
{
	for (size_t i = 0; i < content->batch.n; i++) {
		const struct vmop_active_sample *a = &content->samples[i], *b = &again->samples[i];
		check(a->time_ns == b->time_ns && a->address == b->address &&
		      a->weight_events == b->weight_events && a->vcpu == b->vcpu &&
		      a->event == b->event && a->is_kernel == b->is_kernel);
		check(b->has_stack == (a->has_stack && is_extended));
		check(b->is_nested == (a->is_nested && is_extended));
		check(!b->has_stack ||
		      (a->stack_end == b->stack_end && a->n_frames == b->n_frames &&
		       a->is_stack_likely == b->is_stack_likely));
		check(!b->n_frames ||
		      !memcmp(content->frames + a->first_frame, again->frames + b->first_frame,
			      a->n_frames * sizeof(*content->frames)));
	}
}

static void check_batch(const uint8_t *payload, size_t len)
{
	static struct content content, again;
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	size_t len_again;
	if (!read_all(payload, len, &content))
		return;
	struct vmop_active_batch batch = content.batch;
	for (unsigned i = 0; i < 2; i++, batch.is_extended = false) {
		check(vmop_active_batch_encode(&batch, content.samples, content.frames, bytes,
					       &len_again) == batch.n);
		check(read_all(bytes, len_again, &again));
		check(again.batch.n == batch.n && again.batch.n_lost == batch.n_lost &&
		      again.batch.complete_ns == batch.complete_ns &&
		      again.batch.is_extended == batch.is_extended);
		check_same(&content, &again, batch.is_extended);
	}
}

static void answer(struct vmop_handed_feed *feed, bool is_last, const uint8_t *payload, size_t n)
{
	uint8_t bytes[VMOP_ACTIVE_CLOCK_BYTES] = {0};
	struct vmop_active_clock clock;
	memcpy(bytes, payload, n < sizeof(bytes) ? n : sizeof(bytes));
	vmop_active_clock_decode(bytes, &clock);
	if (is_last)
		clock.asked_ns = feed->clock.asked.time_ns;
	vmop_active_clock_encode(&clock, bytes);
	vmop_handed_feed_clock(feed, bytes);
}

static void take(struct vmop_handed_feed *feed)
{
	const struct vmop_active_sample *sample = vmop_handed_feed_peek(feed);
	uint64_t ns, error_ns;
	if (!sample)
		return;
	check(sample->event < feed->events.n);
	bool is_kernel = sample->is_kernel;
	for (size_t i = 0; i < sample->n_frames; i++) {
		uint64_t frame = vmop_handed_feed_frame(feed, sample, i);
		check(is_kernel || !vmop_guest_frame_is_kernel(frame));
		is_kernel = vmop_guest_frame_is_kernel(frame);
	}
	vmop_handed_clock_convert(&feed->clock, sample->time_ns, &ns, &error_ns);
	vmop_handed_feed_take(feed);
}

/* ---- the source --------------------------------------------------------------------------- */

/* This guest's own records: there are none. */
static struct vmop_error *drain_nothing(struct vmop_source *source, uint64_t up_to_ns,
					const struct vmop_sink *sink, bool *ret_ended)
{
	(void)source;
	(void)up_to_ns;
	(void)sink;
	*ret_ended = false;
	return NULL;
}

static void close_nothing(struct vmop_source *source)
{
	(void)source;
}

static const struct vmop_source_ops nothing = {.drain = drain_nothing, .close = close_nothing};

static void check_record(void *arg, const struct vmop_record *record,
			 const struct vmop_stack_capture *stack)
{
	uint64_t *last_ns = arg;
	check(record->time_ns >= *last_ns);
	*last_ns = record->time_ns;
	check(!stack || (stack->n_kernel_frames <= 1 + VMOP_STACK_FRAMES_MAX &&
			 stack->n_user_frames <= 1 + VMOP_STACK_FRAMES_MAX &&
			 stack->user_end < VMOP_N_STACK_ENDS));
}

static void drain(struct vmop_handed_feed *feed)
{
	struct vmop_source side_band = {.ops = &nothing}, *source;
	uint64_t last_ns = 0;
	const struct vmop_sink sink = {.record = check_record, .arg = &last_ns};
	if (vmop_handed_open_over(&side_band, feed, 2, &source))
		abort();
	check(!vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	vmop_source_close(source);
	check(!vmop_handed_feed_peek(feed));
	check(!feed->n_frames_put);
}

static void step(struct vmop_handed_feed *feed, unsigned kind, const uint8_t *payload, size_t n)
{
	uint8_t question[VMOP_ACTIVE_ASK_BYTES];
	if (kind == 0) {
		check_batch(payload, n);
		vmop_handed_feed_batch(feed, payload, n);
	} else if (kind == 1) {
		vmop_handed_feed_ask(feed, question);
	} else if (kind == 4) {
		take(feed);
	} else if (kind == 5) {
		drain(feed);
	} else {
		answer(feed, kind == 3, payload, n);
	}
	check(feed->n_put - feed->n_taken <= VMOP_HANDED_SAMPLES_MAX);
	check(feed->n_frames_put - feed->n_frames_taken <= VMOP_HANDED_FRAMES_MAX);
	check(feed->counts.n_dropped <= feed->counts.n_received);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct vmop_handed_feed *feed;
	if (!feed)
		check(!vmop_handed_feed_create(
			"host stacks 1000000:0:ns:cpu-clock 7:0:events:cycles", &feed));
	/* The room for samples and frames is large: it is made only once. */
	struct vmop_handed_events events = feed->events;
	struct vmop_active_sample *samples = feed->samples;
	uint64_t *frames = feed->frames;
	*feed = (struct vmop_handed_feed){
		.events = events, .samples = samples, .frames = frames, .host_time_fd = -1};
	for (size_t at = 0; at + 2 <= len_bytes;) {
		size_t n = (size_t)data[at + 1] * 4, left = len_bytes - at - 2;
		n = n < left ? n : left;
		step(feed, data[at] % 6, data + at + 2, n);
		at += 2 + n;
	}
	return 0;
}
