// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of a command on the host beside those of the same command in a guest, with the guest's
 * deviation.
 */
#ifndef VMOP_LIBVMOP_STAT_COMPARISON_H
#define VMOP_LIBVMOP_STAT_COMPARISON_H

#include <stddef.h>

#include "libutil/error.h"
#include "libvmop/stat/output.h"

/* How far the guest's mean lies from the host's. */
struct vmop_deviation {
	const char *reason;   /* static: why the sides have no deviation; NULL: they have one */
	double percent;	      /* of the host's mean */
	double width_percent; /* half of the 99 % interval, by Welch's t; < 0: of single runs */
};

/*
 * Compute the deviation of two means. The relative errors of both add up as for a quotient; the
 * degrees of freedom are Satterthwaite's.
 */
struct vmop_deviation vmop_deviation_of(const struct vmop_spread *host,
					const struct vmop_spread *guest);

/* One event of the comparison. */
struct vmop_stat_pair {
	const struct vmop_stat_row *host, *guest; /* NULL: that side did not count it */
	struct vmop_deviation deviation;
};

/*
 * Join the rows of both sides by the events' names, in the host's order; those of the guest only
 * follow. The second row of a name joins the second one. ret has room for the rows of both.
 * Return the number of pairs.
 */
size_t vmop_stat_pairs_join(const struct vmop_stat_row *host, size_t n_host,
			    const struct vmop_stat_row *guest, size_t n_guest,
			    struct vmop_stat_pair *ret);

/* Print the pairs in the writer's format; the table with a title and headings. */
struct vmop_error *vmop_stat_pairs_write(const struct vmop_stat_writer *writer, const char *title,
					 const struct vmop_stat_pair *pairs, size_t n);

#endif
