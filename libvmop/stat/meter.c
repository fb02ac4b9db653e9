// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/meter.h"

#include <errno.h>
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libvmop/stat/command.h"
#include "libvmop/stat/loop.h"

#define CHECK_MS 1000

struct meter_run {
	const struct vmop_stat_meter *meter;
	const struct vmop_stat_settings *settings;
	const struct vmop_stat_writer *writer;
	struct vmop_stat_loop loop;
	struct vmop_stat_command command;
	uint64_t begin_ns;
	struct vmop_readings first, last, now;
};

static void run_cleanup(struct meter_run *run)
{
	vmop_stat_command_deinit(&run->command);
	vmop_stat_loop_deinit(&run->loop);
	vmop_readings_deinit(&run->first);
	vmop_readings_deinit(&run->last);
	vmop_readings_deinit(&run->now);
}

static struct vmop_error *read_all(const struct meter_run *run, struct vmop_readings *readings)
{
	vmop_readings_begin(readings);
	struct vmop_error *err = run->meter->read(run->meter->arg, readings);
	vmop_readings_end(readings);
	return err;
}

/* Print the rows that are wanted. */
static void print_rows(const struct meter_run *run, const struct vmop_readings_row *rows, size_t n,
		       double time_s)
{
	const struct vmop_stat_meter *meter = run->meter;
	const struct vmop_readings_row *last_hidden = NULL;
	size_t n_hidden = 0;
	for (size_t i = 0; i < n; i++) {
		if (!meter->shows || meter->shows(meter->arg, &rows[i])) {
			vmop_stat_write_row(run->writer, &rows[i].row, time_s);
			continue;
		}
		n_hidden += !last_hidden || last_hidden->identity != rows[i].identity;
		last_hidden = &rows[i];
	}
	if (n_hidden && meter->hidden && run->writer->format == VMOP_STAT_TABLE)
		fprintf(run->writer->out, "%20zu %s\n", n_hidden, meter->hidden[n_hidden > 1]);
}

/* Print the growth from before to run->now. */
static struct vmop_error *print(const struct meter_run *run, const struct vmop_readings *before)
{
	_cleanup_free_ struct vmop_readings_row *rows = NULL;
	size_t n = 0;
	struct vmop_error *err = vmop_readings_rows(before, &run->now, &rows, &n);
	double time_s = (double)(run->now.time_ns - run->begin_ns) / 1e9;
	if (!err)
		print_rows(run, rows, n, time_s);
	if (!err && fflush(run->writer->out) != 0)
		err = vmop_error_os(errno, "writing the counts");
	return err;
}

/* Take the end of an interval; without --interval-print only to notice resets. */
static struct vmop_error *end_interval(void *arg, uint64_t since_ns)
{
	struct meter_run *run = arg;
	(void)since_ns;
	struct vmop_readings swap = run->last;
	run->last = run->now;
	run->now = swap;
	struct vmop_error *err = read_all(run, &run->now);
	if (err)
		return err;
	return run->settings->interval_ms ? print(run, &run->last)
					  : vmop_readings_mark(&run->first, &run->last, &run->now);
}

static struct vmop_error *print_total(const struct meter_run *run)
{
	_cleanup_free_ char *what = NULL;
	char **command = run->settings->command;
	struct vmop_stat_times times = {0};
	if (run->settings->interval_ms)
		return NULL;
	/* The counts are of all programs, while the command ran. */
	if (asprintf(&what, command ? "%s, while '%s' ran" : "%s", run->meter->what,
		     command ? command[0] : "") < 0) {
		what = NULL;
		return &vmop_error_no_memory;
	}
	vmop_stat_write_title(run->writer, what, 1);
	struct vmop_error *err = print(run, &run->first);
	vmop_spread_add(&times.elapsed_s, (double)(run->now.time_ns - run->begin_ns) / 1e9);
	if (command) {
		vmop_spread_add(&times.user_s, run->command.user_s);
		vmop_spread_add(&times.system_s, run->command.system_s);
	}
	if (!err)
		vmop_stat_write_times(run->writer, &times);
	return err;
}

static struct vmop_error *run_all(struct meter_run *run, int *ret_status)
{
	const struct vmop_stat_settings *settings = run->settings;
	struct vmop_error *err = vmop_stat_loop_init(&run->loop, &run->command);
	if (!err && settings->command)
		err = vmop_stat_command_prepare(settings->command, &run->loop.old_signals, -1,
						&run->command);
	if (!err)
		err = read_all(run, &run->first);
	if (!err)
		err = read_all(run, &run->now);
	if (err)
		return err;
	vmop_stat_write_heading(run->writer);
	run->begin_ns = run->first.time_ns;
	if (settings->command)
		err = vmop_stat_command_go(&run->command, settings->command[0]);
	if (!err)
		err = vmop_stat_loop_run(&run->loop, run->begin_ns,
					 settings->interval_ms ? settings->interval_ms : CHECK_MS,
					 end_interval, run);
	if (!err)
		err = print_total(run);
	if (!err && settings->command)
		*ret_status = vmop_stat_command_exit_status(&run->command);
	return err;
}

struct vmop_error *vmop_stat_meter_run(const struct vmop_stat_meter *meter,
				       const struct vmop_stat_settings *settings,
				       struct vmop_stat_writer *writer, int *ret_status)
{
	_cleanup_(run_cleanup) struct meter_run run = {
		.meter = meter,
		.settings = settings,
		.writer = writer,
		.loop = {.signal_fd = -1, .pid_fd = -1},
	};
	return run_all(&run, ret_status);
}
