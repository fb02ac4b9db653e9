// SPDX-License-Identifier: GPL-2.0-or-later
/* The times at which samples were taken at a lower rate than asked for. */
#ifndef VMOP_DAEMON_RATE_HISTORY_H
#define VMOP_DAEMON_RATE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "hv-interface/source.h"

#define VMOP_RATE_SPANS 4

struct vmop_rate_span {
	uint64_t start_ns, end_ns; /* time of the session; end_ns 0: it goes on */
	unsigned divisor;
};

/* The latest spans of a session file, oldest first. */
struct vmop_rate_history {
	struct vmop_rate_span spans[VMOP_RATE_SPANS];
	size_t n;
	uint64_t n_older, older_ns; /* the number and length of spans before them */
};

/* From time_ns on, one of divisor samples is taken. */
void vmop_rate_history_change(struct vmop_rate_history *history, uint64_t time_ns,
			      unsigned divisor);

/* Forget the spans that ended: a new file begins at time_ns. */
void vmop_rate_history_begin_file(struct vmop_rate_history *history, uint64_t time_ns);

/*
 * Return the note on an event: "rate lowered from 4000 to 1000 Hz between 2026-11-23 22:01:02 and
 * 2026-11-23 22:05:00 UTC". The caller frees it. NULL: the rate was never lowered, or out of
 * memory.
 */
char *vmop_rate_history_note(const struct vmop_rate_history *history,
			     const struct vmop_event_info *event);

#endif
