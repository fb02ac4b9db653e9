// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopstat's output: a table as perf stat's users expect, fields with a separator, or JSON. */
#ifndef VMOP_LIBVMOP_STAT_OUTPUT_H
#define VMOP_LIBVMOP_STAT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "libutil/error.h"
#include "libvmop/stat/spread.h"

enum vmop_stat_format { VMOP_STAT_TABLE, VMOP_STAT_FIELDS, VMOP_STAT_JSON };

/* One event of the total or of an interval. */
struct vmop_stat_row {
	const char *name;
	const char *reason; /* NULL: counted; else why there is no value */
	bool is_time;	    /* values are ns */
	bool is_estimate;
	struct vmop_spread values;     /* one for each run */
	double running_ns, enabled_ns; /* of the last run */
	struct vmop_spread ratios;
	const char *ratio_unit; /* NULL: no ratio */
	const char *note;	/* NULL, or a remark on the value */
	const char *guest;	/* NULL: it is no guest's */
};

struct vmop_stat_writer {
	enum vmop_stat_format format;
	const char *separator;
	FILE *out;
	bool has_intervals;
	bool has_guests; /* fields end with the guest */
};

/* Begin: print the heading of intervals, where the format has one. */
void vmop_stat_write_heading(const struct vmop_stat_writer *writer);

/* Print a row; time_s is the end of the interval since the start, unused without intervals. */
void vmop_stat_write_row(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row,
			 double time_s);

/* The times of a command or of the counting, for the table's end; user_s < 0: not known. */
struct vmop_stat_times {
	struct vmop_spread elapsed_s;
	struct vmop_spread user_s, system_s; /* without values: not printed */
};
void vmop_stat_write_title(const struct vmop_stat_writer *writer, const char *what, size_t n_runs);
void vmop_stat_write_times(const struct vmop_stat_writer *writer,
			   const struct vmop_stat_times *times);

#endif
