// SPDX-License-Identifier: GPL-2.0-or-later
// usage: hot-static | hot-dynamic: burn CPU until killed, 75 % in one function and 25 % in another.
// With HOT_LIBRARY the two functions are in the shared library, else in the static program.
#include "work.h"
#include <unistd.h>

#ifdef HOT_LIBRARY
#define MAJOR library_major
#define MINOR library_minor
#else
#define MAJOR static_major
#define MINOR static_minor
#endif

int main(void)
{
	// The guest's script runs first while it has work.
	if (nice(19) == -1)
		return 1;
	for (;;) {
		MAJOR(300000);
		MINOR(100000);
	}
}
