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
 *	u8	version of the batch
 *	varint	the host's time (CLOCK_MONOTONIC, ns) up to which all samples are sent with this
 *batch varint	samples since the session's begin that found no room on the host varint	number of
 *samples that follow, at most VMOP_ACTIVE_BATCH_SAMPLES then for each sample, in the order of time:
 *	u8	bit 0: kernel mode; bit 1: vCPU follows; bit 2: event follows; bit 3: weight
 *follows; the rest is 0 varint	time after the sample before (the first: the time), ns
 *	varint	if it follows: the vCPU; if not, that of the sample before, at first 0
 *	varint	if it follows: the event, likewise
 *	varint	if it follows: the weight, likewise
 *	varint	address minus that of the sample before in the same mode, at first 0 (zigzag)
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

#define VMOP_ACTIVE_BATCH_VERSION 1
#define VMOP_ACTIVE_BATCH_BYTES 8192 /* of a batch, at most */
#define VMOP_ACTIVE_BATCH_SAMPLES 4096
#define VMOP_ACTIVE_BATCH_LEAST_BYTES 4

#define VMOP_ACTIVE_VCPUS_MAX 4096
#define VMOP_ACTIVE_NO_VCPU (VMOP_ACTIVE_VCPUS_MAX - 1) /* the host does not know it */
#define VMOP_ACTIVE_EVENTS_MAX 64

struct vmop_active_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t address;
	uint64_t weight_events;
	uint32_t vcpu;	/* below VMOP_ACTIVE_VCPUS_MAX */
	uint16_t event; /* below VMOP_ACTIVE_EVENTS_MAX */
	bool is_kernel;
};

struct vmop_active_batch {
	uint64_t complete_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t n_lost;
	size_t n; /* samples */
};

/*
 * Write a batch of the first of n samples, which are in the order of time, to buf. Return the
 * number of samples that found room; *ret_len_bytes: the length of the batch.
 */
size_t vmop_active_batch_encode(const struct vmop_active_batch *batch,
				const struct vmop_active_sample *samples,
				uint8_t buf[VMOP_ACTIVE_BATCH_BYTES], size_t *ret_len_bytes);

struct vmop_active_batch_reader {
	const uint8_t *at, *end;
	size_t n_left;
	struct vmop_active_sample before;
	uint64_t addresses[2]; /* of the samples before, by mode */
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

/* Read the next sample. Set *ret only for SAMPLE. Neither other result is followed by a sample. */
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
