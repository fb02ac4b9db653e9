// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "libutil/clock.h"

void vmop_progress_begin(struct vmop_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct vmop_progress){
		.what = what, .total = total, .begun_ns = vmop_clock_ns(CLOCK_MONOTONIC_COARSE)};
	progress->shown_ns = progress->begun_ns;
}

void vmop_progress_step(struct vmop_progress *progress, uint64_t done)
{
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC_COARSE);
	uint64_t wait_ns = progress->shown ? VMOP_NS_PER_S / 5 : VMOP_NS_PER_S;
	if (now - progress->shown_ns < wait_ns)
		return;
	progress->shown_ns = now; /* also without a terminal: the clock is read seldom */
	if (!isatty(STDERR_FILENO))
		return;
	progress->shown = 1;
	fprintf(stderr, "\r\033[K%s: %s %" PRIu64, program_invocation_short_name, progress->what,
		done);
	if (progress->total)
		fprintf(stderr, "/%" PRIu64, progress->total);
	fflush(stderr);
}

void vmop_progress_end(struct vmop_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = 0;
}
