// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hv-interface/replay/stream-capture.h"
#include "hv-interface/replay/stream.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

enum { WINDOW_BYTES = 256 << 10 };
/* The longest record has the largest capture; texts are shorter. */
#define RECORD_MAX_BYTES                                                                           \
	(sizeof(struct vmop_stream_record) + sizeof(struct vmop_stream_sample) +                   \
	 VMOP_STREAM_CAPTURE_MAX_BYTES)
_Static_assert(RECORD_MAX_BYTES < WINDOW_BYTES, "a window holds any record");
_Static_assert(UINT16_MAX < RECORD_MAX_BYTES, "any record of version 1 is allowed");

/* The header of a record, of any version. */
struct head {
	uint32_t len_bytes;
	uint16_t type, event, flags;
	uint64_t time_ns;
};

struct vmop_stream_reader {
	char *name;
	int fd; /* -1: the stream is in memory */
	uint64_t size_bytes;
	/* The loaded part of the file: [window_at, window_at + window_bytes). */
	const uint8_t *window;
	uint8_t *buffer; /* memory of window, if there is a file */
	uint64_t window_at;
	size_t window_bytes, pos_bytes;
	struct vmop_stream_event *events;
	struct vmop_event_info *infos;
	size_t n_events;
	uint32_t version;
	struct vmop_stack_options stacks;
	uint32_t machine;
	struct vmop_stack_capture stack; /* of the present record */
	uint64_t first_ns, last_ns, bytes;
	bool has_ended;
	/* The repeated block; end 0: no block. */
	struct {
		uint64_t begin, end, n_left, step_ns, shift_ns;
	} block;
};

void vmop_stream_reader_close(struct vmop_stream_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->name);
	free(reader->buffer);
	free(reader->events);
	free(reader->infos);
	free(reader);
}

static uint64_t position(const struct vmop_stream_reader *reader)
{
	return reader->window_at + reader->pos_bytes;
}

static struct vmop_error *corrupt(const struct vmop_stream_reader *reader, const char *what)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT,
			      "%s: not a stream that vmop wrote: %s at byte %" PRIu64, reader->name,
			      what, position(reader));
}

static void seek(struct vmop_stream_reader *reader, uint64_t at)
{
	if (reader->fd < 0 ||
	    (at >= reader->window_at && at - reader->window_at <= reader->window_bytes)) {
		reader->pos_bytes = (size_t)(at - reader->window_at);
		return;
	}
	reader->window_at = at;
	reader->window_bytes = 0;
	reader->pos_bytes = 0;
}

/* Move the window to the current position. */
static struct vmop_error *refill(struct vmop_stream_reader *reader)
{
	size_t kept = reader->window_bytes - reader->pos_bytes;
	memmove(reader->buffer, reader->buffer + reader->pos_bytes, kept);
	reader->window_at += reader->pos_bytes;
	reader->pos_bytes = 0;
	reader->window_bytes = kept;
	ssize_t got = vmop_io_pread_full(reader->fd, reader->buffer + kept, WINDOW_BYTES - kept,
					 reader->window_at + kept);
	if (got < 0)
		return vmop_error_os(errno, "%s", reader->name);
	reader->window_bytes += (size_t)got;
	return NULL;
}

/*
 * Set *ret to the next len_bytes (at most a window) without taking them; NULL: the file ends
 * before.
 */
static struct vmop_error *at_hand(struct vmop_stream_reader *reader, size_t len_bytes,
				  const void **ret)
{
	*ret = NULL;
	if (reader->window_bytes - reader->pos_bytes < len_bytes && reader->fd >= 0) {
		struct vmop_error *err = refill(reader);
		if (err)
			return err;
	}
	if (reader->window_bytes - reader->pos_bytes >= len_bytes)
		*ret = reader->window + reader->pos_bytes;
	return NULL;
}

static struct vmop_error *read_event(struct vmop_stream_reader *reader, size_t i)
{
	const void *data;
	struct vmop_stream_event *event = &reader->events[i];
	struct vmop_error *err = at_hand(reader, sizeof(*event), &data);
	if (err || !data)
		return err ? err : corrupt(reader, "it ends among the events");
	memcpy(event, data, sizeof(*event));
	if (!memchr(event->name, '\0', sizeof(event->name)) ||
	    !memchr(event->unit, '\0', sizeof(event->unit)))
		return corrupt(reader, "a name without an end");
	reader->pos_bytes += sizeof(*event);
	reader->infos[i] = (struct vmop_event_info){
		.name = event->name,
		.unit = event->unit,
		.period_events = event->period_events,
		.frequency_hz = event->frequency_hz,
	};
	return NULL;
}

/* Take the call stacks of the header. False: no source captures such ones. */
static bool take_stacks(struct vmop_stream_reader *reader, const struct vmop_stream_header *header)
{
	if (header->version < 2 || header->stack_mode == VMOP_STACKS_OFF)
		return true;
	if (header->stack_mode > VMOP_STACKS_CFI ||
	    header->user_stack_bytes > VMOP_USER_STACK_BYTES_MAX ||
	    header->user_stack_bytes % 8 != 0 || header->max_frames == 0 ||
	    header->max_frames > VMOP_STACK_FRAMES_MAX)
		return false;
	reader->stacks = (struct vmop_stack_options){
		.mode = header->stack_mode,
		.user_stack_bytes = header->user_stack_bytes,
		.max_frames = header->max_frames,
	};
	reader->machine = header->machine;
	return true;
}

static struct vmop_error *read_header(struct vmop_stream_reader *reader)
{
	const void *data;
	struct vmop_stream_header header;
	struct vmop_error *err = at_hand(reader, sizeof(header), &data);
	if (err)
		return err;
	if (!data || memcmp(data, VMOP_STREAM_MAGIC, sizeof(header.magic)) != 0)
		return corrupt(reader, "the wrong beginning");
	memcpy(&header, data, sizeof(header));
	if (header.version > VMOP_STREAM_VERSION)
		return vmop_error_new(
			VMOP_ERROR_NEWER,
			"%s: version %u of the stream format, this vmop reads up to %d",
			reader->name, header.version, VMOP_STREAM_VERSION);
	if (header.version == 0 || header.n_events == 0 ||
	    header.n_events > VMOP_STREAM_MAX_EVENTS || !take_stacks(reader, &header))
		return corrupt(reader, "a header that can't be");
	reader->pos_bytes += sizeof(header);
	reader->version = header.version;
	reader->first_ns = header.first_ns;
	reader->n_events = header.n_events;
	reader->events = calloc(reader->n_events, sizeof(*reader->events));
	reader->infos = calloc(reader->n_events, sizeof(*reader->infos));
	if (!reader->events || !reader->infos)
		return &vmop_error_no_memory;
	for (size_t i = 0; !err && i < reader->n_events; i++)
		err = read_event(reader, i);
	return err;
}

static struct vmop_error *open_file(struct vmop_stream_reader *reader)
{
	struct stat st;
	reader->fd = open(reader->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (reader->fd < 0 || fstat(reader->fd, &st) < 0)
		return vmop_error_os(errno, "%s", reader->name);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: no regular file", reader->name);
	reader->size_bytes = (uint64_t)st.st_size;
	reader->buffer = aligned_alloc(8, WINDOW_BYTES);
	reader->window = reader->buffer;
	return reader->buffer ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *open_reader(const char *name, const void *data, size_t len_bytes,
				      struct vmop_stream_reader **ret)
{
	struct vmop_stream_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return &vmop_error_no_memory;
	reader->fd = -1;
	reader->name = strdup(name);
	struct vmop_error *err = NULL;
	if (!reader->name)
		err = &vmop_error_no_memory;
	else if (!data)
		err = open_file(reader);
	else {
		reader->window = data;
		reader->window_bytes = len_bytes;
		reader->size_bytes = len_bytes;
	}
	if (!err)
		err = read_header(reader);
	if (err) {
		vmop_stream_reader_close(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

struct vmop_error *vmop_stream_reader_open(const char *path, struct vmop_stream_reader **ret)
{
	return open_reader(path, NULL, 0, ret);
}

struct vmop_error *vmop_stream_reader_open_memory(const char *name, const void *data,
						  size_t len_bytes, struct vmop_stream_reader **ret)
{
	return open_reader(name, data, len_bytes, ret);
}

size_t vmop_stream_reader_n_events(const struct vmop_stream_reader *reader)
{
	return reader->n_events;
}

const struct vmop_event_info *vmop_stream_reader_event(const struct vmop_stream_reader *reader,
						       size_t i)
{
	return &reader->infos[i];
}

uint64_t vmop_stream_reader_first_ns(const struct vmop_stream_reader *reader)
{
	return reader->first_ns;
}

const struct vmop_stack_options *vmop_stream_reader_stacks(const struct vmop_stream_reader *reader,
							   uint32_t *ret_machine)
{
	*ret_machine = reader->machine;
	return &reader->stacks;
}

uint64_t vmop_stream_reader_bytes(const struct vmop_stream_reader *reader)
{
	return reader->bytes;
}

static void decode_sample(const struct head *header, const struct vmop_stream_sample *body,
			  struct vmop_sample *ret)
{
	*ret = (struct vmop_sample){
		.ip = body->ip,
		.weight_events = body->weight_events,
		.pid = body->pid,
		.tid = body->tid,
		.cpu = body->cpu,
		.event = header->event,
		.flags = header->flags,
		.source_domain = body->source_domain,
		.source_vcpu = body->source_vcpu,
	};
}

static bool decode_mmap(const struct vmop_stream_mmap *body, const char *path,
			struct vmop_mmap_record *ret)
{
	*ret = (struct vmop_mmap_record){
		.start = body->start,
		.len_bytes = body->len_bytes,
		.file_offset_bytes = body->file_offset_bytes,
		.pid = body->pid,
		.tid = body->tid,
		.dev_major = body->dev_major,
		.dev_minor = body->dev_minor,
		.inode = body->inode,
		.build_id_len_bytes = body->build_id_len_bytes,
		.path = path,
	};
	memcpy(ret->build_id, body->build_id, sizeof(ret->build_id));
	return body->build_id_len_bytes <= VMOP_BUILD_ID_MAX;
}

static void decode_task(const struct vmop_stream_task *body, struct vmop_task_record *ret)
{
	*ret = (struct vmop_task_record){
		.pid = body->pid,
		.tid = body->tid,
		.parent_pid = body->parent_pid,
		.parent_tid = body->parent_tid,
	};
}

static void decode_comm(const struct head *header, const struct vmop_stream_comm *body,
			const char *name, struct vmop_comm_record *ret)
{
	*ret = (struct vmop_comm_record){
		.pid = body->pid,
		.tid = body->tid,
		.is_exec = (header->flags & VMOP_STREAM_COMM_EXEC) != 0,
		.comm = name,
	};
}

static void decode_ksymbol(const struct head *header, const struct vmop_stream_ksymbol *body,
			   const char *name, struct vmop_ksymbol_record *ret)
{
	*ret = (struct vmop_ksymbol_record){
		.start = body->start,
		.len_bytes = body->len_bytes,
		.is_bpf = (header->flags & VMOP_STREAM_KSYMBOL_BPF) != 0,
		.is_unregistered = (header->flags & VMOP_STREAM_KSYMBOL_UNREGISTERED) != 0,
		.name = name,
	};
}

/* Return the size of a type's body, and whether text follows it; 0: no such type. */
static size_t body_bytes_of(uint16_t type, bool *ret_has_text)
{
	*ret_has_text =
		type == VMOP_RECORD_MMAP || type == VMOP_RECORD_COMM || type == VMOP_RECORD_KSYMBOL;
	switch (type) {
	case VMOP_RECORD_SAMPLE:
		return sizeof(struct vmop_stream_sample);
	case VMOP_RECORD_MMAP:
		return sizeof(struct vmop_stream_mmap);
	case VMOP_RECORD_COMM:
		return sizeof(struct vmop_stream_comm);
	case VMOP_RECORD_FORK:
	case VMOP_RECORD_EXIT:
		return sizeof(struct vmop_stream_task);
	case VMOP_RECORD_KSYMBOL:
		return sizeof(struct vmop_stream_ksymbol);
	case VMOP_RECORD_LOST:
		return sizeof(struct vmop_stream_lost);
	case VMOP_RECORD_THROTTLE:
	case VMOP_RECORD_CPU:
		return sizeof(struct vmop_stream_cpu);
	case VMOP_RECORD_UNHANDLED:
		return sizeof(struct vmop_stream_unhandled);
	case VMOP_STREAM_REPEAT:
		return sizeof(struct vmop_stream_repeat);
	default:
		return 0;
	}
}

/* Decode all types but SAMPLE and REPEAT. The body's size was checked. */
static bool decode_other(const struct head *header, const void *body, const char *text,
			 struct vmop_record *ret)
{
	const struct vmop_stream_cpu *cpu = body;
	switch (header->type) {
	case VMOP_RECORD_MMAP:
		return decode_mmap(body, text, &ret->mmap);
	case VMOP_RECORD_COMM:
		decode_comm(header, body, text, &ret->comm);
		return true;
	case VMOP_RECORD_FORK:
	case VMOP_RECORD_EXIT:
		decode_task(body, &ret->task);
		return true;
	case VMOP_RECORD_KSYMBOL:
		decode_ksymbol(header, body, text, &ret->ksymbol);
		return true;
	case VMOP_RECORD_LOST: {
		const struct vmop_stream_lost *lost = body;
		ret->lost = (struct vmop_lost_record){.cpu = lost->cpu,
						      .event = header->event,
						      .lost_records = lost->lost_records};
		return true;
	}
	case VMOP_RECORD_THROTTLE:
		ret->throttle = (struct vmop_throttle_record){
			.cpu = cpu->cpu,
			.event = header->event,
			.is_throttled = (header->flags & VMOP_STREAM_THROTTLED) != 0};
		return true;
	case VMOP_RECORD_CPU:
		ret->cpu = (struct vmop_cpu_record){
			.cpu = cpu->cpu, .is_online = (header->flags & VMOP_STREAM_ONLINE) != 0};
		return true;
	default:
		ret->unhandled_type = ((const struct vmop_stream_unhandled *)body)->type;
		return true;
	}
}

static struct vmop_error *begin_block(struct vmop_stream_reader *reader,
				      const struct vmop_stream_repeat *repeat)
{
	uint64_t begin = position(reader); /* after the repeat record */
	if (reader->block.end)
		return corrupt(reader, "a repeated block inside another");
	if (repeat->n_times == 0 || repeat->n_times > VMOP_STREAM_MAX_TIMES ||
	    repeat->block_bytes == 0 || repeat->block_bytes % 8 != 0 ||
	    repeat->block_bytes > reader->size_bytes - begin)
		return corrupt(reader, "an invalid repeated block");
	reader->block.begin = begin;
	reader->block.end = begin + repeat->block_bytes;
	reader->block.n_left = repeat->n_times - 1;
	reader->block.step_ns = repeat->step_ns;
	reader->block.shift_ns = 0;
	return NULL;
}

/* Go back to the beginning of a repeated block at its end, or leave it after the last time. */
static struct vmop_error *end_block(struct vmop_stream_reader *reader)
{
	if (reader->block.n_left == 0) {
		reader->block.end = 0;
		reader->block.shift_ns = 0;
		return NULL;
	}
	reader->block.n_left--;
	if (__builtin_add_overflow(reader->block.shift_ns, reader->block.step_ns,
				   &reader->block.shift_ns))
		return corrupt(reader, "times without bound");
	seek(reader, reader->block.begin);
	return NULL;
}

/* Return whether len_bytes is possible for a record whose fixed part has fixed_bytes. */
static bool is_length(const struct vmop_stream_reader *reader, const struct head *header,
		      size_t fixed_bytes, bool has_text)
{
	size_t len_bytes = header->len_bytes;
	bool has_stack =
		header->type == VMOP_RECORD_SAMPLE && reader->stacks.mode != VMOP_STACKS_OFF;
	if (len_bytes % 8 != 0 || len_bytes > RECORD_MAX_BYTES)
		return false;
	if (has_text)
		return len_bytes > fixed_bytes;
	return len_bytes == fixed_bytes || (has_stack && len_bytes > fixed_bytes);
}

/* Check the properties that any record must have. Its header is in the window. */
static struct vmop_error *check_record(struct vmop_stream_reader *reader, const struct head *header,
				       const uint8_t **ret_body, const char **ret_text)
{
	bool has_text;
	size_t len = header->len_bytes;
	size_t body_bytes = body_bytes_of(header->type, &has_text);
	size_t fixed = sizeof(struct vmop_stream_record) + body_bytes;
	if (body_bytes == 0)
		return corrupt(reader, "a record of an unknown type");
	if (!is_length(reader, header, fixed, has_text))
		return corrupt(reader, "a record of an impossible length");
	if (header->event >= reader->n_events)
		return corrupt(reader, "an event that is not listed");
	if (reader->block.end && position(reader) + len > reader->block.end)
		return corrupt(reader, "a record across the end of a repeated block");
	const void *data;
	struct vmop_error *err = at_hand(reader, len, &data);
	if (err || !data)
		return err ? err : corrupt(reader, "it ends in the middle of a record");
	*ret_body = (const uint8_t *)data + sizeof(struct vmop_stream_record);
	*ret_text = has_text ? (const char *)data + fixed : NULL;
	if (has_text && ((const char *)data)[len - 1] != '\0')
		return corrupt(reader, "a text without an end");
	return NULL;
}

static struct vmop_error *check_time(struct vmop_stream_reader *reader, uint64_t recorded_ns,
				     uint64_t *ret_ns)
{
	uint64_t ns = recorded_ns;
	if (ns != 0 &&
	    (__builtin_add_overflow(ns, reader->block.shift_ns, &ns) || ns < reader->last_ns))
		return corrupt(reader, "a time that goes back");
	if (ns != 0)
		reader->last_ns = ns;
	*ret_ns = ns;
	return NULL;
}

/* Decode the header of the next record. */
static struct vmop_error *read_head(struct vmop_stream_reader *reader, struct head *ret)
{
	const void *data;
	struct vmop_stream_record record;
	struct vmop_stream_record_v1 old;
	_Static_assert(sizeof(record) == sizeof(old), "the size of a header has not changed");
	struct vmop_error *err = at_hand(reader, sizeof(record), &data);
	if (err || !data)
		return err ? err : corrupt(reader, "it ends in the middle of a record");
	if (reader->version >= 2) {
		memcpy(&record, data, sizeof(record));
		*ret = (struct head){.len_bytes = record.len_bytes,
				     .type = record.type,
				     .event = record.event,
				     .flags = record.flags,
				     .time_ns = record.time_ns};
		return NULL;
	}
	memcpy(&old, data, sizeof(old));
	*ret = (struct head){.len_bytes = old.len_bytes,
			     .type = old.type,
			     .event = old.event,
			     .flags = old.flags,
			     .time_ns = old.time_ns};
	if (old.type == VMOP_STREAM_V1_REPEAT)
		ret->type = VMOP_STREAM_REPEAT;
	else if (old.type == VMOP_STREAM_REPEAT)
		ret->type = 0;
	return NULL;
}

/* Decode a sample and its stack, if it has one. False: the stack is damaged. */
static bool read_sample(struct vmop_stream_reader *reader, const struct head *header,
			const uint8_t *body, struct vmop_sample *ret,
			const struct vmop_stack_capture **ret_stack)
{
	size_t fixed_bytes = sizeof(struct vmop_stream_record) + sizeof(struct vmop_stream_sample);
	decode_sample(header, (const void *)body, ret);
	if (header->len_bytes == fixed_bytes)
		return true;
	*ret_stack = &reader->stack;
	return vmop_stream_capture_decode(body + sizeof(struct vmop_stream_sample),
					  header->len_bytes - fixed_bytes, &reader->stack);
}

/* Decode one record. A REPEAT record sets *ret_is_data to false. */
static struct vmop_error *step(struct vmop_stream_reader *reader, struct vmop_record *ret,
			       const struct vmop_stack_capture **ret_stack, bool *ret_is_data)
{
	struct head header;
	const uint8_t *body;
	const char *text;
	struct vmop_error *err = read_head(reader, &header);
	if (err)
		return err;
	err = check_record(reader, &header, &body, &text);
	if (err)
		return err;
	*ret_is_data = header.type != VMOP_STREAM_REPEAT;
	if (!*ret_is_data) {
		struct vmop_stream_repeat repeat;
		memcpy(&repeat, body, sizeof(repeat));
		reader->pos_bytes += header.len_bytes;
		return begin_block(reader, &repeat);
	}
	err = check_time(reader, header.time_ns, &ret->time_ns);
	if (err)
		return err;
	ret->type = header.type;
	if (header.type == VMOP_RECORD_SAMPLE) {
		if (!read_sample(reader, &header, body, &ret->sample, ret_stack))
			return corrupt(reader, "an invalid call stack");
	} else if (!decode_other(&header, body, text, ret)) {
		return corrupt(reader, "a build-id that is too long");
	}
	reader->pos_bytes += header.len_bytes;
	reader->bytes += header.len_bytes;
	return NULL;
}

struct vmop_error *vmop_stream_reader_next(struct vmop_stream_reader *reader,
					   struct vmop_record *ret,
					   const struct vmop_stack_capture **ret_stack,
					   bool *ret_ended)
{
	struct vmop_error *err = NULL;
	bool is_data = false;
	*ret_stack = NULL;
	while (!reader->has_ended && !err && !is_data) {
		if (reader->block.end && position(reader) == reader->block.end)
			err = end_block(reader);
		else if (position(reader) == reader->size_bytes)
			reader->has_ended = true;
		else
			err = step(reader, ret, ret_stack, &is_data);
	}
	if (err)
		reader->has_ended = true;
	*ret_ended = reader->has_ended;
	return err;
}
