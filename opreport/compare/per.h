// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The divisors of a comparison's counts (--per): two recordings
 * are seldom equally long, and seldom did the same work.
 */
#ifndef VMOP_OPREPORT_COMPARE_PER_H
#define VMOP_OPREPORT_COMPARE_PER_H

#include <stddef.h>

#include "libutil/error.h"
#include "opreport/compare/estimate.h"
#include "opreport/query/tally.h"

#define VMOP_SIDES_MAX 16 /* of one comparison */

enum vmop_per_kind {
	VMOP_PER_SAMPLES, /* all samples of the event: shares in percent */
	VMOP_PER_TIME,	  /* seconds of the recording */
	VMOP_PER_EVENT,	  /* the side's total of another event, such as instructions */
	VMOP_PER_UNITS,	  /* units of work that the user counted */
};

/* A zeroed one is per samples. */
struct vmop_per {
	enum vmop_per_kind kind;
	const char *event; /* PER_EVENT: as the user wrote it, not owned */
	double units[VMOP_SIDES_MAX];
	size_t n_units; /* PER_UNITS: one for all sides, or one for each */
};

/*
 * Parse "samples", "time", an event's name, or positive numbers "N[,N...]".  VMOP_ERROR_USAGE names
 * the accepted words.
 */
struct vmop_error *vmop_per_parse(const char *text, struct vmop_per *ret);

/* A row's counts of one event in one side, and what they are divided by. */
struct vmop_measure {
	struct vmop_count row, all; /* of the event: in the row, in the whole side */
	struct vmop_count work;	    /* PER_EVENT: of that event, in the whole side */
	bool is_work;		    /* PER_EVENT: the event itself is that one */
	double exposure;	    /* PER_TIME: seconds; PER_UNITS: units */
	double z;		    /* PER_SAMPLES: see estimate.h; 0: of 99 % */
};

/*
 * Estimate a row's events for each unit of --per, in percent of all for PER_SAMPLES.  The limits
 * follow the numbers of samples: each sample is taken to stand for the row's mean weight.
 */
struct vmop_interval vmop_per_estimate(enum vmop_per_kind kind, const struct vmop_measure *measure);

#endif
