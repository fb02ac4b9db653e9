// SPDX-License-Identifier: GPL-2.0-or-later
/* The replay source's operations over a stream reader. */
#include <stdlib.h>

#include "hv-interface/replay/replay.h"
#include "hv-interface/replay/stream.h"
#include "hv-interface/source.h"

struct replay_source {
	struct vmop_source base;
	struct vmop_stream_reader *reader;
	/* Read but not due yet. Its text and its stack are the reader's. */
	struct vmop_record next;
	const struct vmop_stack_capture *next_stack;
	struct vmop_stack_options stacks;
	const char *stacks_note; /* a literal, or NULL */
	bool has_next;
	struct vmop_source_stats stats;
};

static struct replay_source *to_replay(struct vmop_source *source)
{
	return (struct replay_source *)source;
}

static void replay_close(struct vmop_source *source)
{
	struct replay_source *replay = to_replay(source);
	vmop_stream_reader_close(replay->reader);
	free(replay);
}

/*
 * Take the call stacks of the stream, as it has its own events. The registers and stacks of another
 * machine cannot be unwound: such stacks end at the kernel's frames.
 */
static void take_stacks(struct replay_source *replay)
{
	uint32_t machine;
	replay->stacks = *vmop_stream_reader_stacks(replay->reader, &machine);
	if (replay->stacks.mode != VMOP_STACKS_CFI || machine == VMOP_STREAM_MACHINE)
		return;
	replay->stacks.mode = VMOP_STACKS_KERNEL;
	replay->stacks_note = "not by CFI, because the stream was recorded on another machine type";
}

/* Return the stack of a record without the parts that take_stacks has ruled out. */
static const struct vmop_stack_capture *usable(const struct replay_source *replay,
					       const struct vmop_stack_capture *stack,
					       struct vmop_stack_capture *copy)
{
	if (!stack || !replay->stacks_note)
		return stack;
	*copy = *stack;
	copy->user_regs = NULL;
	copy->user_stack = NULL;
	copy->user_stack_bytes = 0;
	return copy;
}

static struct vmop_error *replay_open(const struct vmop_source_setup *setup,
				      struct vmop_source **ret)
{
	if (!setup->replay_path)
		return vmop_error_new(VMOP_ERROR_USAGE, "no file to replay was given");
	if (setup->n_events > 0)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: a recorded stream has its own events; leave out '%s'",
				      setup->replay_path, setup->events[0].name);
	struct replay_source *replay = calloc(1, sizeof(*replay));
	if (!replay)
		return &vmop_error_no_memory;
	replay->base.ops = &vmop_source_replay_ops;
	struct vmop_error *err = vmop_stream_reader_open(setup->replay_path, &replay->reader);
	if (err) {
		replay_close(&replay->base);
		return err;
	}
	take_stacks(replay);
	replay->stats.first_ns = vmop_stream_reader_first_ns(replay->reader);
	*ret = &replay->base;
	return NULL;
}

static struct vmop_error *replay_nothing(struct vmop_source *source)
{
	(void)source;
	return NULL;
}

static void count(struct vmop_source_stats *stats, const struct vmop_record *record)
{
	stats->records++;
	if (record->type == VMOP_RECORD_SAMPLE)
		stats->samples++;
	else if (record->type == VMOP_RECORD_LOST)
		stats->lost_records += record->lost.lost_records;
	else if (record->type == VMOP_RECORD_THROTTLE)
		stats->throttles += record->throttle.is_throttled != 0;
	else if (record->type == VMOP_RECORD_UNHANDLED)
		stats->unhandled_records++;
}

static struct vmop_error *replay_drain(struct vmop_source *source, uint64_t up_to_ns,
				       const struct vmop_sink *sink, bool *ret_ended)
{
	struct replay_source *replay = to_replay(source);
	struct vmop_stack_capture copy;
	struct vmop_error *err = NULL;
	*ret_ended = false;
	for (;;) {
		if (!replay->has_next)
			err = vmop_stream_reader_next(replay->reader, &replay->next,
						      &replay->next_stack, ret_ended);
		if (err || *ret_ended)
			break;
		replay->has_next = replay->next.time_ns >= up_to_ns && up_to_ns != UINT64_MAX;
		if (replay->has_next)
			break;
		count(&replay->stats, &replay->next);
		sink->record(sink->arg, &replay->next, usable(replay, replay->next_stack, &copy));
	}
	replay->stats.malformed_records += err != NULL;
	return err;
}

static int replay_poll_fd(const struct vmop_source *source)
{
	(void)source;
	return -1;
}

static const struct replay_source *to_const(const struct vmop_source *source)
{
	return (const struct replay_source *)source;
}

static size_t replay_n_events(const struct vmop_source *source)
{
	return vmop_stream_reader_n_events(to_const(source)->reader);
}

static const struct vmop_event_info *replay_event(const struct vmop_source *source, size_t i)
{
	return vmop_stream_reader_event(to_const(source)->reader, i);
}

static const struct vmop_stack_options *replay_stacks(const struct vmop_source *source,
						      const char **ret_note)
{
	*ret_note = to_const(source)->stacks_note;
	return &to_const(source)->stacks;
}

static void replay_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	*ret = to_const(source)->stats;
	ret->bytes = vmop_stream_reader_bytes(to_const(source)->reader);
}

const struct vmop_source_ops vmop_source_replay_ops = {
	.name = "replay",
	.is_recorded = true,
	.open = replay_open,
	.close = replay_close,
	.start = replay_nothing,
	.stop = replay_nothing,
	.drain = replay_drain,
	.poll_fd = replay_poll_fd,
	.check_cpus = replay_nothing,
	.n_events = replay_n_events,
	.event = replay_event,
	.stats = replay_stats,
	.stacks = replay_stacks,
};
