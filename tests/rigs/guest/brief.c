// SPDX-License-Identifier: GPL-2.0-or-later
// usage: PROGRAM major|minor|clock|gone MILLISECONDS: burn so much CPU time (record.h) in one
// function, record it and end. The functions have the program's own prefix WORK_PREFIX. clock: read
// the clock, which is code of the vDSO. gone: remove the program's own file first, then as major.
#include "record.h"
#include "work.h"
#include <stdlib.h>

enum { TURNS = 10000, TURNS_A_CLOCK = 20 };

static void read_clock(unsigned long n)
{
	for (n /= TURNS_A_CLOCK; n; n--)
		clock_ns(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	unsigned long left = argc > 2 ? strtoul(argv[2], NULL, 10) * (TURNS_PER_MS / TURNS) : 0;
	const char *name = argc > 1 ? argv[1] : "";
	void (*function)(unsigned long) = WORK(minor);
	if (!strcmp(name, "clock"))
		function = read_clock;
	else if (strcmp(name, "minor"))
		function = WORK(major);
	if (!strcmp(name, "gone") && unlink(argv[0]))
		return 1;
	for (; left; left--)
		function(TURNS);
	record_run(name, start_ns);
	return 0;
}
