// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples that a KVM host hands to the agent of an active guest, and the clock by which the
 * agent finds their guest's time. They are the payloads of three frames (active-frame.h).
 *
 *	samples		initiator	a batch
 *	ask		agent		"what time is it there?", and what became of the samples
 *	clock		initiator	the answer, at once
 *
 * A batch:
 *
 *	u8	version of the batch: 1, or 2 if samples can have call stacks or be of nested guests
 *	varint	the host's time (CLOCK_MONOTONIC, ns) up to which all samples are here
 *	varint	samples since the session's begin that found no room on the host
 *	varint	number of samples that follow, at most VMOP_ACTIVE_BATCH_SAMPLES
 *
 * Then for each sample, in the order of time:
 *
 *	u8	bit 0: kernel mode; bits 1 to 3: vCPU, event, weight follow; in version 2
 *		bit 4: a call stack follows; bit 5: with it, it is only likely; bit 6: without
 *		it, the code is that of a guest that this guest ran; the rest is 0
 *	varint	time after the sample before (the first: the time), ns
 *	varint	if it follows: the vCPU; if not, that of the sample before, at first 0
 *	varint	if it follows: the event, likewise
 *	varint	if it follows: the weight, likewise
 *	varint	address minus that of the sample before in the same mode, at first 0 (zigzag)
 *
 * and its stack, if that follows:
 *
 *	u8	its end (enum vmop_stack_end); one that the reader does not know is UNKNOWN
 *	varint	number of outer frames that are those of the last stack before it in the
 *		batch whose vCPU modulo VMOP_ACTIVE_STACKS_BEFORE is the same
 *	varint	number of further frames; all are at most VMOP_STACK_FRAMES_MAX
 *	varint	for each of these, the outermost first: the frame (vmop/guest-frame.h) minus
 *		that of its caller, at first 0 (zigzag)
 *
 * Each batch can be read without those before. A guest whose agent does not take version 2
 * (active-message.h, VMOP_ACTIVE_TAKES_STACKS) gets version 1.
 *
 * Ask and clock are little endian and have no gaps: struct vmop_active_ask and vmop_active_clock,
 * member by member.
 *
 * The other side is hostile: a reader returns only values in range and in order.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_SAMPLES_H
#define VMOP_HV_INTERFACE_ACTIVE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/stack.h"

#define VMOP_ACTIVE_BATCH_BYTES 8192 /* of a batch, at most */
#define VMOP_ACTIVE_BATCH_SAMPLES 4096
#define VMOP_ACTIVE_BATCH_LEAST_BYTES 4

#define VMOP_ACTIVE_VCPUS_MAX 4096
#define VMOP_ACTIVE_NO_VCPU (VMOP_ACTIVE_VCPUS_MAX - 1) /* the host does not know it */
#define VMOP_ACTIVE_EVENTS_MAX 64
#define VMOP_ACTIVE_STACKS_BEFORE 8

struct vmop_active_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t address;
	uint64_t weight_events;
	uint32_t vcpu;	/* below VMOP_ACTIVE_VCPUS_MAX */
	uint16_t event; /* below VMOP_ACTIVE_EVENTS_MAX */
	bool is_kernel;
	/*
	 * The frames of its callers, innermost first, are n_frames words from index first_frame on
	 * in the array that belongs to the samples. No kernel frame is a caller of user code.
	 */
	bool has_stack;
	bool is_stack_likely; /* not certain: found by a search */
	bool is_nested;	      /* of a guest that this guest ran; then without a stack */
	uint8_t stack_end;    /* enum vmop_stack_end */
	uint8_t n_frames;     /* at most VMOP_STACK_FRAMES_MAX */
	uint64_t first_frame;
};

_Static_assert(VMOP_STACK_FRAMES_MAX <= UINT8_MAX, "n_frames has room");

struct vmop_active_batch {
	uint64_t complete_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t n_lost;
	size_t n;	  /* samples */
	bool is_extended; /* version 2 */
};

/*
 * Return how many of the n inner frames can be the callers of code in the kernel or in user mode:
 * those before the first kernel frame that is outside of user code.
 */
size_t vmop_active_count_callers(const uint64_t *frames, size_t n, bool is_kernel);

/*
 * Write a batch of the first of n samples, which are in the order of time, to buf. frames: those of
 * their stacks; may be NULL if no sample has any. Without is_extended the stacks are left out, and
 * samples of nested guests are as those of the guest.
 * Return the number of samples that found room; *ret_len_bytes: the length of the batch.
 */
size_t vmop_active_batch_encode(const struct vmop_active_batch *batch,
				const struct vmop_active_sample *samples, const uint64_t *frames,
				uint8_t buf[VMOP_ACTIVE_BATCH_BYTES], size_t *ret_len_bytes);

/* A stack that was read. */
struct vmop_active_stack {
	size_t n;
	uint64_t frames[VMOP_STACK_FRAMES_MAX]; /* outermost first */
};

struct vmop_active_batch_reader {
	const uint8_t *at, *end;
	size_t n_left;
	/* Taken over from the sample before. */
	uint64_t time_ns, weight_events;
	uint32_t vcpu;
	uint16_t event;
	uint64_t addresses[2]; /* of the samples before, by mode */
	bool is_extended;
	struct vmop_active_stack stacks[VMOP_ACTIVE_STACKS_BEFORE]; /* the last ones, by vCPU */
	uint64_t frames[VMOP_STACK_FRAMES_MAX]; /* of the sample that was read last */
};

/* Begin to read a batch, which must outlive reader. Return false if it is none. */
bool vmop_active_batch_begin(const uint8_t *payload, size_t len_bytes,
			     struct vmop_active_batch_reader *reader,
			     struct vmop_active_batch *ret);

enum vmop_active_batch_read {
	VMOP_ACTIVE_BATCH_SAMPLE,
	VMOP_ACTIVE_BATCH_END,	   /* the batch was whole */
	VMOP_ACTIVE_BATCH_RUBBISH, /* it is cut, too long, or has impossible values */
};

/*
 * Read the next sample. *ret has a sample only for SAMPLE; its frames are in reader->frames from
 * index 0 on. Neither other result is followed by a sample.
 */
enum vmop_active_batch_read vmop_active_batch_next(struct vmop_active_batch_reader *reader,
						   struct vmop_active_sample *ret);

/* All times are CLOCK_MONOTONIC. The counts are since the session's begin. */
struct vmop_active_ask {
	uint64_t asked_ns;    /* the guest's time */
	uint64_t n_received;  /* samples that came */
	uint64_t n_ambiguous; /* too near a task switch for the clock's error */
	uint64_t n_switching; /* in the kernel between two tasks */
	uint64_t n_unplaced;  /* without a record of the task that ran: too late, or unknown vCPU */
	uint64_t n_dropped;   /* found no room in the guest */
	uint64_t error_ns;    /* of the clock, now; 0: not known yet */
};

struct vmop_active_clock {
	uint64_t asked_ns;  /* of the ask that it answers */
	uint64_t host_ns;   /* the host's time at its answer */
	uint64_t guest_tsc; /* at that time, or libutil/host-time.h's clock; 0: not known */
	uint64_t error_ns;  /* of that pair */
};

#define VMOP_ACTIVE_ASK_BYTES 56
#define VMOP_ACTIVE_CLOCK_BYTES 32

void vmop_active_ask_encode(const struct vmop_active_ask *ask, uint8_t ret[VMOP_ACTIVE_ASK_BYTES]);
/* Return false if the counts contradict one another. */
bool vmop_active_ask_decode(const uint8_t payload[VMOP_ACTIVE_ASK_BYTES],
			    struct vmop_active_ask *ret);
void vmop_active_clock_encode(const struct vmop_active_clock *clock,
			      uint8_t ret[VMOP_ACTIVE_CLOCK_BYTES]);
void vmop_active_clock_decode(const uint8_t payload[VMOP_ACTIVE_CLOCK_BYTES],
			      struct vmop_active_clock *ret);

#endif
