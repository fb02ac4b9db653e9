// SPDX-License-Identifier: GPL-2.0-or-later
// Two functions of equal cost per iteration, named by WORK_PREFIX, so that the program and the
// shared library made from this one file can be told apart in a report.
#include "work.h"

#define PASTE(a, b) a##b
#define NAME(prefix, what) PASTE(prefix, what)

static volatile unsigned long sink;

// A chain of dependent operations: nothing to hoist, nothing to vectorise. (Knuth's LCG.)
static inline __attribute__((always_inline)) unsigned long turn(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		x ^= x >> 17;
	}
	return x;
}

__attribute__((noinline)) void NAME(WORK_PREFIX, major)(unsigned long n)
{
	sink = turn(sink, n);
}

// The +1 keeps identical-code folding from making one function of the two.
__attribute__((noinline)) void NAME(WORK_PREFIX, minor)(unsigned long n)
{
	sink = turn(sink, n) + 1;
}
