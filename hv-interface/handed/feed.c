// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/handed/feed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/host-time.h"

struct vmop_error *vmop_handed_feed_create(const char *text, struct vmop_handed_feed **ret)
{
	struct vmop_handed_feed *feed = calloc(1, sizeof(*feed));
	if (!feed)
		return &vmop_error_no_memory;
	feed->host_time_fd = vmop_host_time_open("");
	struct vmop_error *err = vmop_handed_events_parse(text, &feed->events);
	feed->samples = calloc(VMOP_HANDED_SAMPLES_MAX, sizeof(*feed->samples));
	if (feed->events.has_stacks)
		feed->frames = calloc(VMOP_HANDED_FRAMES_MAX, sizeof(*feed->frames));
	if (!feed->samples || (feed->events.has_stacks && !feed->frames))
		err = vmop_error_first(err, &vmop_error_no_memory);
	if (err) {
		vmop_handed_feed_destroy(feed);
		return err;
	}
	*ret = feed;
	return NULL;
}

void vmop_handed_feed_destroy(struct vmop_handed_feed *feed)
{
	if (!feed)
		return;
	if (feed->host_time_fd >= 0)
		close(feed->host_time_fd);
	vmop_handed_events_deinit(&feed->events);
	free(feed->samples);
	free(feed->frames);
	free(feed);
}

/* Keep the stack of a sample, if there is room for it. */
static void put_stack(struct vmop_handed_feed *feed, const uint64_t *frames,
		      struct vmop_active_sample *sample)
{
	uint64_t n_free = VMOP_HANDED_FRAMES_MAX - (feed->n_frames_put - feed->n_frames_taken);
	if (sample->n_frames > n_free) {
		sample->n_frames = 0;
		sample->stack_end = VMOP_STACK_TOO_MANY;
		feed->n_stacks_dropped++;
	}
	sample->first_frame = feed->n_frames_put;
	for (size_t i = 0; i < sample->n_frames; i++)
		feed->frames[feed->n_frames_put++ % VMOP_HANDED_FRAMES_MAX] = frames[i];
}

/*
 * Move the samples that wait to the places of those that were taken, so that the same few pages are
 * used again: some samples wait nearly always.
 */
static void move_to_begin(struct vmop_handed_feed *feed)
{
	uint64_t n = feed->n_put - feed->n_taken, from = feed->n_taken % VMOP_HANDED_SAMPLES_MAX;
	if (n > from || n > VMOP_HANDED_SAMPLES_MAX - from)
		return;
	memcpy(feed->samples, feed->samples + from, n * sizeof(*feed->samples));
	feed->n_taken = 0;
	feed->n_put = n;
}

/* Return the place of the next sample; NULL: there is no room. */
static struct vmop_active_sample *next_place(struct vmop_handed_feed *feed)
{
	return feed->n_put - feed->n_taken == VMOP_HANDED_SAMPLES_MAX
		       ? NULL
		       : &feed->samples[feed->n_put % VMOP_HANDED_SAMPLES_MAX];
}

/* Keep the sample that was read into the next place. */
static void put(struct vmop_handed_feed *feed, const uint64_t *frames,
		struct vmop_active_sample *sample)
{
	if (sample->has_stack)
		put_stack(feed, frames, sample);
	feed->n_put++;
}

bool vmop_handed_feed_batch(struct vmop_handed_feed *feed, const uint8_t *payload, size_t len_bytes)
{
	struct vmop_active_batch_reader reader;
	struct vmop_active_batch batch;
	enum vmop_active_batch_read outcome;
	if (!vmop_active_batch_begin(payload, len_bytes, &reader, &batch) ||
	    batch.complete_ns < feed->complete_ns || batch.n_lost < feed->n_lost)
		return false;
	move_to_begin(feed);
	for (;;) {
		struct vmop_active_sample dropped, *sample = next_place(feed);
		bool has_room = sample;
		if (!has_room)
			sample = &dropped;
		outcome = vmop_active_batch_next(&reader, sample);
		if (outcome != VMOP_ACTIVE_BATCH_SAMPLE)
			break;
		if (sample->event >= feed->events.n || sample->time_ns < feed->last_ns ||
		    (sample->has_stack && !feed->frames))
			return false;
		feed->last_ns = sample->time_ns;
		feed->counts.n_received++;
		feed->counts.n_dropped += !has_room;
		if (has_room)
			put(feed, reader.frames, sample);
	}
	feed->complete_ns = batch.complete_ns;
	feed->n_lost = batch.n_lost;
	return outcome == VMOP_ACTIVE_BATCH_END;
}

/* Read this guest's time, with a counter that the host knows. Return false if there is only the
 * time. */
static bool read_counter(const struct vmop_handed_feed *feed, struct vmop_tsc_pair *ret)
{
	return vmop_tsc_read(ret) || vmop_host_time_read(feed->host_time_fd, ret);
}

void vmop_handed_feed_ask(struct vmop_handed_feed *feed, uint8_t ret[VMOP_ACTIVE_ASK_BYTES])
{
	struct vmop_active_ask ask = feed->counts;
	struct vmop_tsc_pair now;
	bool has_tsc = read_counter(feed, &now);
	ask.asked_ns = vmop_handed_clock_ask(&feed->clock, &now, has_tsc);
	ask.error_ns = vmop_handed_clock_error_ns(&feed->clock);
	vmop_active_ask_encode(&ask, ret);
}

bool vmop_handed_feed_clock(struct vmop_handed_feed *feed,
			    const uint8_t payload[VMOP_ACTIVE_CLOCK_BYTES])
{
	struct vmop_active_clock answer;
	struct vmop_tsc_pair now;
	vmop_active_clock_decode(payload, &answer);
	read_counter(feed, &now);
	return vmop_handed_clock_answer(&feed->clock, &answer, &now);
}

const struct vmop_active_sample *vmop_handed_feed_peek(const struct vmop_handed_feed *feed)
{
	return feed->n_taken == feed->n_put
		       ? NULL
		       : &feed->samples[feed->n_taken % VMOP_HANDED_SAMPLES_MAX];
}

uint64_t vmop_handed_feed_frame(const struct vmop_handed_feed *feed,
				const struct vmop_active_sample *sample, size_t i)
{
	return feed->frames[(sample->first_frame + i) % VMOP_HANDED_FRAMES_MAX];
}

void vmop_handed_feed_take(struct vmop_handed_feed *feed)
{
	feed->n_frames_taken += vmop_handed_feed_peek(feed)->n_frames;
	feed->n_taken++;
	/* Empty rings begin again with the pages that were used before. */
	if (feed->n_taken == feed->n_put)
		feed->n_put = feed->n_taken = 0;
	if (feed->n_frames_taken == feed->n_frames_put)
		feed->n_frames_put = feed->n_frames_taken = 0;
}
