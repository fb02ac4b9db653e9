// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's records -> vmop's.  All events of the source have one fixed
 * layout (VMOP_PERF_SAMPLE_TYPE, sample_id_all; the period is its last and left
 * out where it is always the same), so that a sample is decoded by loads at
 * known offsets; everything else is decoded with bounds on what the
 * record's own size allows.
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

/* What a CPU's records must be read with. */
struct vmop_perf_decoder {
	bool has_identifier; /* PERF_SAMPLE_IDENTIFIER too: there is more than one event */
	const uint64_t *ids; /* the kernel's ids of the events on this CPU, in their order */
	/*
	 * Likewise of the counters that count guests alone, of events that are split
	 * (perf/guest-split.h); 0: it isn't.  NULL: none is.
	 */
	const uint64_t *guest_ids;
	/*
	 * For each event what a sample stands for, which then carries no PERF_SAMPLE_PERIOD; 0:
	 * it does.  NULL: they all do.
	 */
	const uint64_t *fixed_weights;
	const uint8_t *wanted; /* for each event, vmop_perf_event_wanted_classes() */
	struct vmop_perf_guest_exit guest_exit;
	struct vmop_perf_dom0 dom0;
	size_t n_events;
	uint32_t cpu;
};

enum vmop_perf_decoded {
	VMOP_PERF_DECODED,
	VMOP_PERF_NOT_WANTED, /* nothing that anybody asked for */
	VMOP_PERF_MALFORMED,
};

/*
 * Decodes the record of header->size bytes (at least its header) at header.  Text in
 * ret points into it.
 */
enum vmop_perf_decoded vmop_perf_record_decode(const struct vmop_perf_decoder *decoder,
					       const struct perf_event_header *header,
					       struct vmop_record *ret);

#endif
