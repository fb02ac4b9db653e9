// SPDX-License-Identifier: GPL-2.0-or-later
// usage: PROGRAM major|minor|clock|gone MILLISECONDS: burn so much CPU time in one function, record
// it and end. The functions have the program's own prefix WORK_PREFIX. clock: read the clock, which
// is code of the vDSO. gone: remove the program's own file first, then as major.
#include "record.h"
#include "work.h"
#include <stdlib.h>

static void read_clock(unsigned long n)
{
	while (n--)
		clock_ns(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	const uint64_t limit_ns = argc > 2 ? strtoul(argv[2], NULL, 10) * 1000000 : 0;
	const char *name = argc > 1 ? argv[1] : "";
	void (*function)(unsigned long) = WORK(minor);
	unsigned long n = 10000;
	if (!strcmp(name, "clock")) {
		function = read_clock;
		n = 100;
	} else if (strcmp(name, "minor")) {
		function = WORK(major);
	}
	if (!strcmp(name, "gone") && unlink(argv[0]))
		return 1;
	do {
		function(n);
	} while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < limit_ns);
	record_run(name, start_ns);
	return 0;
}
