// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run of vmopstat over counters that others count (readings.h): until a command ends, or a
 * signal; with intervals, or with the total at the end.
 */
#ifndef VMOP_LIBVMOP_STAT_METER_H
#define VMOP_LIBVMOP_STAT_METER_H

#include "libvmop/stat/readings.h"
#include "libvmop/stat/settings.h"

struct vmop_stat_meter {
	/* Add all counters to readings; begin and end are the caller's. */
	struct vmop_error *(*read)(void *arg, struct vmop_readings *readings);
	void *arg;
	const char *what; /* the title's object */
	/* Return whether a row is printed; NULL: all are. */
	bool (*shows)(void *arg, const struct vmop_readings_row *row);
	/*
	 * Behind the number of objects without a printed row, for the table: of one, and of more.
	 * NULL: no such line.
	 */
	const char *const *hidden;
};

/*
 * Run. Without intervals, the counters are read every second as well: a reset, or an object that is
 * gone for some time, would not show in the last reading. *ret_status: the command's, if there is
 * one.
 */
struct vmop_error *vmop_stat_meter_run(const struct vmop_stat_meter *meter,
				       const struct vmop_stat_settings *settings,
				       struct vmop_stat_writer *writer, int *ret_status);

#endif
