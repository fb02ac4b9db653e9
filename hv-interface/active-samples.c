// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-samples.h"

#include <endian.h>
#include <string.h>

#include "libutil/varint.h"

enum {
	IS_KERNEL = 1 << 0,
	VCPU_FOLLOWS = 1 << 1,
	EVENT_FOLLOWS = 1 << 2,
	WEIGHT_FOLLOWS = 1 << 3,
	ALL_FLAGS = 15,
};

/* The longest sample and the longest head of a batch. */
#define SAMPLE_BYTES_MAX (1 + 5 * VMOP_VARINT_BYTES_MAX)
#define HEAD_BYTES_MAX (1 + 3 * VMOP_VARINT_BYTES_MAX)

_Static_assert(sizeof(struct vmop_active_ask) == VMOP_ACTIVE_ASK_BYTES, "the ask has no gaps");
_Static_assert(sizeof(struct vmop_active_clock) == VMOP_ACTIVE_CLOCK_BYTES,
	       "the clock has no gaps");

/* ---- batches -------------------------------------------------------------------------- */

static uint8_t *put_sample(uint8_t *p, const struct vmop_active_sample *sample,
			   const struct vmop_active_sample *before, uint64_t *address_before)
{
	uint8_t flags = sample->is_kernel ? IS_KERNEL : 0;
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
				const struct vmop_active_sample *samples,
				uint8_t buf[VMOP_ACTIVE_BATCH_BYTES], size_t *ret_len_bytes)
{
	uint8_t body[VMOP_ACTIVE_BATCH_BYTES - HEAD_BYTES_MAX];
	struct vmop_active_sample before = {0};
	uint64_t addresses[2] = {0};
	uint8_t *at = body;
	size_t n = 0;
	while (n < batch->n && n < VMOP_ACTIVE_BATCH_SAMPLES &&
	       (size_t)(body + sizeof(body) - at) >= SAMPLE_BYTES_MAX) {
		at = put_sample(at, &samples[n], &before, &addresses[samples[n].is_kernel]);
		before = samples[n++];
	}
	uint8_t *p = buf;
	*p++ = VMOP_ACTIVE_BATCH_VERSION;
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
	*reader = (struct vmop_active_batch_reader){.end = end};
	if (len_bytes < VMOP_ACTIVE_BATCH_LEAST_BYTES || *p++ != VMOP_ACTIVE_BATCH_VERSION)
		return false;
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

/* Read a sample at p, of the given flags. Return the position behind it, or NULL. */
static const uint8_t *get_sample(const struct vmop_active_batch_reader *reader, uint8_t flags,
				 const uint8_t *p, struct vmop_active_sample *ret)
{
	const struct vmop_active_sample *before = &reader->before;
	uint64_t time_ns = 0, difference = 0;
	uint64_t vcpu = before->vcpu, event = before->event, weight = before->weight_events;
	p = vmop_varint_get(p, reader->end, &time_ns);
	p = get_number(p, reader->end, flags & VCPU_FOLLOWS, VMOP_ACTIVE_VCPUS_MAX - 1, &vcpu);
	p = get_number(p, reader->end, flags & EVENT_FOLLOWS, VMOP_ACTIVE_EVENTS_MAX - 1, &event);
	p = get_number(p, reader->end, flags & WEIGHT_FOLLOWS, UINT64_MAX, &weight);
	p = vmop_varint_get(p, reader->end, &difference);
	*ret = (struct vmop_active_sample){
		.address = reader->addresses[flags & IS_KERNEL] + vmop_varint_unzigzag(difference),
		.weight_events = weight,
		.vcpu = (uint32_t)vcpu,
		.event = (uint16_t)event,
		.is_kernel = flags & IS_KERNEL,
	};
	if (__builtin_add_overflow(before->time_ns, time_ns, &ret->time_ns))
		return NULL;
	return p;
}

enum vmop_active_batch_read vmop_active_batch_next(struct vmop_active_batch_reader *reader,
						   struct vmop_active_sample *ret)
{
	struct vmop_active_sample sample;
	if (reader->n_left == 0 && reader->at == reader->end)
		return VMOP_ACTIVE_BATCH_END;
	const uint8_t *p = reader->at;
	if (!p || p == reader->end || !reader->n_left || *p > ALL_FLAGS ||
	    !(p = get_sample(reader, *p, p + 1, &sample))) {
		reader->at = NULL;
		return VMOP_ACTIVE_BATCH_RUBBISH;
	}
	reader->at = p;
	reader->n_left--;
	reader->before = sample;
	reader->addresses[sample.is_kernel] = sample.address;
	*ret = sample;
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
