// SPDX-License-Identifier: GPL-2.0-or-later
/* Recorded streams: hv-interface/replay/stream.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/replay/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Read every field of a record, and its text to the end. */
static size_t look_at(const struct vmop_record *record)
{
	switch (record->type) {
	case VMOP_RECORD_MMAP:
		if (record->mmap.build_id_len_bytes > VMOP_BUILD_ID_MAX)
			abort();
		return strlen(record->mmap.path);
	case VMOP_RECORD_COMM:
		return strlen(record->comm.comm);
	case VMOP_RECORD_KSYMBOL:
		return strlen(record->ksymbol.name);
	default:
		return 0;
	}
}

static uint64_t sum_words(const uint64_t *words, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += words[i];
	return sum;
}

/* Read all of a call stack. */
static uint64_t look_at_stack(const struct vmop_stack_capture *stack)
{
	uint64_t sum = sum_words(stack->kernel_frames, stack->n_kernel_frames) +
		       sum_words(stack->user_frames, stack->n_user_frames) +
		       sum_words(stack->user_regs, stack->user_regs ? VMOP_USER_REGS : 0);
	for (size_t i = 0; stack->user_stack && i < stack->user_stack_bytes; i++)
		sum += stack->user_stack[i];
	if (stack->user_stack_bytes > VMOP_USER_STACK_BYTES_MAX ||
	    stack->user_end >= VMOP_N_STACK_ENDS)
		abort();
	return sum;
}

static void read_all(struct vmop_stream_reader *reader)
{
	struct vmop_record record;
	const struct vmop_stack_capture *stack;
	struct vmop_error *err = NULL;
	bool ended = false;
	uint64_t last_ns = 0;
	volatile uint64_t sum = 0;
	uint32_t machine;
	const struct vmop_stack_options *stacks = vmop_stream_reader_stacks(reader, &machine);
	if (stacks->mode > VMOP_STACKS_CFI || stacks->max_frames > VMOP_STACK_FRAMES_MAX)
		abort();
	for (size_t i = 0; i < vmop_stream_reader_n_events(reader); i++) {
		const struct vmop_event_info *info = vmop_stream_reader_event(reader, i);
		if (strlen(info->name) >= 64 || strlen(info->unit) >= 8)
			abort();
	}
	/* A repeated block can be long: that is not an error. */
	for (unsigned i = 0; i < 10000; i++) {
		err = vmop_stream_reader_next(reader, &record, &stack, &ended);
		if (err || ended)
			break;
		look_at(&record);
		if (stack)
			sum += look_at_stack(stack);
		if (record.time_ns != 0 && record.time_ns < last_ns)
			abort();
		if (record.time_ns != 0)
			last_ns = record.time_ns;
		if ((record.type == VMOP_RECORD_SAMPLE &&
		     record.sample.event >= vmop_stream_reader_n_events(reader)))
			abort();
	}
	vmop_error_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_stream_reader *reader;
	uint64_t *aligned = malloc(len_bytes + 8);
	if (!aligned)
		abort();
	memcpy(aligned, data, len_bytes);
	struct vmop_error *err =
		vmop_stream_reader_open_memory("fuzz", aligned, len_bytes, &reader);
	if (err)
		vmop_error_destroy(err);
	else {
		read_all(reader);
		vmop_stream_reader_close(reader);
	}
	free(aligned);
	return 0;
}
