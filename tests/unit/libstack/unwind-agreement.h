// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts over the stacks of a recording: how they end, and whether libunwind finds the same. */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_UNWIND_AGREEMENT_H
#define VMOP_TESTS_UNIT_LIBSTACK_UNWIND_AGREEMENT_H

#include <stdio.h>

#include "sampler.h"

enum { AGREEMENT_FRAMES = 127, AGREEMENT_SIZES = 3 };

struct agreement {
	uint64_t n_stacks, n_frames; /* of libstack, with the whole copy */
	uint64_t ns, warm_ns; /* CPU time: of the first unwinding of a stack, and of later ones */
	uint64_t n_by_frame_pointer, n_by_expression;
	uint64_t ends[VMOP_N_STACK_ENDS];
	uint64_t n_complete[AGREEMENT_SIZES]; /* with 8, 16 and 32 KiB of each copy */
	/* Frame by frame: */
	uint64_t n_same;
	uint64_t n_longer;    /* libunwind's stack is the lower part of libstack's */
	uint64_t n_shorter;   /* the other way round */
	uint64_t n_different; /* they have different callers somewhere */
};

/*
 * Add the user stacks of a recording to *agreement. Print those that libunwind finds
 * otherwise, and broken ones, to differences, which may be NULL. False: this build has no
 * libunwind, so that only the first counts are right.
 */
bool agreement_add(struct agreement *agreement, const struct recording *recording,
		   FILE *differences);

#endif
