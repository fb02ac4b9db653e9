// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopstat: count events of a command, a process or all CPUs. See vmopstat(1). */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libvmop/event-set.h"
#include "libvmop/stat/command.h"
#include "libvmop/stat/comparison.h"
#include "libvmop/stat/counts.h"
#include "libvmop/stat/domain.h"
#include "libvmop/stat/guest-run.h"
#include "libvmop/stat/hypervisor/hypervisor.h"
#include "libvmop/stat/io/report.h"
#include "libvmop/stat/io/rows.h"
#include "libvmop/stat/loop.h"
#include "libvmop/stat/net/net.h"
#include "libvmop/stat/output.h"
#include "libvmop/stat/ratio.h"
#include "libvmop/stat/settings.h"
#include "libvmop/stat/time/time.h"
#include "libvmop/stat/unseen.h"

struct stat_run {
	const struct vmop_stat_settings *settings;
	struct vmop_stat_writer writer;
	struct vmop_stat_loop loop;
	struct vmop_stat_command command;
	struct vmop_stat_counts *counts;
	struct vmop_stat_counts *witness; /* of the command, to notice uncounted work */
	struct vmop_stat_io io;
	struct vmop_stat_io_rows io_rows;
	uint64_t begin_ns;

	size_t n;
	struct vmop_stat_count *now, *before;
	struct vmop_ratio_input *inputs;
	struct vmop_stat_row *rows;
	struct vmop_stat_times times;
	struct vmop_stat_time time; /* of --time */
};

static void run_cleanup(struct stat_run *run)
{
	vmop_stat_command_deinit(&run->command);
	vmop_stat_counts_close(run->counts);
	vmop_stat_counts_close(run->witness);
	vmop_stat_time_deinit(&run->time);
	vmop_stat_loop_deinit(&run->loop);
	vmop_stat_io_deinit(&run->io);
	for (size_t i = 0; run->rows && i < run->n; i++) {
		free((char *)run->rows[i].name);
		free((char *)run->rows[i].reason);
	}
	free(run->now);
	free(run->before);
	free(run->inputs);
	free(run->rows);
}

/* Each event takes a descriptor for each thread or CPU. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Refuse to wait for counts of which there will be none. */
static struct vmop_error *check_some(const struct stat_run *run)
{
	for (size_t i = 0; i < vmop_stat_counts_n(run->counts); i++) {
		if (!vmop_stat_counts_reason(run->counts, i))
			return NULL;
	}
	return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", vmop_stat_counts_name(run->counts, 0),
			      vmop_stat_counts_reason(run->counts, 0));
}

/* Refuse to run a command of which nothing is counted, because of a name that is no event's. */
static struct vmop_error *check_names(const struct stat_run *run)
{
	_cleanup_(vmop_event_set_deinit) struct vmop_event_set set = {0};
	for (size_t i = 0; i < vmop_stat_counts_n(run->counts); i++) {
		if (!vmop_stat_counts_reason(run->counts, i))
			return NULL;
	}
	struct vmop_error *err = vmop_event_set_resolve(run->settings->events, -1, true, &set);
	if (err && err->code != VMOP_ERROR_USAGE && err->code != VMOP_ERROR_NO_MEMORY) {
		vmop_error_destroy(err);
		err = NULL;
	}
	return err;
}

/* Let the end of a process end the counting. */
static struct vmop_error *follow(struct stat_run *run, pid_t pid)
{
	run->loop.pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return run->loop.pid_fd < 0 ? vmop_error_os(errno, "process %d", (int)pid) : NULL;
}

static struct vmop_error *open_domain(struct stat_run *run)
{
	const struct vmop_stat_settings *settings = run->settings;
	_cleanup_(vmop_stat_domain_deinit) struct vmop_stat_domain domain = {0};
	struct vmop_error *err = vmop_stat_domain_find("", settings->domain, &domain);
	if (!err)
		err = vmop_stat_counts_open_vcpus(settings->events, domain.tids, domain.n,
						  &run->counts);
	if (!err)
		err = check_some(run);
	return err ? err : follow(run, domain.pid);
}

static struct vmop_error *open_counts(struct stat_run *run)
{
	const struct vmop_stat_settings *settings = run->settings;
	raise_file_limit();
	if (settings->domain)
		return open_domain(run);
	if (settings->is_all && settings->events) {
		struct vmop_error *err = vmop_stat_counts_open_cpus(settings->events, &run->counts);
		return err ? err : check_some(run);
	}
	pid_t pid = settings->pid ? settings->pid : run->command.pid;
	bool on_exec = !settings->pid;
	struct vmop_error *err = NULL;
	if (settings->events)
		err = vmop_stat_counts_open_process(settings->events, pid, on_exec, &run->counts);
	if (!err && on_exec && settings->events)
		err = check_names(run);
	if (!err && on_exec && settings->events)
		err = vmop_stat_unseen_open(pid, &run->witness);
	if (!err && !on_exec && settings->events && !settings->io.is_wanted)
		err = check_some(run);
	return err || on_exec || settings->is_all ? err : follow(run, pid);
}

/* Make the rows; in later runs they are there already. */
static struct vmop_error *make_rows(struct stat_run *run)
{
	if (run->rows || !run->counts)
		return NULL;
	run->n = vmop_stat_counts_n(run->counts);
	run->now = calloc(run->n, sizeof(*run->now));
	run->before = calloc(run->n, sizeof(*run->before));
	run->inputs = calloc(run->n, sizeof(*run->inputs));
	run->rows = calloc(run->n, sizeof(*run->rows));
	if (!run->now || !run->before || !run->inputs || !run->rows)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < run->n; i++) {
		struct vmop_stat_row *row = &run->rows[i];
		row->name = strdup(vmop_stat_counts_name(run->counts, i));
		row->is_time = vmop_stat_counts_is_time(run->counts, i);
		if (!row->name)
			return &vmop_error_no_memory;
	}
	return NULL;
}

static struct vmop_error *set_reason(struct vmop_stat_row *row, const char *reason)
{
	if (row->reason || !reason)
		return NULL;
	row->reason = strdup(reason);
	return row->reason ? NULL : &vmop_error_no_memory;
}

/* Add the counts of an interval or a run to the rows. */
static struct vmop_error *add_values(struct stat_run *run, double elapsed_s, bool is_interval)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < run->n; i++) {
		const struct vmop_stat_count *now = &run->now[i], *before = &run->before[i];
		run->inputs[i] = (struct vmop_ratio_input){
			.name = run->rows[i].name,
			.value = now->value - before->value,
			.is_time = run->rows[i].is_time,
			.is_counted = now->running_ns > before->running_ns,
		};
	}
	for (size_t i = 0; !err && i < run->n; i++) {
		struct vmop_stat_row *row = &run->rows[i];
		const char *reason = vmop_stat_counts_reason(run->counts, i);
		double ratio;
		if (is_interval) {
			free((char *)row->reason);
			row->reason = NULL;
			row->values = row->ratios = (struct vmop_spread){0};
		}
		if (!reason && !run->inputs[i].is_counted)
			reason = run->now[i].enabled_ns > run->before[i].enabled_ns
					 ? "it was never on a counter"
					 : "no task of it ran";
		err = set_reason(row, reason);
		row->running_ns = (double)(run->now[i].running_ns - run->before[i].running_ns);
		row->enabled_ns = (double)(run->now[i].enabled_ns - run->before[i].enabled_ns);
		row->is_estimate = row->running_ns < row->enabled_ns;
		vmop_spread_add(&row->values, run->inputs[i].value);
		row->ratio_unit = NULL;
		if (vmop_ratio_of(run->inputs, run->n, i, elapsed_s, &ratio, &row->ratio_unit))
			vmop_spread_add(&row->ratios, ratio);
	}
	return err;
}

/* ---- --io --------------------------------------------------------------------------------- */

static struct vmop_error *begin_io(struct stat_run *run)
{
	const struct vmop_stat_settings *settings = run->settings;
	if (!settings->io.is_wanted)
		return NULL;
	run->io_rows.before = (struct vmop_stat_io_totals){0};
	return vmop_stat_io_begin(&run->io, settings->pid ? settings->pid : run->command.pid,
				  !settings->pid);
}

/* Add the counts of a run, or of an interval, to the rows. */
static struct vmop_error *add_io(struct stat_run *run, double elapsed_s, bool is_interval)
{
	if (!run->settings->io.is_wanted)
		return NULL;
	struct vmop_error *err = vmop_stat_io_read(&run->io);
	if (err)
		return err;
	if (is_interval)
		vmop_stat_io_rows_clear(&run->io_rows);
	vmop_stat_io_rows_add(&run->io_rows, &run->io, elapsed_s);
	if (is_interval)
		run->io_rows.before = run->io.totals;
	return NULL;
}

static void print_io_rows(struct stat_run *run, double time_s)
{
	for (size_t i = 0; i < run->io_rows.n; i++)
		vmop_stat_write_row(&run->writer, &run->io_rows.rows[i], time_s);
}

/* Print the last run's parts, after the rows of all runs. */
static struct vmop_error *print_io(struct stat_run *run)
{
	bool is_table = run->writer.format == VMOP_STAT_TABLE;
	struct vmop_error *err = NULL;
	if (!run->settings->io.is_wanted)
		return NULL;
	if (!run->settings->interval_ms) {
		if (is_table && run->settings->n_runs == 1)
			vmop_stat_io_report_sums(&run->writer, &run->io, run->times.elapsed_s.mean);
		else
			print_io_rows(run, 0);
		err = vmop_stat_io_report_parts(&run->writer, &run->io);
	}
	if (!err)
		vmop_stat_io_report_facts(&run->writer, &run->io);
	return err;
}

/* ---- runs --------------------------------------------------------------------------------- */

static struct vmop_error *flush(const struct stat_run *run)
{
	return fflush(run->writer.out) == 0 ? NULL : vmop_error_os(errno, "writing the counts");
}

/* Read the counts, if there are any. */
static struct vmop_error *read_counts(struct stat_run *run)
{
	return run->counts ? vmop_stat_counts_read(run->counts, run->now) : NULL;
}

/* Print the counts since the last interval. */
static struct vmop_error *print_interval(void *arg, uint64_t since_ns)
{
	struct stat_run *run = arg;
	double time_s = (double)(vmop_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / 1e9;
	struct vmop_error *err = read_counts(run);
	if (!err)
		err = add_values(run, time_s - (double)(since_ns - run->begin_ns) / 1e9, true);
	for (size_t i = 0; !err && i < run->n; i++)
		vmop_stat_write_row(&run->writer, &run->rows[i], time_s);
	if (!err)
		err = add_io(run, time_s - (double)(since_ns - run->begin_ns) / 1e9, true);
	if (!err)
		print_io_rows(run, time_s);
	if (run->n)
		memcpy(run->before, run->now, run->n * sizeof(*run->now));
	if (!err)
		err = vmop_stat_time_take(&run->time, true, -1, -1);
	if (!err)
		vmop_stat_time_write(&run->time, &run->writer, time_s);
	return err ? err : flush(run);
}

/* Find out whether the kernel stopped to count a part of the command, and note it in all rows. */
static struct vmop_error *check_unseen(struct stat_run *run)
{
	bool has_unseen = false;
	struct vmop_error *err =
		run->witness ? vmop_stat_unseen_check(run->witness, &run->command, &has_unseen)
			     : NULL;
	if (!has_unseen &&
	    !(run->witness && vmop_stat_command_changes_rights(run->settings->command[0])))
		return err;
	for (size_t i = 0; !err && i < run->n; i++)
		err = set_reason(&run->rows[i],
				 "it executed a program with other rights, where counting ends");
	return err;
}

/* Run the command once, or count until the end. */
static struct vmop_error *run_once(struct stat_run *run)
{
	const struct vmop_stat_settings *settings = run->settings;
	struct vmop_error *err = NULL;
	if (settings->io.is_wanted)
		err = vmop_stat_io_prepare(&settings->io, !settings->pid, &run->io);
	if (!err && settings->command)
		err = vmop_stat_command_prepare(settings->command, &run->loop.old_signals, -1,
						&run->command);
	if (!err)
		err = open_counts(run);
	if (!err)
		err = make_rows(run);
	if (!err && settings->is_time)
		err = vmop_stat_time_open(&run->time, settings->is_all ? 0
						      : settings->pid  ? settings->pid
								       : run->command.pid);
	bool is_command = !settings->is_all && !settings->pid && !settings->domain;
	if (!err && run->counts && !is_command)
		err = vmop_stat_counts_start(run->counts);
	if (!err)
		err = begin_io(run);
	if (err)
		return err;
	if (run->n)
		memset(run->before, 0, run->n * sizeof(*run->before));
	run->begin_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (settings->command)
		err = vmop_stat_command_go(&run->command, settings->command[0]);
	if (!err)
		err = vmop_stat_loop_run(&run->loop, run->begin_ns, settings->interval_ms,
					 print_interval, run);
	double elapsed_s = (double)(vmop_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / 1e9;
	if (err || settings->interval_ms)
		return err;
	err = read_counts(run);
	if (!err)
		err = add_values(run, elapsed_s, false);
	if (!err)
		err = add_io(run, elapsed_s, false);
	if (!err)
		err = check_unseen(run);
	vmop_spread_add(&run->times.elapsed_s, elapsed_s);
	if (is_command) {
		vmop_spread_add(&run->times.user_s, run->command.user_s);
		vmop_spread_add(&run->times.system_s, run->command.system_s);
	}
	return err ? err
		   : vmop_stat_time_take(&run->time, false, is_command ? run->command.user_s : -1,
					 run->command.system_s);
}

/* Close what belongs to one run. */
static void end_run(struct stat_run *run)
{
	if (run->counts && vmop_stat_counts_cpu_changes(run->counts))
		vmop_log_warning("%u times a CPU went offline or came online: it was counted while "
				 "online",
				 vmop_stat_counts_cpu_changes(run->counts));
	vmop_stat_command_deinit(&run->command);
	vmop_stat_counts_close(run->counts);
	vmop_stat_counts_close(run->witness);
	vmop_stat_time_close(&run->time);
	run->counts = run->witness = NULL;
	vmop_stat_io_end(&run->io);
}

/* Print the total of all runs. */
static struct vmop_error *print_total(struct stat_run *run, const char *what)
{
	if (run->settings->interval_ms) {
		struct vmop_error *err = print_io(run);
		return err ? err : flush(run);
	}
	vmop_stat_write_title(&run->writer, what, run->settings->n_runs);
	for (size_t i = 0; i < run->n; i++)
		vmop_stat_write_row(&run->writer, &run->rows[i], 0);
	vmop_stat_time_write(&run->time, &run->writer, 0);
	vmop_stat_time_write_tasks(&run->time, &run->writer);
	vmop_stat_write_times(&run->writer, &run->times);
	struct vmop_error *err = print_io(run);
	return err ? err : flush(run);
}

/* Print the counts of the guest, beside the host's where these are wanted. */
static struct vmop_error *print_guest(const struct stat_run *run, const char *what,
				      const struct vmop_guest_rows *guest)
{
	const struct vmop_stat_settings *settings = run->settings;
	_cleanup_free_ char *title = NULL;
	if (asprintf(&title,
		     settings->is_compared && settings->n_runs > 1
			     ? "%s %s guest %s (%llu runs, means with 99 %% intervals)"
			     : "%s %s guest %s",
		     what, settings->is_compared ? "on the host and in" : "in", settings->guest,
		     (unsigned long long)settings->n_runs) < 0) {
		title = NULL;
		return &vmop_error_no_memory;
	}
	if (!settings->is_compared) {
		vmop_stat_write_title(&run->writer, title, settings->n_runs);
		for (size_t i = 0; i < guest->n; i++)
			vmop_stat_write_row(&run->writer, &guest->rows[i], 0);
		return flush(run);
	}
	_cleanup_free_ struct vmop_stat_pair *pairs = calloc(run->n + guest->n, sizeof(*pairs));
	if (!pairs)
		return &vmop_error_no_memory;
	size_t n = vmop_stat_pairs_join(run->rows, run->n, guest->rows, guest->n, pairs);
	return vmop_stat_pairs_write(&run->writer, title, pairs, n);
}

/* Run and count the command in the guest. */
static struct vmop_error *run_in_guest(const struct stat_run *run, const char *what,
				       int *ret_status)
{
	const struct vmop_stat_settings *settings = run->settings;
	_cleanup_(vmop_guest_rows_deinit) struct vmop_guest_rows rows = {0};
	const struct vmop_guest_run guest_run = {
		.guest = settings->guest,
		.transport = settings->transport,
		.events = settings->events,
		.n_runs = settings->n_runs,
		.command = settings->command,
		.signals = &run->loop.old_signals,
		.signal_fd = run->loop.signal_fd,
	};
	int status = 0;
	struct vmop_error *err = vmop_guest_run(&guest_run, &rows, &status);
	*ret_status = *ret_status ? *ret_status : status;
	return err ? err : print_guest(run, what, &rows);
}

/* Set *ret to the title's name of the target. The caller frees it. */
static struct vmop_error *name_target(const struct vmop_stat_settings *settings, char **ret)
{
	int n;
	if (settings->pid)
		n = asprintf(ret, "process %d", (int)settings->pid);
	else if (settings->domain)
		n = asprintf(ret, "guest %s", settings->domain);
	else if (settings->is_all)
		n = asprintf(ret, "all CPUs");
	else
		n = asprintf(ret, "'%s'", settings->command[0]);
	if (n >= 0)
		return NULL;
	*ret = NULL;
	return &vmop_error_no_memory;
}

static struct vmop_error *run_all(struct stat_run *run, int *ret_status)
{
	const struct vmop_stat_settings *settings = run->settings;
	bool is_on_host = !settings->guest || settings->is_compared;
	_cleanup_free_ char *what = NULL;
	struct vmop_error *err = vmop_stat_loop_init(&run->loop, &run->command);
	run->loop.time = settings->is_time ? &run->time : NULL;
	if (!err)
		err = name_target(settings, &what);
	if (!err)
		vmop_stat_write_heading(&run->writer);
	for (uint64_t i = 0; !err && is_on_host && i < settings->n_runs; i++) {
		err = run_once(run);
		if (!err && settings->command)
			*ret_status = vmop_stat_command_exit_status(&run->command);
		end_run(run);
	}
	if (!err && settings->guest)
		return run_in_guest(run, what, ret_status);
	return err ? err : print_total(run, what);
}

static struct vmop_error *open_output(const struct vmop_stat_settings *settings,
				      struct vmop_stat_writer *writer)
{
	*writer = (struct vmop_stat_writer){
		.format = settings->is_json	? VMOP_STAT_JSON
			  : settings->separator ? VMOP_STAT_FIELDS
						: VMOP_STAT_TABLE,
		.separator = settings->separator,
		/* A description is this program's only output. */
		.out = settings->is_hypervisor && !settings->command ? stdout : stderr,
		.has_intervals = settings->interval_ms != 0,
	};
	if (settings->log_fd > STDERR_FILENO) {
		/* The command does not inherit it. */
		writer->out = fcntl(settings->log_fd, F_SETFD, FD_CLOEXEC) == 0
				      ? fdopen(settings->log_fd, "w")
				      : NULL;
		return writer->out ? NULL : vmop_error_os(errno, "--log-fd=%d", settings->log_fd);
	}
	if (settings->log_fd == STDOUT_FILENO)
		writer->out = stdout;
	if (!settings->output)
		return NULL;
	writer->out = fopen(settings->output, "we");
	return writer->out ? NULL : vmop_error_os(errno, "%s", settings->output);
}

int main(int argc, char **argv)
{
	struct vmop_stat_settings settings;
	int status = VMOP_EXIT_DONE;
	setlocale(LC_CTYPE, "");
	argp_err_exit_status = VMOP_EXIT_USAGE;
	vmop_log_init("vmopstat", VMOP_LOG_WARNING);
	struct vmop_error *err = vmop_stat_settings_parse(argc, argv, &settings);
	if (!err) {
		_cleanup_(run_cleanup) struct stat_run run = {
			.settings = &settings, .loop = {.signal_fd = -1, .pid_fd = -1}};
		err = open_output(&settings, &run.writer);
		if (!err && settings.is_net)
			err = vmop_net_run(&settings, &run.writer, &status);
		else if (!err && settings.is_hypervisor)
			err = vmop_hv_run(&settings, &run.writer, &status);
		else if (!err)
			err = run_all(&run, &status);
		if (run.writer.out && run.writer.out != stderr && fclose(run.writer.out) != 0)
			err = vmop_error_first(
				err, vmop_error_os(errno, "%s",
						   settings.output ? settings.output : "--log-fd"));
	}
	vmop_stat_settings_deinit(&settings);
	if (err) { /* 1 is a command's status only */
		status = err->code == VMOP_ERROR_USAGE ? VMOP_EXIT_USAGE : VMOP_EXIT_CANT;
		vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	}
	return status;
}
