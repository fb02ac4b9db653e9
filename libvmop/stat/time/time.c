// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/time/time.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"

#define TICK_NS (500 * VMOP_NS_PER_MS)
/* The records of ended tasks are collected so often. */
#define TICKS_PER_READ 4

static const char *const names[VMOP_STAT_N_TIMES] = {
	[VMOP_STAT_REAL] = "real-time",	    [VMOP_STAT_VIRTUAL] = "virtual-time",
	[VMOP_STAT_USER] = "user-time",	    [VMOP_STAT_SYSTEM] = "system-time",
	[VMOP_STAT_STOLEN] = "stolen-time", [VMOP_STAT_UNSTOLEN] = "virtual-without-steal",
};

/* This program itself was stopped and continued: job control. */
static volatile sig_atomic_t was_continued;

static void note_continued(int signo)
{
	(void)signo;
	was_continued = 1;
}

/* ---- open and close ------------------------------------------------------------------------- */

struct vmop_error *vmop_stat_time_open(struct vmop_stat_time *time, pid_t pid)
{
	const struct vmop_times_options options = {
		.size = sizeof(options),
		.scope = pid ? VMOP_SCOPE_PROCESS : VMOP_SCOPE_ALL,
		.id = pid,
	};
	const struct sigaction action = {.sa_handler = note_continued, .sa_flags = SA_RESTART};
	sigaction(SIGCONT, &action, NULL);
	for (size_t i = 0; i < VMOP_STAT_N_TIMES; i++) {
		time->rows[i].name = names[i];
		time->rows[i].is_time = true;
	}
	time->before = (struct vmop_time){0};
	time->has_accounts = false;
	time->until_ns = time->stopped_ns = 0;
	return vmop_times_open(&options, &time->times);
}

void vmop_stat_time_close(struct vmop_stat_time *time)
{
	vmop_times_close(time->times);
	time->times = NULL;
}

static void free_texts(struct vmop_stat_row *row)
{
	free((char *)row->reason);
	free((char *)row->note);
	row->reason = row->note = NULL;
}

void vmop_stat_time_deinit(struct vmop_stat_time *time)
{
	vmop_stat_time_close(time);
	for (size_t i = 0; i < VMOP_STAT_N_TIMES; i++)
		free_texts(&time->rows[i]);
	vmop_stat_tasks_deinit(&time->tasks);
}

/* ---- stops of the machine ------------------------------------------------------------------- */

uint64_t vmop_stat_time_next(struct vmop_stat_time *time, uint64_t until_ns)
{
	if (!time->times)
		return until_ns;
	if (!time->has_accounts) /* the first wait of a run */
		time->has_accounts = vmop_stat_accounts_read(&time->accounts);
	uint64_t tick_ns = vmop_clock_ns(CLOCK_MONOTONIC) + TICK_NS;
	time->until_ns = until_ns && until_ns < tick_ns ? until_ns : tick_ns;
	return time->until_ns;
}

struct vmop_error *vmop_stat_time_tick(struct vmop_stat_time *time)
{
	if (!time->times)
		return NULL;
	struct vmop_stat_accounts accounts;
	bool is_read = vmop_stat_accounts_read(&accounts);
	if (is_read && time->has_accounts && !was_continued)
		time->stopped_ns += vmop_stat_stop_between(
			&time->accounts, &accounts,
			vmop_clock_between_ns(time->until_ns, accounts.now_ns));
	was_continued = 0;
	time->has_accounts = is_read;
	if (is_read)
		time->accounts = accounts;
	struct vmop_time unused;
	return ++time->n_ticks % TICKS_PER_READ ? NULL : vmop_times_read(time->times, &unused);
}

/* ---- values --------------------------------------------------------------------------------- */

static struct vmop_time subtract(const struct vmop_time *from, const struct vmop_time *to)
{
	struct vmop_time ret = *to;
	ret.real_ns = vmop_clock_between_ns(from->real_ns, to->real_ns);
	ret.virtual_ns = vmop_clock_between_ns(from->virtual_ns, to->virtual_ns);
	ret.user_ns = vmop_clock_between_ns(from->user_ns, to->user_ns);
	ret.system_ns = vmop_clock_between_ns(from->system_ns, to->system_ns);
	ret.stolen_ns = vmop_clock_between_ns(from->stolen_ns, to->stolen_ns);
	ret.unstolen_ns = vmop_clock_between_ns(from->unstolen_ns, to->unstolen_ns);
	return ret;
}

/*
 * Use the CPU time that wait4(2) returned, where a counter is the only other source: the counter
 * ends where a program with other rights is executed.
 */
static void use_command_times(struct vmop_time *now, double user_s, double system_s)
{
	uint64_t user_ns = (uint64_t)(user_s * 1e9), system_ns = (uint64_t)(system_s * 1e9);
	uint64_t virtual_ns = user_ns + system_ns;
	now->flags &= ~(uint32_t)VMOP_TIME_NO_SPLIT;
	now->user_ns = user_ns;
	now->system_ns = system_ns;
	if (virtual_ns <= now->virtual_ns)
		return;
	if (now->virtual_ns) {
		double scale = (double)virtual_ns / (double)now->virtual_ns;
		now->stolen_ns = (uint64_t)((double)now->stolen_ns * scale);
		now->unstolen_ns = virtual_ns - now->stolen_ns;
	} else {
		now->flags |= VMOP_TIME_NO_STOLEN | VMOP_TIME_NO_UNSTOLEN;
	}
	now->virtual_ns = virtual_ns;
}

static struct vmop_error *set_text(const char **at, const char *text)
{
	free((char *)*at);
	*at = text ? strdup(text) : NULL;
	return text && !*at ? &vmop_error_no_memory : NULL;
}

/* Why a row has no value. NULL: it has one. */
static const char *reason_of(const struct vmop_stat_time *time, size_t row, uint32_t flags,
			     const char *stop)
{
	static const uint32_t unknown[VMOP_STAT_N_TIMES] = {
		[VMOP_STAT_USER] = VMOP_TIME_NO_SPLIT,
		[VMOP_STAT_SYSTEM] = VMOP_TIME_NO_SPLIT,
		[VMOP_STAT_STOLEN] = VMOP_TIME_NO_STOLEN,
		[VMOP_STAT_UNSTOLEN] = VMOP_TIME_NO_UNSTOLEN,
	};
	const char *reason = vmop_times_reason(time->times);
	if (row == VMOP_STAT_REAL)
		return NULL;
	if (*stop)
		return stop;
	if (!(flags & (unknown[row] | VMOP_TIME_INCOMPLETE)))
		return NULL;
	return reason ? reason : "not known";
}

static const char *note_of(const struct vmop_stat_time *time, size_t row, uint32_t flags)
{
	if (row == VMOP_STAT_VIRTUAL && flags & VMOP_TIME_SUBTRACTED)
		return "this kernel takes stolen time out of it";
	if (row < VMOP_STAT_STOLEN || !(flags & VMOP_TIME_ESTIMATE))
		return NULL;
	return vmop_times_reason(time->times);
}

static struct vmop_error *set_rows(struct vmop_stat_time *time, const struct vmop_time *now,
				   bool is_interval)
{
	const uint64_t values_ns[VMOP_STAT_N_TIMES] = {
		now->real_ns,	now->virtual_ns, now->user_ns,
		now->system_ns, now->stolen_ns,	 now->unstolen_ns,
	};
	char stop[96] = "";
	struct vmop_error *err = NULL;
	if (time->stopped_ns)
		snprintf(stop, sizeof(stop), "the machine stood still for %.1f s, or was suspended",
			 (double)time->stopped_ns / 1e9);
	for (size_t i = 0; !err && i < VMOP_STAT_N_TIMES; i++) {
		struct vmop_stat_row *row = &time->rows[i];
		if (is_interval) {
			free_texts(row);
			row->values = (struct vmop_spread){0};
		}
		vmop_spread_add(&row->values, (double)values_ns[i]);
		row->running_ns = row->enabled_ns = (double)now->real_ns;
		const char *note = note_of(time, i, now->flags);
		row->is_estimate = i >= VMOP_STAT_STOLEN && note;
		if (!row->reason)
			err = set_text(&row->reason, reason_of(time, i, now->flags, stop));
		if (!err)
			err = set_text(&row->note, note);
	}
	if (!err && !is_interval)
		err = vmop_stat_tasks_take(&time->tasks, time->times, *stop ? stop : NULL);
	time->stopped_ns = 0;
	return err;
}

struct vmop_error *vmop_stat_time_take(struct vmop_stat_time *time, bool is_interval, double user_s,
				       double system_s)
{
	struct vmop_time now;
	if (!time->times)
		return NULL;
	struct vmop_error *err = vmop_times_read(time->times, &now);
	if (err)
		return err;
	if (now.flags & VMOP_TIME_NO_SPLIT && user_s >= 0)
		use_command_times(&now, user_s, system_s);
	struct vmop_time since = subtract(&time->before, &now);
	time->before = now;
	return set_rows(time, &since, is_interval);
}

/* ---- output --------------------------------------------------------------------------------- */

void vmop_stat_time_write(const struct vmop_stat_time *time, const struct vmop_stat_writer *writer,
			  double time_s)
{
	for (size_t i = 0; i < VMOP_STAT_N_TIMES && time->rows[i].name; i++)
		vmop_stat_write_row(writer, &time->rows[i], time_s);
}

void vmop_stat_time_write_tasks(const struct vmop_stat_time *time,
				const struct vmop_stat_writer *writer)
{
	vmop_stat_tasks_write(&time->tasks, writer);
}
