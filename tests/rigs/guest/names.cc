// SPDX-License-Identifier: GPL-2.0-or-later
// usage: cxx-names NAME MILLISECONDS: burn so much CPU time (record.h) in a member function of a
// template in a namespace, whose symbol must be demangled. Uses nothing of the C++ library.
#include "record.h"
#include <stdlib.h>

namespace rig
{
template <typename T> struct mill {
	static volatile T sink;
	__attribute__((noipa)) void grind(unsigned long n);
};
template <typename T> volatile T mill<T>::sink;
template <typename T> void mill<T>::grind(unsigned long n)
{
	T x = sink;
	while (n--) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		x ^= x >> 17;
	}
	sink = x;
}
} // namespace rig

int main(int argc, char **argv)
{
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	enum { TURNS = 10000 };
	unsigned long left = argc > 2 ? strtoul(argv[2], NULL, 10) * (TURNS_PER_MS / TURNS) : 0;
	rig::mill<unsigned long> mill;
	for (; left; left--)
		mill.grind(TURNS);
	record_run("grind", start_ns);
	return 0;
}
