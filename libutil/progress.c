// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000;

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * second_ns + (uint64_t)ts.tv_nsec;
}

void vmop_progress_begin(struct vmop_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct vmop_progress){.what = what, .total = total, .begun_ns = now_ns()};
	progress->shown_ns = progress->begun_ns;
}

void vmop_progress_step(struct vmop_progress *progress, uint64_t done)
{
	uint64_t now = now_ns();
	uint64_t wait_ns = progress->shown ? second_ns / 5 : second_ns;
	if (now - progress->shown_ns < wait_ns || !isatty(STDERR_FILENO))
		return;
	progress->shown_ns = now;
	progress->shown = 1;
	fprintf(stderr, "\r\033[K%s: %s %" PRIu64, program_invocation_short_name, progress->what, done);
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
