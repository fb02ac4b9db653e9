// SPDX-License-Identifier: GPL-2.0-or-later
// Two functions of equal cost per iteration, named by WORK_PREFIX: a report can distinguish the
// program from the shared library, which are both made from this file.
#include "work.h"

static volatile unsigned long sink;

// Programs that differ only in names would have one build-id.
#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
__attribute__((used)) static const char prefix[] = TEXT_OF(WORK_PREFIX);

// A chain of dependent operations, which a compiler can neither hoist nor vectorise (Knuth's LCG).
static inline __attribute__((always_inline)) unsigned long turn(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		x ^= x >> 17;
	}
	return x;
}

__attribute__((noinline)) void WORK(major)(unsigned long n)
{
	sink = turn(sink, n);
}

// The +1 prevents identical-code folding from merging the two functions.
__attribute__((noinline)) void WORK(minor)(unsigned long n)
{
	sink = turn(sink, n) + 1;
}
