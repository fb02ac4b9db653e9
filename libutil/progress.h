// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A progress line on stderr for work that takes longer than a second, and
 * only on a terminal: "vmopreport: reading symbols 312/1840".  It is wiped
 * before anything else is printed.  One at a time, one thread.
 */
#ifndef VMOP_LIBUTIL_PROGRESS_H
#define VMOP_LIBUTIL_PROGRESS_H

#include <stdint.h>

struct vmop_progress {
	const char *what;	     /* "reading symbols"; must outlive this */
	uint64_t total;		     /* 0: not known */
	uint64_t begun_ns, shown_ns; /* CLOCK_MONOTONIC */
	int shown;
};

void vmop_progress_begin(struct vmop_progress *progress, const char *what, uint64_t total);
/* Cheap enough for inner loops of micro-seconds: looks at the clock, rarely writes. */
void vmop_progress_step(struct vmop_progress *progress, uint64_t done);
void vmop_progress_end(struct vmop_progress *progress);

#endif
