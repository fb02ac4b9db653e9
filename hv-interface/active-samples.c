// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-samples.h"

#include <endian.h>
#include <string.h>

#include "libutil/varint.h"
#include "vmop/guest-frame.h"

enum {
	IS_KERNEL = 1 << 0,
	VCPU_FOLLOWS = 1 << 1,
	EVENT_FOLLOWS = 1 << 2,
	WEIGHT_FOLLOWS = 1 << 3,
	FLAGS_OF_FIRST = 15,
	STACK_FOLLOWS = 1 << 4,
	STACK_IS_LIKELY = 1 << 5,
	IS_NESTED = 1 << 6,
	ALL_FLAGS = 127,
};

enum { VERSION = 1, VERSION_EXTENDED = 2 };

/* The longest sample without its stack, the longest stack, and the longest head of a batch. */
#define SAMPLE_BYTES_MAX (1 + 5 * VMOP_VARINT_BYTES_MAX)
#define STACK_BYTES_MAX(n_frames) (1 + (2 + (size_t)(n_frames)) * VMOP_VARINT_BYTES_MAX)
#define HEAD_BYTES_MAX (1 + 3 * VMOP_VARINT_BYTES_MAX)

_Static_assert(HEAD_BYTES_MAX + SAMPLE_BYTES_MAX + STACK_BYTES_MAX(VMOP_STACK_FRAMES_MAX) <=
		       VMOP_ACTIVE_BATCH_BYTES,
	       "a batch has room for a sample");

_Static_assert(sizeof(struct vmop_active_ask) == VMOP_ACTIVE_ASK_BYTES, "the ask has no gaps");
_Static_assert(sizeof(struct vmop_active_clock) == VMOP_ACTIVE_CLOCK_BYTES,
	       "the clock has no gaps");

/* ---- batches -------------------------------------------------------------------------- */

size_t vmop_active_count_callers(const uint64_t *frames, size_t n, bool is_kernel)
{
	for (size_t i = 0; i < n; i++) {
		if (vmop_guest_frame_is_kernel(frames[i]) && !is_kernel)
			return i;
		is_kernel = vmop_guest_frame_is_kernel(frames[i]);
	}
	return n;
}

/* The last stack of a vCPU, as it was written: its frames, innermost first. */
struct written_stack {
	const uint64_t *frames;
	size_t n;
};

/* Return the number of outer frames that two stacks have in common. */
static size_t count_same(const struct written_stack *a, const struct written_stack *b)
{
	size_t n = 0, max = a->n < b->n ? a->n : b->n;
	while (n < max && a->frames[a->n - 1 - n] == b->frames[b->n - 1 - n])
		n++;
	return n;
}

static uint8_t *put_stack(uint8_t *p, const struct vmop_active_sample *sample,
			  const uint64_t *frames, struct written_stack before[])
{
	const struct written_stack stack = {.frames = frames + sample->first_frame,
					    .n = sample->n_frames};
	struct written_stack *last = &before[sample->vcpu % VMOP_ACTIVE_STACKS_BEFORE];
	size_t n_new = stack.n - count_same(&stack, last);
	uint64_t caller = n_new < stack.n ? stack.frames[n_new] : 0;
	*p++ = sample->stack_end;
	p = vmop_varint_put(p, stack.n - n_new);
	p = vmop_varint_put(p, n_new);
	while (n_new--) {
		p = vmop_varint_put(p, vmop_varint_zigzag(stack.frames[n_new] - caller));
		caller = stack.frames[n_new];
	}
	*last = stack;
	return p;
}

/* Return the flags of a sample that only extended batches have. */
static uint8_t extended_flags(const struct vmop_active_sample *sample)
{
	if (sample->is_nested)
		return IS_NESTED;
	if (!sample->has_stack)
		return 0;
	return STACK_FOLLOWS | (sample->is_stack_likely ? STACK_IS_LIKELY : 0);
}

static uint8_t *put_sample(uint8_t *p, const struct vmop_active_sample *sample,
			   const struct vmop_active_sample *before, uint64_t *address_before,
			   uint8_t flags)
{
	flags |= sample->is_kernel ? IS_KERNEL : 0;
	flags |= sample->vcpu != before->vcpu ? VCPU_FOLLOWS : 0;
	flags |= sample->event != before->event ? EVENT_FOLLOWS : 0;
	flags |= sample->weight_events != before->weight_events ? WEIGHT_FOLLOWS : 0;
	*p++ = flags;
	p = vmop_varint_put(p, sample->time_ns - before->time_ns);
	if (flags & VCPU_FOLLOWS)
		p = vmop_varint_put(p, sample->vcpu);
	if (flags & EVENT_FOLLOWS)
		p = vmop_varint_put(p, sample->event);
	if (flags & WEIGHT_FOLLOWS)
		p = vmop_varint_put(p, sample->weight_events);
	p = vmop_varint_put(p, vmop_varint_zigzag(sample->address - *address_before));
	*address_before = sample->address;
	return p;
}

size_t vmop_active_batch_encode(const struct vmop_active_batch *batch,
				const struct vmop_active_sample *samples, const uint64_t *frames,
				uint8_t buf[VMOP_ACTIVE_BATCH_BYTES], size_t *ret_len_bytes)
{
	uint8_t body[VMOP_ACTIVE_BATCH_BYTES - HEAD_BYTES_MAX];
	struct written_stack stacks[VMOP_ACTIVE_STACKS_BEFORE] = {0};
	struct vmop_active_sample before = {0};
	uint64_t addresses[2] = {0};
	uint8_t *at = body;
	size_t n = 0;
	while (n < batch->n && n < VMOP_ACTIVE_BATCH_SAMPLES) {
		const struct vmop_active_sample *sample = &samples[n];
		uint8_t flags = batch->is_extended ? extended_flags(sample) : 0;
		bool has_stack = flags & STACK_FOLLOWS;
		size_t stack_bytes = has_stack ? STACK_BYTES_MAX(sample->n_frames) : 0;
		if ((size_t)(body + sizeof(body) - at) < SAMPLE_BYTES_MAX + stack_bytes)
			break;
		at = put_sample(at, sample, &before, &addresses[sample->is_kernel], flags);
		if (has_stack)
			at = put_stack(at, sample, frames, stacks);
		before = samples[n++];
	}
	uint8_t *p = buf;
	*p++ = batch->is_extended ? VERSION_EXTENDED : VERSION;
	/* Without the rest of the samples, only the time before them is complete. */
	p = vmop_varint_put(p, n < batch->n ? samples[n].time_ns : batch->complete_ns);
	p = vmop_varint_put(p, batch->n_lost);
	p = vmop_varint_put(p, n);
	memcpy(p, body, (size_t)(at - body));
	*ret_len_bytes = (size_t)(p - buf) + (size_t)(at - body);
	return n;
}

bool vmop_active_batch_begin(const uint8_t *payload, size_t len_bytes,
			     struct vmop_active_batch_reader *reader, struct vmop_active_batch *ret)
{
	const uint8_t *end = payload + len_bytes, *p = payload;
	uint64_t n = 0;
	reader->at = NULL;
	reader->end = end;
	reader->n_left = 0;
	reader->time_ns = reader->weight_events = reader->vcpu = reader->event = 0;
	memset(reader->addresses, 0, sizeof(reader->addresses));
	for (size_t i = 0; i < VMOP_ACTIVE_STACKS_BEFORE; i++)
		reader->stacks[i].n = 0;
	if (len_bytes < VMOP_ACTIVE_BATCH_LEAST_BYTES || *p < VERSION || *p > VERSION_EXTENDED)
		return false;
	reader->is_extended = ret->is_extended = *p++ == VERSION_EXTENDED;
	p = vmop_varint_get(p, end, &ret->complete_ns);
	p = vmop_varint_get(p, end, &ret->n_lost);
	p = vmop_varint_get(p, end, &n);
	if (!p || n > VMOP_ACTIVE_BATCH_SAMPLES)
		return false;
	ret->n = reader->n_left = n;
	reader->at = p;
	return true;
}

/* Read a number of at most max, if it follows. Return the position behind it, or NULL. */
static const uint8_t *get_number(const uint8_t *p, const uint8_t *end, bool follows, uint64_t max,
				 uint64_t *number)
{
	if (!follows)
		return p;
	p = vmop_varint_get(p, end, number);
	return *number <= max ? p : NULL;
}

/*
 * Read the further frames of a stack, outermost first. Return the position behind them, or NULL.
 */
static const uint8_t *get_frames(const uint8_t *p, const uint8_t *end, size_t n,
				 struct vmop_active_stack *stack)
{
	uint64_t caller = stack->n ? stack->frames[stack->n - 1] : 0, difference = 0;
	while (p && n--) {
		p = vmop_varint_get(p, end, &difference);
		caller += vmop_varint_unzigzag(difference);
		stack->frames[stack->n++] = caller;
	}
	return p;
}

/* Read the stack of a sample at p. Return the position behind it, or NULL. */
static const uint8_t *get_stack(struct vmop_active_batch_reader *reader, const uint8_t *p,
				struct vmop_active_sample *sample)
{
	struct vmop_active_stack *stack = &reader->stacks[sample->vcpu % VMOP_ACTIVE_STACKS_BEFORE];
	uint64_t n_same = 0, n_new = 0;
	if (p == reader->end)
		return NULL;
	uint8_t end = *p++;
	p = vmop_varint_get(p, reader->end, &n_same);
	p = vmop_varint_get(p, reader->end, &n_new);
	if (!p || n_same > stack->n || n_new > VMOP_STACK_FRAMES_MAX - n_same)
		return NULL;
	stack->n = n_same;
	p = get_frames(p, reader->end, n_new, stack);
	if (!p)
		return NULL;
	for (size_t i = 0; i < stack->n; i++)
		reader->frames[i] = stack->frames[stack->n - 1 - i];
	sample->has_stack = true;
	sample->stack_end = end < VMOP_N_STACK_ENDS ? end : VMOP_STACK_END_UNKNOWN;
	sample->n_frames = (uint8_t)stack->n;
	bool are_callers =
		vmop_active_count_callers(reader->frames, stack->n, sample->is_kernel) == stack->n;
	return are_callers ? p : NULL;
}

/*
 * Read a sample without its stack at p, of the given flags. Return the position behind it, or NULL.
 */
static const uint8_t *get_sample(const struct vmop_active_batch_reader *reader, uint8_t flags,
				 const uint8_t *p, struct vmop_active_sample *ret)
{
	uint64_t time_ns = 0, difference = 0;
	uint64_t vcpu = reader->vcpu, event = reader->event, weight = reader->weight_events;
	p = vmop_varint_get(p, reader->end, &time_ns);
	p = get_number(p, reader->end, flags & VCPU_FOLLOWS, VMOP_ACTIVE_VCPUS_MAX - 1, &vcpu);
	p = get_number(p, reader->end, flags & EVENT_FOLLOWS, VMOP_ACTIVE_EVENTS_MAX - 1, &event);
	p = get_number(p, reader->end, flags & WEIGHT_FOLLOWS, UINT64_MAX, &weight);
	p = vmop_varint_get(p, reader->end, &difference);
	/*
	 * Member by member, here and below: copying a struct that was just written so waits for the
	 * writes.
	 */
	ret->address = reader->addresses[flags & IS_KERNEL] + vmop_varint_unzigzag(difference);
	ret->weight_events = weight;
	ret->vcpu = (uint32_t)vcpu;
	ret->event = (uint16_t)event;
	ret->is_kernel = flags & IS_KERNEL;
	ret->has_stack = false;
	ret->is_stack_likely = flags & STACK_IS_LIKELY;
	ret->is_nested = flags & IS_NESTED;
	ret->stack_end = 0;
	ret->n_frames = 0;
	ret->first_frame = 0;
	if (__builtin_add_overflow(reader->time_ns, time_ns, &ret->time_ns))
		return NULL;
	return p;
}

static bool are_flags(const struct vmop_active_batch_reader *reader, uint8_t flags)
{
	unsigned of_stack = flags & (STACK_FOLLOWS | STACK_IS_LIKELY);
	return flags <= (reader->is_extended ? ALL_FLAGS : FLAGS_OF_FIRST) &&
	       of_stack != STACK_IS_LIKELY && !(of_stack && flags & IS_NESTED);
}

enum vmop_active_batch_read vmop_active_batch_next(struct vmop_active_batch_reader *reader,
						   struct vmop_active_sample *ret)
{
	if (reader->n_left == 0 && reader->at == reader->end)
		return VMOP_ACTIVE_BATCH_END;
	const uint8_t *p = reader->at;
	uint8_t flags = p && p != reader->end && reader->n_left ? *p++ : UINT8_MAX;
	reader->at = NULL;
	if (!are_flags(reader, flags) || !(p = get_sample(reader, flags, p, ret)))
		return VMOP_ACTIVE_BATCH_RUBBISH;
	if (flags & STACK_FOLLOWS && !(p = get_stack(reader, p, ret)))
		return VMOP_ACTIVE_BATCH_RUBBISH;
	reader->at = p;
	reader->n_left--;
	reader->time_ns = ret->time_ns;
	reader->weight_events = ret->weight_events;
	reader->vcpu = ret->vcpu;
	reader->event = ret->event;
	reader->addresses[ret->is_kernel] = ret->address;
	return VMOP_ACTIVE_BATCH_SAMPLE;
}

/* ---- clock ---------------------------------------------------------------------------- */

/* Copy a struct of 64-bit numbers to little-endian ones or back, which is the same. */
static void copy_words(const void *from, size_t len_bytes, void *ret)
{
	for (size_t at = 0; at < len_bytes; at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, (const char *)from + at, sizeof(word));
		word = htole64(word);
		memcpy((char *)ret + at, &word, sizeof(word));
	}
}

void vmop_active_ask_encode(const struct vmop_active_ask *ask, uint8_t ret[VMOP_ACTIVE_ASK_BYTES])
{
	copy_words(ask, VMOP_ACTIVE_ASK_BYTES, ret);
}

bool vmop_active_ask_decode(const uint8_t payload[VMOP_ACTIVE_ASK_BYTES],
			    struct vmop_active_ask *ret)
{
	copy_words(payload, VMOP_ACTIVE_ASK_BYTES, ret);
	/* Each sample is in one class at most, so that no sum can overflow here either. */
	uint64_t left = ret->n_received;
	const uint64_t parts[] = {ret->n_ambiguous, ret->n_switching, ret->n_unplaced,
				  ret->n_dropped};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] > left)
			return false;
		left -= parts[i];
	}
	return true;
}

void vmop_active_clock_encode(const struct vmop_active_clock *clock,
			      uint8_t ret[VMOP_ACTIVE_CLOCK_BYTES])
{
	copy_words(clock, VMOP_ACTIVE_CLOCK_BYTES, ret);
}

void vmop_active_clock_decode(const uint8_t payload[VMOP_ACTIVE_CLOCK_BYTES],
			      struct vmop_active_clock *ret)
{
	copy_words(payload, VMOP_ACTIVE_CLOCK_BYTES, ret);
}
