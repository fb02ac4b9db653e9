// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder of the kernel's records into vmop's.
 *
 * All events of the source have one fixed layout (VMOP_PERF_SAMPLE_TYPE, sample_id_all). The period
 * comes last and is left out where it is always the same. So a sample is decoded by loads at known
 * offsets. Other records are decoded within the bounds of their own size.
 *
 * A callchain (PERF_SAMPLE_CALLCHAIN) has no fixed size: the kernel writes it, after the fixed
 * part, as a count and that many addresses. struct vmop_record stays fixed, because the merge keeps
 * one decoded record a CPU and the daemon holds records by value. The decoder will return the chain
 * beside the record, as a pointer into the ring's record and a count with the ring's lifetime (see
 * vmop_perf_record_decode); the cursor in merge.h keeps it next to its record, and the sink gets it
 * as a second argument (struct vmop_sink).
 */
#ifndef VMOP_HV_INTERFACE_PERF_RECORD_H
#define VMOP_HV_INTERFACE_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/dom0.h"
#include "hv-interface/perf/guest-exit.h"
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
	const uint8_t *wanted; /* vmop_perf_event_wanted_classes() by event */
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
 * *ret points into the record and is valid as long as that is.
 */
enum vmop_perf_decoded vmop_perf_record_decode(const struct vmop_perf_decoder *decoder,
					       const struct perf_event_header *header,
					       struct vmop_record *ret);

#endif
