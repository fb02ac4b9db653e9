// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder of the kernel's records into vmop's.
 *
 * All events of the source have one fixed layout (VMOP_PERF_SAMPLE_TYPE, sample_id_all). The period
 * comes last and is left out where it is always the same. So a sample is decoded by loads at known
 * offsets. Other records are decoded within the bounds of their own size.
 *
 * A call stack has no fixed size: it follows the fixed part of a sample, is read in place, and is
 * returned beside the record, with pointers into the ring's (perf/stacks/capture.h). The merge's
 * cursor keeps it next to its record, and the sink gets it as a second argument. struct vmop_record
 * stays fixed, because the merge keeps one decoded record a CPU and the daemon holds records by
 * value.
 */
#ifndef VMOP_HV_INTERFACE_PERF_RECORD_H
#define VMOP_HV_INTERFACE_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/dom0.h"
#include "hv-interface/perf/guest-exit.h"
#include "hv-interface/perf/stacks/capture.h"
#include "vmop/record.h"

#define VMOP_PERF_SAMPLE_TYPE                                                                      \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* The properties of a CPU's events that decoding needs. */
struct vmop_perf_decoder {
	bool has_identifier; /* samples have PERF_SAMPLE_IDENTIFIER: there is more than one event */
	const uint64_t *ids; /* the kernel's ids of this CPU's events, by event */
	/*
	 * The ids of the counters that count only guests, by event; 0: the event is not split
	 * (perf/guest-split.h). NULL: no event is split.
	 */
	const uint64_t *guest_ids;
	/*
	 * The weight of every sample by event, where samples carry no PERF_SAMPLE_PERIOD; 0: they
	 * carry it. NULL: all events carry it.
	 */
	const uint64_t *fixed_weights;
	/*
	 * Fixed weights are of the full rate: multiply them by divisor, and in samples of a time up
	 * to lowered_ns by the divisor before. 0 stands for 1.
	 */
	unsigned divisor, divisor_before;
	uint64_t lowered_ns;   /* CLOCK_MONOTONIC */
	const uint8_t *wanted; /* vmop_perf_event_wanted_classes() by event */
	/*
	 * The bits of VMOP_PERF_SAMPLE_STACKS that the host's samples have, and the most frames of
	 * a callchain. Events that count only guests, and guests' halves of events, have none.
	 */
	uint64_t stack_sample_type;
	uint32_t max_frames;
	/*
	 * The id of the CPU's BPF output event, whose samples stand for those of the other events
	 * (perf/stacks/unwound.h, guest.h); 0: none. Needs has_identifier. Its samples have a
	 * callchain if output_sample_type is PERF_SAMPLE_CALLCHAIN, and none if it is 0.
	 */
	uint64_t output_id;
	uint64_t output_sample_type;
	struct vmop_perf_guest_exit guest_exit;
	struct vmop_perf_dom0 dom0;
	size_t n_events;
	uint32_t cpu;
};

enum vmop_perf_decoded {
	VMOP_PERF_DECODED,
	VMOP_PERF_NOT_WANTED, /* the request excludes it */
	VMOP_PERF_MALFORMED,
};

/*
 * Decode the record of header->size bytes at header, which must have at least a header. Text in
 * *ret points into the record and is valid as long as that is. A decoder with a stack_sample_type
 * or an output_id sets *capture, also for records that have no stack; it is valid as long as the
 * record. Without them capture may be NULL.
 */
enum vmop_perf_decoded vmop_perf_record_decode(const struct vmop_perf_decoder *decoder,
					       const struct perf_event_header *header,
					       struct vmop_record *ret,
					       struct vmop_perf_capture *capture);

#endif
