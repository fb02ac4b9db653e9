// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The batches and answers of a hostile host. The input is a list of steps: a byte selects the
 * step, the next one is the length of its payload in units of 4 bytes.
 *	0	a batch of samples
 *	1	the guest asks for the time
 *	2	an answer: the payload, filled up with zeros
 *	3	the same, for the last question
 *	4	the guest takes a sample
 * Each batch whose samples can be read must be read the same after it was written again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/handed/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Read all samples of a batch. Return false if it is rubbish. */
static bool read_all(const uint8_t *payload, size_t len, struct vmop_active_sample *samples,
		     struct vmop_active_batch *batch)
{
	struct vmop_active_batch_reader reader;
	enum vmop_active_batch_read outcome;
	size_t n = 0;
	if (!vmop_active_batch_begin(payload, len, &reader, batch))
		return false;
	while ((outcome = vmop_active_batch_next(&reader, &samples[n])) ==
	       VMOP_ACTIVE_BATCH_SAMPLE) {
		check(samples[n].vcpu < VMOP_ACTIVE_VCPUS_MAX);
		check(samples[n].event < VMOP_ACTIVE_EVENTS_MAX);
		check(n == 0 || samples[n].time_ns >= samples[n - 1].time_ns);
		n++;
		check(n <= batch->n);
	}
	return outcome == VMOP_ACTIVE_BATCH_END;
}

static void check_batch(const uint8_t *payload, size_t len)
{
	static struct vmop_active_sample samples[VMOP_ACTIVE_BATCH_SAMPLES + 1],
		again[VMOP_ACTIVE_BATCH_SAMPLES + 1];
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	struct vmop_active_batch batch, batch_again;
	size_t len_again;
	if (!read_all(payload, len, samples, &batch))
		return;
	check(vmop_active_batch_encode(&batch, samples, bytes, &len_again) == batch.n);
	check(read_all(bytes, len_again, again, &batch_again));
	check(batch_again.n == batch.n && batch_again.n_lost == batch.n_lost &&
	      batch_again.complete_ns == batch.complete_ns);
	for (size_t i = 0; i < batch.n; i++)
		check(samples[i].time_ns == again[i].time_ns &&
		      samples[i].address == again[i].address &&
		      samples[i].weight_events == again[i].weight_events &&
		      samples[i].vcpu == again[i].vcpu && samples[i].event == again[i].event &&
		      samples[i].is_kernel == again[i].is_kernel);
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
	vmop_handed_clock_convert(&feed->clock, sample->time_ns, &ns, &error_ns);
	vmop_handed_feed_take(feed);
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
	} else {
		answer(feed, kind == 3, payload, n);
	}
	check(feed->n_put - feed->n_taken <= VMOP_HANDED_SAMPLES_MAX);
	check(feed->counts.n_dropped <= feed->counts.n_received);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct vmop_handed_feed *feed;
	if (!feed)
		check(!vmop_handed_feed_create("host 1000000:0:ns:cpu-clock 7:0:events:cycles",
					       &feed));
	/* The room for samples is large: it is made only once. */
	struct vmop_handed_events events = feed->events;
	struct vmop_active_sample *samples = feed->samples;
	*feed = (struct vmop_handed_feed){.events = events, .samples = samples};
	for (size_t at = 0; at + 2 <= len_bytes;) {
		size_t n = (size_t)data[at + 1] * 4, left = len_bytes - at - 2;
		n = n < left ? n : left;
		step(feed, data[at] % 5, data + at + 2, n);
		at += 2 + n;
	}
	return 0;
}
