// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A progress line on stderr for work that takes longer than a second: "vmopreport: reading symbols
 * 312/1840". It appears only on a terminal, and is wiped before any other output. One at a time, in
 * one thread.
 */
#ifndef VMOP_LIBUTIL_PROGRESS_H
#define VMOP_LIBUTIL_PROGRESS_H

#include <stdint.h>

struct vmop_progress {
	const char *what;	     /* "reading symbols"; must outlive this struct */
	uint64_t total;		     /* 0: unknown */
	uint64_t begun_ns, shown_ns; /* CLOCK_MONOTONIC */
	int shown;
};

void vmop_progress_begin(struct vmop_progress *progress, const char *what, uint64_t total);
/*
 * Update the count of finished items. Cheap enough for inner loops of microseconds: reads the clock
 * and rarely writes.
 */
void vmop_progress_step(struct vmop_progress *progress, uint64_t done);
void vmop_progress_end(struct vmop_progress *progress);

#endif
