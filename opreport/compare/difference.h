// SPDX-License-Identifier: GPL-2.0-or-later
/* The difference of a row between the first side of a comparison and another one. */
#ifndef VMOP_OPREPORT_COMPARE_DIFFERENCE_H
#define VMOP_OPREPORT_COMPARE_DIFFERENCE_H

#include "opreport/compare/comparison.h"
#include "opreport/compare/estimate.h"

enum vmop_change {
	VMOP_CHANGE_NOISE, /* the difference's interval holds 0, or the difference is unknown */
	VMOP_CHANGE_MORE,
	VMOP_CHANGE_LESS,
	VMOP_CHANGE_NEW,  /* more, and the first side has no sample */
	VMOP_CHANGE_GONE, /* less, and the other side has no sample */
	VMOP_N_CHANGES,
};

struct vmop_difference {
	struct vmop_interval before, after; /* by --per: see vmop_per_estimate */
	struct vmop_interval difference, ratio;
	enum vmop_change change;
};

/* Estimate the difference of counts, which are of the event by side, between sides 0 and `other`.
 */
struct vmop_difference vmop_difference_of(const struct vmop_comparison *comparison,
					  const struct vmop_count *counts, size_t event,
					  size_t other);

/* Estimate the counts of one side only. */
struct vmop_interval vmop_difference_side(const struct vmop_comparison *comparison,
					  struct vmop_count count, size_t event, size_t side);

/* Return "noise", "more", "less", "new" or "gone". */
const char *vmop_change_word(enum vmop_change change);

#endif
