// SPDX-License-Identifier: GPL-2.0-or-later
// usage: hot-static | hot-dynamic: burns CPU until killed, 75 % in one function and 25 % in
// another. HOT_LIBRARY: the two functions are the shared library's; otherwise the static program's
// own.
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
	// The guest's own script goes first while it has something to do.
	if (nice(19) == -1)
		return 1;
	for (;;) {
		MAJOR(300000);
		MINOR(100000);
	}
}
