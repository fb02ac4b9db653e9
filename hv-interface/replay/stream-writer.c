// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/replay/stream-capture.h"
#include "hv-interface/replay/stream.h"
#include "libutil/cleanup.h"

struct vmop_stream_writer {
	FILE *file;
	char *path;
	struct vmop_stream_header header;
	struct vmop_error *err; /* the first one */
	off_t repeat_at;	/* offset of the open block's repeat record; 0: no block is open */
	struct vmop_stream_repeat repeat;
};

/* Keep the first error. err may be NULL. */
static void fail(struct vmop_stream_writer *writer, struct vmop_error *err)
{
	if (writer->err)
		vmop_error_destroy(err);
	else
		writer->err = err;
}

static void append(struct vmop_stream_writer *writer, const void *data, size_t len_bytes)
{
	if (len_bytes && !writer->err && fwrite(data, 1, len_bytes, writer->file) != len_bytes)
		fail(writer, vmop_error_os(errno, "%s", writer->path));
}

static void overwrite(struct vmop_stream_writer *writer, off_t at, const void *data,
		      size_t len_bytes)
{
	if (!writer->err && fseeko(writer->file, at, SEEK_SET) < 0)
		fail(writer, vmop_error_os(errno, "%s", writer->path));
	append(writer, data, len_bytes);
	if (!writer->err && fseeko(writer->file, 0, SEEK_END) < 0)
		fail(writer, vmop_error_os(errno, "%s", writer->path));
}

static struct vmop_error *put_event(struct vmop_stream_writer *writer,
				    const struct vmop_event_info *info)
{
	struct vmop_stream_event event = {
		.period_events = info->period_events,
		.frequency_hz = info->frequency_hz,
	};
	if (strlen(info->name) >= sizeof(event.name) || strlen(info->unit) >= sizeof(event.unit))
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: event name '%s' is too long",
				      writer->path, info->name);
	strcpy(event.name, info->name);
	strcpy(event.unit, info->unit);
	append(writer, &event, sizeof(event));
	return NULL;
}

struct vmop_error *vmop_stream_writer_create(const char *path, const struct vmop_event_info *events,
					     size_t n_events,
					     const struct vmop_stack_options *stacks,
					     struct vmop_stream_writer **ret)
{
	if (n_events == 0 || n_events > VMOP_STREAM_MAX_EVENTS)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: a stream has 1 to %d events", path,
				      VMOP_STREAM_MAX_EVENTS);
	struct vmop_stream_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return &vmop_error_no_memory;
	writer->path = strdup(path);
	writer->file = fopen(path, "we");
	memcpy(writer->header.magic, VMOP_STREAM_MAGIC, sizeof(writer->header.magic));
	writer->header.version = VMOP_STREAM_VERSION;
	writer->header.n_events = (uint32_t)n_events;
	if (stacks && stacks->mode != VMOP_STACKS_OFF) {
		writer->header.stack_mode = stacks->mode;
		writer->header.user_stack_bytes = stacks->user_stack_bytes;
		writer->header.max_frames = stacks->max_frames;
		writer->header.machine = VMOP_STREAM_MACHINE;
	}
	if (!writer->file)
		fail(writer, vmop_error_os(errno, "%s", path));
	else if (!writer->path)
		fail(writer, &vmop_error_no_memory);
	append(writer, &writer->header, sizeof(writer->header));
	for (size_t i = 0; !writer->err && i < n_events; i++)
		fail(writer, put_event(writer, &events[i]));
	if (writer->err)
		return vmop_stream_writer_close(writer);
	*ret = writer;
	return NULL;
}

/* A part of a record. It is padded to 8 bytes. */
struct part {
	const void *data;
	size_t len_bytes;
};

static size_t padding_bytes(const struct part *part)
{
	return -part->len_bytes & 7;
}

/* Write a record of n parts. Sets header's length. */
static void put_parts(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		      const struct part *parts, size_t n)
{
	static const char padding[8];
	header->len_bytes = sizeof(*header);
	for (size_t i = 0; i < n; i++)
		header->len_bytes += (uint32_t)(parts[i].len_bytes + padding_bytes(&parts[i]));
	append(writer, header, sizeof(*header));
	for (size_t i = 0; i < n; i++) {
		append(writer, parts[i].data, parts[i].len_bytes);
		append(writer, padding, padding_bytes(&parts[i]));
	}
}

/* Write a record. Sets header's length; text may be NULL. */
static void put(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		const void *body, size_t body_bytes, const char *text)
{
	const struct part parts[] = {{body, body_bytes}, {text, text ? strlen(text) + 1 : 0}};
	if (parts[1].len_bytes > VMOP_STREAM_MAX_TEXT_BYTES) {
		fail(writer, vmop_error_new(VMOP_ERROR_LIMIT, "%s: a text of %zu bytes is too long",
					    writer->path, parts[1].len_bytes));
		return;
	}
	put_parts(writer, header, parts, text ? 2 : 1);
}

static void put_stack(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		      const struct vmop_stream_sample *body, const struct vmop_stack_capture *stack)
{
	struct vmop_stream_capture capture;
	const void *const data[VMOP_STREAM_CAPTURE_PARTS] = {
		[VMOP_STREAM_KERNEL_FRAMES] = stack->kernel_frames,
		[VMOP_STREAM_USER_FRAMES] = stack->user_frames,
		[VMOP_STREAM_USER_REGS] = stack->user_regs,
		[VMOP_STREAM_USER_STACK] = stack->user_stack,
	};
	if (!vmop_stream_capture_encode(stack, &capture)) {
		fail(writer, vmop_error_new(VMOP_ERROR_LIMIT, "%s: a call stack is too large",
					    writer->path));
		return;
	}
	struct part parts[2 + VMOP_STREAM_CAPTURE_PARTS] = {{body, sizeof(*body)},
							    {&capture, sizeof(capture)}};
	for (enum vmop_stream_capture_part i = 0; i < VMOP_STREAM_CAPTURE_PARTS; i++)
		parts[2 + i] = (struct part){data[i], vmop_stream_capture_part_bytes(&capture, i)};
	put_parts(writer, header, parts, sizeof(parts) / sizeof(parts[0]));
}

static void put_sample(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		       const struct vmop_sample *sample, const struct vmop_stack_capture *stack)
{
	header->event = (uint8_t)sample->event; /* less than VMOP_STREAM_MAX_EVENTS */
	header->flags = sample->flags;
	const struct vmop_stream_sample body = {
		.ip = sample->ip,
		.weight_events = sample->weight_events,
		.pid = sample->pid,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.source_domain = sample->source_domain,
		.source_vcpu = sample->source_vcpu,
	};
	if (stack && writer->header.stack_mode != VMOP_STACKS_OFF)
		put_stack(writer, header, &body, stack);
	else
		put(writer, header, &body, sizeof(body), NULL);
}

static void put_mmap(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		     const struct vmop_mmap_record *mmap)
{
	struct vmop_stream_mmap body = {
		.start = mmap->start,
		.len_bytes = mmap->len_bytes,
		.file_offset_bytes = mmap->file_offset_bytes,
		.pid = mmap->pid,
		.tid = mmap->tid,
		.dev_major = mmap->dev_major,
		.dev_minor = mmap->dev_minor,
		.inode = mmap->inode,
		.build_id_len_bytes = mmap->build_id_len_bytes,
	};
	memcpy(body.build_id, mmap->build_id, sizeof(body.build_id));
	put(writer, header, &body, sizeof(body), mmap->path);
}

static void put_ksymbol(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
			const struct vmop_ksymbol_record *ksymbol)
{
	const struct vmop_stream_ksymbol body = {.start = ksymbol->start,
						 .len_bytes = ksymbol->len_bytes};
	header->flags =
		(uint16_t)((ksymbol->is_bpf ? VMOP_STREAM_KSYMBOL_BPF : 0) |
			   (ksymbol->is_unregistered ? VMOP_STREAM_KSYMBOL_UNREGISTERED : 0));
	put(writer, header, &body, sizeof(body), ksymbol->name);
}

static void put_comm(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		     const struct vmop_comm_record *comm)
{
	const struct vmop_stream_comm body = {.pid = comm->pid, .tid = comm->tid};
	header->flags = comm->is_exec ? VMOP_STREAM_COMM_EXEC : 0;
	put(writer, header, &body, sizeof(body), comm->comm);
}

static void put_task(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		     const struct vmop_task_record *task)
{
	const struct vmop_stream_task body = {
		.pid = task->pid,
		.tid = task->tid,
		.parent_pid = task->parent_pid,
		.parent_tid = task->parent_tid,
	};
	put(writer, header, &body, sizeof(body), NULL);
}

static void put_lost(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		     const struct vmop_lost_record *lost)
{
	const struct vmop_stream_lost body = {.lost_records = lost->lost_records, .cpu = lost->cpu};
	header->event = (uint8_t)lost->event;
	put(writer, header, &body, sizeof(body), NULL);
}

static void put_cpu(struct vmop_stream_writer *writer, struct vmop_stream_record *header,
		    uint32_t cpu, bool flag)
{
	const struct vmop_stream_cpu body = {.cpu = cpu};
	header->flags = flag ? VMOP_STREAM_ONLINE : 0; /* the same bit as VMOP_STREAM_THROTTLED */
	put(writer, header, &body, sizeof(body), NULL);
}

void vmop_stream_writer_put(struct vmop_stream_writer *writer, const struct vmop_record *record,
			    const struct vmop_stack_capture *stack)
{
	struct vmop_stream_record header = {.type = (uint8_t)record->type,
					    .time_ns = record->time_ns};
	if (!writer->header.first_ns)
		writer->header.first_ns = record->time_ns;
	switch (record->type) {
	case VMOP_RECORD_SAMPLE:
		return put_sample(writer, &header, &record->sample, stack);
	case VMOP_RECORD_MMAP:
		return put_mmap(writer, &header, &record->mmap);
	case VMOP_RECORD_COMM:
		return put_comm(writer, &header, &record->comm);
	case VMOP_RECORD_FORK:
	case VMOP_RECORD_EXIT:
		return put_task(writer, &header, &record->task);
	case VMOP_RECORD_KSYMBOL:
		return put_ksymbol(writer, &header, &record->ksymbol);
	case VMOP_RECORD_LOST:
		return put_lost(writer, &header, &record->lost);
	case VMOP_RECORD_THROTTLE:
		header.event = (uint8_t)record->throttle.event;
		return put_cpu(writer, &header, record->throttle.cpu,
			       record->throttle.is_throttled);
	case VMOP_RECORD_CPU:
		return put_cpu(writer, &header, record->cpu.cpu, record->cpu.is_online);
	case VMOP_RECORD_USER_CHAIN:  /* streams have no stacks in parts */
	case VMOP_RECORD_GUEST_STATE: /* nor guests' contexts */
	case VMOP_RECORD_SWITCH:      /* nor switches, which a source keeps to itself */
		return;
	case VMOP_RECORD_UNHANDLED:
		break;
	}
	const struct vmop_stream_unhandled body = {.type = record->unhandled_type};
	put(writer, &header, &body, sizeof(body), NULL);
}

static void sink_record(void *arg, const struct vmop_record *record,
			const struct vmop_stack_capture *stack)
{
	vmop_stream_writer_put(arg, record, stack);
}

struct vmop_sink vmop_stream_writer_sink(struct vmop_stream_writer *writer)
{
	return (struct vmop_sink){.record = sink_record, .arg = writer};
}

void vmop_stream_writer_begin_repeat(struct vmop_stream_writer *writer, uint64_t n_times,
				     uint64_t step_ns)
{
	struct vmop_stream_record header = {.type = VMOP_STREAM_REPEAT};
	if (n_times == 0 || n_times > VMOP_STREAM_MAX_TIMES)
		fail(writer,
		     vmop_error_new(VMOP_ERROR_LIMIT, "%s: a block is repeated 1 to %d times",
				    writer->path, VMOP_STREAM_MAX_TIMES));
	writer->repeat_at = ftello(writer->file);
	writer->repeat = (struct vmop_stream_repeat){.n_times = n_times, .step_ns = step_ns};
	put(writer, &header, &writer->repeat, sizeof(writer->repeat), NULL);
}

void vmop_stream_writer_end_repeat(struct vmop_stream_writer *writer)
{
	off_t block_at = writer->repeat_at + (off_t)sizeof(struct vmop_stream_record);
	off_t begin = block_at + (off_t)sizeof(writer->repeat);
	writer->repeat.block_bytes = (uint64_t)(ftello(writer->file) - begin);
	overwrite(writer, block_at, &writer->repeat, sizeof(writer->repeat));
	writer->repeat_at = 0;
}

struct vmop_error *vmop_stream_writer_close(struct vmop_stream_writer *writer)
{
	struct vmop_error *err;
	if (writer->file) {
		overwrite(writer, 0, &writer->header, sizeof(writer->header));
		if (fclose(writer->file) != 0)
			fail(writer, vmop_error_os(errno, "%s", writer->path));
	}
	err = writer->err;
	free(writer->path);
	free(writer);
	return err;
}
