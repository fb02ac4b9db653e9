// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopstat: count events of a command, a process or all CPUs. See vmopstat(1). */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libvmop/stat/command.h"
#include "libvmop/stat/counts.h"
#include "libvmop/stat/io/report.h"
#include "libvmop/stat/io/rows.h"
#include "libvmop/stat/output.h"
#include "libvmop/stat/ratio.h"
#include "libvmop/stat/settings.h"

/*
 * CPU time that the kernel accounts and the counters do not see, before it is an error: a share, a
 * floor, and the end of each task, which comes after its counters' (20 to 90 us each on a PC). A
 * task's last switch is a voluntary one, so there are at most as many tasks.
 */
#define UNSEEN_SHARE 0.05
#define UNSEEN_S 0.01
#define UNSEEN_S_PER_SWITCH 0.0003

struct stat_run {
	const struct vmop_stat_settings *settings;
	struct vmop_stat_writer writer;
	sigset_t old_signals;
	int signal_fd, pid_fd;
	struct vmop_stat_command command;
	struct vmop_stat_counts *counts;
	struct vmop_stat_counts *clock; /* the command's CPU time, to notice uncounted work */
	struct vmop_stat_io io;
	struct vmop_stat_io_rows io_rows;
	uint64_t begin_ns;
	bool is_over;

	size_t n;
	struct vmop_stat_count *now, *before;
	struct vmop_ratio_input *inputs;
	struct vmop_stat_row *rows;
	struct vmop_stat_times times;
};

static void run_cleanup(struct stat_run *run)
{
	vmop_stat_command_deinit(&run->command);
	vmop_stat_counts_close(run->counts);
	vmop_stat_counts_close(run->clock);
	vmop_stat_io_deinit(&run->io);
	if (run->signal_fd >= 0)
		close(run->signal_fd);
	if (run->pid_fd >= 0)
		close(run->pid_fd);
	for (size_t i = 0; run->rows && i < run->n; i++) {
		free((char *)run->rows[i].name);
		free((char *)run->rows[i].reason);
	}
	free(run->now);
	free(run->before);
	free(run->inputs);
	free(run->rows);
}

static struct vmop_error *take_signals(struct stat_run *run)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, &run->old_signals) != 0)
		return vmop_error_os(errno, "signals");
	run->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? vmop_error_os(errno, "signals") : NULL;
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

static struct vmop_error *open_counts(struct stat_run *run)
{
	const struct vmop_stat_settings *settings = run->settings;
	raise_file_limit();
	if (settings->is_all) {
		struct vmop_error *err = vmop_stat_counts_open_cpus(settings->events, &run->counts);
		return err ? err : check_some(run);
	}
	pid_t pid = settings->pid ? settings->pid : run->command.pid;
	bool on_exec = !settings->pid;
	struct vmop_error *err =
		vmop_stat_counts_open_process(settings->events, pid, on_exec, &run->counts);
	if (!err && on_exec)
		err = vmop_stat_counts_open_process("task-clock", pid, true, &run->clock);
	if (!err && !on_exec && !settings->io.is_wanted)
		err = check_some(run);
	if (err || on_exec)
		return err;
	run->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return run->pid_fd < 0 ? vmop_error_os(errno, "process %d", (int)pid) : NULL;
}

/* Make the rows; in later runs they are there already. */
static struct vmop_error *make_rows(struct stat_run *run)
{
	if (run->rows)
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

static struct vmop_error *flush(const struct stat_run *run)
{
	return fflush(run->writer.out) == 0 ? NULL : vmop_error_os(errno, "writing the counts");
}

/* Print the counts since the last interval. */
static struct vmop_error *print_interval(struct stat_run *run, uint64_t since_ns)
{
	double time_s = (double)(vmop_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / 1e9;
	struct vmop_error *err = vmop_stat_counts_read(run->counts, run->now);
	if (!err)
		err = add_values(run, time_s - (double)(since_ns - run->begin_ns) / 1e9, true);
	for (size_t i = 0; !err && i < run->n; i++)
		vmop_stat_write_row(&run->writer, &run->rows[i], time_s);
	if (!err)
		err = add_io(run, time_s - (double)(since_ns - run->begin_ns) / 1e9, true);
	if (!err)
		print_io_rows(run, time_s);
	memcpy(run->before, run->now, run->n * sizeof(*run->now));
	return err ? err : flush(run);
}

/* Handle pending signals. A command gets SIGTERM and SIGHUP; the terminal gives it SIGINT. */
static void handle_signals(struct stat_run *run)
{
	struct signalfd_siginfo info;
	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int signo = (int)info.ssi_signo;
		if (signo == SIGCHLD)
			continue;
		if (!run->command.pid)
			run->is_over = true;
		else if (signo != SIGINT)
			kill(run->command.pid, signo);
	}
}

/* Wait for signals and the process until a time; 0: without end. */
static struct vmop_error *wait_until(struct stat_run *run, uint64_t until_ns)
{
	struct pollfd fds[] = {{.fd = run->signal_fd, .events = POLLIN},
			       {.fd = run->pid_fd, .events = POLLIN}};
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / VMOP_NS_PER_S), (long)(left_ns % VMOP_NS_PER_S)};
	int n = ppoll(fds, 2, until_ns ? &left : NULL, NULL);
	if (n < 0 && errno != EINTR)
		return vmop_error_os(errno, "waiting");
	if (n <= 0)
		return NULL;
	if (fds[0].revents)
		handle_signals(run);
	if (fds[1].revents)
		run->is_over = true;
	struct vmop_error *err = vmop_stat_command_check(&run->command);
	run->is_over |= run->command.has_ended;
	return err;
}

/* Wait for the end, with intervals. */
static struct vmop_error *count(struct stat_run *run)
{
	uint64_t step_ns = run->settings->interval_ms * VMOP_NS_PER_MS;
	uint64_t since_ns = run->begin_ns, next_ns = step_ns ? run->begin_ns + step_ns : 0;
	struct vmop_error *err = NULL;
	while (!err && !run->is_over) {
		err = wait_until(run, next_ns);
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		if (err || !step_ns || (now_ns < next_ns && !run->is_over))
			continue;
		err = print_interval(run, since_ns);
		since_ns = now_ns;
		while (next_ns <= now_ns)
			next_ns += step_ns;
	}
	return err;
}

/* Return whether the command used CPU time that its clock did not count. */
static bool has_unseen_time(const struct stat_run *run, double counted_s)
{
	double used_s = run->command.user_s + run->command.system_s;
	double at_ends_s = (double)run->command.n_switches * UNSEEN_S_PER_SWITCH;
	return counted_s < used_s * (1 - UNSEEN_SHARE) - UNSEEN_S - at_ends_s;
}

/* Find out whether the kernel stopped to count a part of the command, and note it in all rows. */
static struct vmop_error *check_unseen(struct stat_run *run)
{
	struct vmop_stat_count clock;
	if (!run->clock)
		return NULL;
	struct vmop_error *err = vmop_stat_counts_read(run->clock, &clock);
	if (err)
		return err;
	bool has_clock = !vmop_stat_counts_reason(run->clock, 0);
	if (!vmop_stat_command_changes_rights(run->settings->command[0]) &&
	    !(has_clock && has_unseen_time(run, clock.value / 1e9)))
		return NULL;
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
		err = vmop_stat_command_prepare(settings->command, &run->old_signals,
						&run->command);
	if (!err)
		err = open_counts(run);
	if (!err)
		err = make_rows(run);
	if (!err && (settings->is_all || settings->pid))
		err = vmop_stat_counts_start(run->counts);
	if (!err)
		err = begin_io(run);
	if (err)
		return err;
	memset(run->before, 0, run->n * sizeof(*run->before));
	run->begin_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	run->is_over = false;
	if (settings->command)
		err = vmop_stat_command_go(&run->command, settings->command[0]);
	if (!err)
		err = count(run);
	double elapsed_s = (double)(vmop_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / 1e9;
	if (err || settings->interval_ms)
		return err;
	err = vmop_stat_counts_read(run->counts, run->now);
	if (!err)
		err = add_values(run, elapsed_s, false);
	if (!err)
		err = add_io(run, elapsed_s, false);
	if (!err)
		err = check_unseen(run);
	vmop_spread_add(&run->times.elapsed_s, elapsed_s);
	run->times.user_s = settings->pid || settings->is_all ? -1 : run->command.user_s;
	run->times.system_s = run->command.system_s;
	return err;
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
	vmop_stat_counts_close(run->clock);
	run->counts = run->clock = NULL;
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
	vmop_stat_write_times(&run->writer, &run->times);
	struct vmop_error *err = print_io(run);
	return err ? err : flush(run);
}

static struct vmop_error *run_all(struct stat_run *run, int *ret_status)
{
	const struct vmop_stat_settings *settings = run->settings;
	_cleanup_free_ char *what = NULL;
	struct vmop_error *err = take_signals(run);
	if (settings->pid ? asprintf(&what, "process %d", (int)settings->pid) < 0
			  : asprintf(&what, settings->is_all ? "%s" : "'%s'",
				     settings->is_all ? "all CPUs" : settings->command[0]) < 0)
		what = NULL;
	if (!err && !what)
		err = &vmop_error_no_memory;
	if (!err)
		vmop_stat_write_heading(&run->writer);
	for (uint64_t i = 0; !err && i < settings->n_runs; i++) {
		err = run_once(run);
		if (!err && settings->command)
			*ret_status = vmop_stat_command_exit_status(&run->command);
		end_run(run);
	}
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
		.out = stderr,
		.has_intervals = settings->interval_ms != 0,
	};
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
			.settings = &settings, .signal_fd = -1, .pid_fd = -1};
		err = open_output(&settings, &run.writer);
		if (!err)
			err = run_all(&run, &status);
		if (run.writer.out && run.writer.out != stderr && fclose(run.writer.out) != 0)
			err = vmop_error_first(err, vmop_error_os(errno, "%s", settings.output));
	}
	vmop_stat_settings_deinit(&settings);
	if (err) {
		status = vmop_error_exit_status(err);
		vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	}
	return status;
}
