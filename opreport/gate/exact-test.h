// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fisher's exact test of two shares: the chance that samples which have one share in common are
 * distributed as unequally as these (Fisher, The logic of inductive inference, J. Roy. Statist.
 * Soc. 98, 1935).  It never promises more than it holds, also for a few samples and at levels as
 * low as one in a million; intervals by normal approximation do.
 */
#ifndef VMOP_OPREPORT_GATE_EXACT_TEST_H
#define VMOP_OPREPORT_GATE_EXACT_TEST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return whether a of all_a samples and b of all_b samples differ at a level in (0, 1): for equal
 * shares, that happens with at most this chance.  Numbers above their all, and sums beyond 2^53,
 * never differ.
 */
bool vmop_exact_test_differ(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b, double level);

#endif
