// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the rows whose share differs from a baseline's by more than a bound and by more than chance.
 *
 * A gate makes many comparisons, and must not fail because one of them is unlucky.  Each row is
 * tested (exact-test.h) at the level 1 % / n, where n is the number of rows and events with samples
 * on either side (Bonferroni: Dunn, Multiple comparisons among means, J. Amer. Statist. Assoc. 56,
 * 1961).  So two equal streams of random samples differ anywhere with a chance of at most 1 %.
 *
 * The test counts samples.  Shares and bounds are of their weight.
 */
#ifndef VMOP_OPREPORT_GATE_CHANGE_H
#define VMOP_OPREPORT_GATE_CHANGE_H

#include "libutil/error.h"
#include "opreport/compare/estimate.h"
#include "opreport/gate/shares.h"

/* The bounds: a change must reach both. */
struct vmop_change_bound {
	double points;	/* percentage points of the share */
	double percent; /* of the share in the baseline */
};

struct vmop_changed_row {
	const struct vmop_shares_row *row; /* of either side: its names */
	size_t event;
	/* Percent; the limits of the difference are estimates for that level, to be shown. */
	struct vmop_interval before, after, difference;
};

struct vmop_changes {
	struct vmop_changed_row *items; /* the largest differences first */
	size_t n, capacity;
	size_t n_compared; /* rows with samples on either side, by event */
};

/*
 * Compare `now` with a baseline of the same events and dimensions; both are merged and must outlive
 * *ret.  Events without samples on one side are not compared.  The caller deinitialises ret also
 * after an error.
 */
struct vmop_error *vmop_changes_init(struct vmop_changes *ret, const struct vmop_shares *baseline,
				     const struct vmop_shares *now,
				     const struct vmop_change_bound *bound);
void vmop_changes_deinit(struct vmop_changes *changes);

#endif
