// SPDX-License-Identifier: GPL-2.0-or-later
/* The sums of a command's I/O as vmopstat's rows, beside those of events. */
#ifndef VMOP_LIBVMOP_STAT_IO_ROWS_H
#define VMOP_LIBVMOP_STAT_IO_ROWS_H

#include "libvmop/stat/io/io.h"
#include "libvmop/stat/output.h"

#define VMOP_STAT_IO_MAX_ROWS 40

struct vmop_stat_io_rows {
	struct vmop_stat_row rows[VMOP_STAT_IO_MAX_ROWS];
	size_t n;
	struct vmop_stat_io_totals before; /* of the last interval */
};

/* Start anew: the rows have no values. */
void vmop_stat_io_rows_clear(struct vmop_stat_io_rows *rows);

/*
 * Add the values of one run, or of an interval of which before is the start, in seconds. The rows'
 * texts are static.
 */
void vmop_stat_io_rows_add(struct vmop_stat_io_rows *rows, const struct vmop_stat_io *io,
			   double elapsed_s);

#endif
