// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/time/task-rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/escape.h"
#include "libutil/json.h"

/* The table has the processes and threads with the most CPU time. */
#define TABLE_ROWS 20

void vmop_stat_tasks_deinit(struct vmop_stat_tasks *tasks)
{
	free(tasks->rows);
	*tasks = (struct vmop_stat_tasks){0};
}

static struct vmop_stat_task *add_row(struct vmop_stat_tasks *tasks)
{
	if (!vmop_array_reserve(tasks->rows, tasks->capacity, tasks->n + 1))
		return NULL;
	tasks->rows[tasks->n] = (struct vmop_stat_task){0};
	return &tasks->rows[tasks->n++];
}

static void add_time(struct vmop_time *to, const struct vmop_time *from)
{
	to->virtual_ns += from->virtual_ns;
	to->user_ns += from->user_ns;
	to->system_ns += from->system_ns;
	to->stolen_ns += from->stolen_ns;
	to->unstolen_ns += from->unstolen_ns;
	to->flags |= from->flags;
}

/* Add a thread to its process, which has the name of its first thread. */
static void add_thread(struct vmop_stat_task *process, const struct vmop_task_time *thread)
{
	if (!process->n_threads) {
		process->task = *thread;
		process->task.time = (struct vmop_time){0};
		process->task.tid = 0;
	}
	process->task.is_over &= thread->is_over;
	add_time(&process->task.time, &thread->time);
	process->n_threads++;
}

struct vmop_error *vmop_stat_tasks_take(struct vmop_stat_tasks *tasks,
					const struct vmop_times *times, const char *without)
{
	struct vmop_task_time task;
	size_t process = 0;
	tasks->n = 0;
	for (size_t i = 0; !without && vmop_times_task(times, i, &task) == 0; i++) {
		if (!tasks->n || tasks->rows[process].task.pid != task.pid) {
			process = tasks->n;
			if (!add_row(tasks))
				return &vmop_error_no_memory;
		}
		struct vmop_stat_task *thread = add_row(tasks);
		if (!thread)
			return &vmop_error_no_memory;
		thread->task = task;
		thread->n_threads = 1;
		add_thread(&tasks->rows[process], &task);
	}
	return NULL;
}

/* ---- output --------------------------------------------------------------------------------- */

enum { N_COLUMNS = 5 };

static const char *const events[N_COLUMNS] = {"virtual-time", "user-time", "system-time",
					      "stolen-time", "virtual-without-steal"};

/* Set the values of the columns in ms. Returns a bit for each that is known. */
static unsigned values_of(const struct vmop_time *time, double ret[N_COLUMNS])
{
	const uint64_t ns[N_COLUMNS] = {time->virtual_ns, time->user_ns, time->system_ns,
					time->stolen_ns, time->unstolen_ns};
	for (size_t i = 0; i < N_COLUMNS; i++)
		ret[i] = (double)ns[i] / 1e6;
	unsigned ret_known = 7;
	if (!(time->flags & VMOP_TIME_NO_STOLEN))
		ret_known |= 8;
	if (!(time->flags & VMOP_TIME_NO_UNSTOLEN))
		ret_known |= 16;
	return ret_known;
}

static int by_virtual(const void *a, const void *b)
{
	const struct vmop_stat_task *x = *(const struct vmop_stat_task *const *)a;
	const struct vmop_stat_task *y = *(const struct vmop_stat_task *const *)b;
	uint64_t x_ns = x->task.time.virtual_ns, y_ns = y->task.time.virtual_ns;
	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	return (x > y) - (x < y); /* a process before its threads */
}

/* Is it a thread that is all of its process, which has a row already? */
static bool is_repeated(const struct vmop_stat_task *row)
{
	return row->task.tid && row->task.tid == row->task.pid && row[-1].n_threads == 1 &&
	       !row[-1].task.tid;
}

static void write_table_row(const struct vmop_stat_writer *writer, const struct vmop_stat_task *row)
{
	double values[N_COLUMNS];
	unsigned known = values_of(&row->task.time, values);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (known >> i & 1)
			fprintf(writer->out, "%13.2f", values[i]);
		else
			fprintf(writer->out, "%13s", "n/a");
	}
	if (row->task.tid)
		fprintf(writer->out, "%9s  %d/%d ", "", row->task.pid, row->task.tid);
	else
		fprintf(writer->out, "%9zu  %d ", row->n_threads, row->task.pid);
	vmop_escape_print(row->task.name, strlen(row->task.name), vmop_escape_locale(),
			  writer->out);
	fputc('\n', writer->out);
}

static void write_table(const struct vmop_stat_tasks *tasks, const struct vmop_stat_writer *writer)
{
	const struct vmop_stat_task **sorted = calloc(tasks->n, sizeof(*sorted));
	size_t n = 0;
	if (!sorted)
		return;
	for (size_t i = 0; i < tasks->n; i++)
		if (!is_repeated(&tasks->rows[i]))
			sorted[n++] = &tasks->rows[i];
	qsort(sorted, n, sizeof(*sorted), by_virtual);
	fprintf(writer->out, "\n%13s%13s%13s%13s%13s%9s  %s\n", "virtual ms", "user ms",
		"system ms", "stolen ms", "no steal ms", "threads", "process or thread");
	for (size_t i = 0; i < n && i < TABLE_ROWS; i++)
		write_table_row(writer, sorted[i]);
	if (n > TABLE_ROWS)
		fprintf(writer->out, "%75s %zu more, which -x and --json have\n", "",
			n - TABLE_ROWS);
	free(sorted);
}

/* A line for each value: "virtual-time:PID:TID", or without TID for a process. */
static void write_fields(const struct vmop_stat_task *row, const struct vmop_stat_writer *writer)
{
	const char *x = writer->separator;
	double values[N_COLUMNS];
	unsigned known = values_of(&row->task.time, values);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (known >> i & 1)
			fprintf(writer->out, "%.6f%smsec%s%s:%d", values[i], x, x, events[i],
				row->task.pid);
		else
			fprintf(writer->out, "<not counted>%s%s%s:%d", x, x, events[i],
				row->task.pid);
		if (row->task.tid)
			fprintf(writer->out, ":%d", row->task.tid);
		fprintf(writer->out, "%s%s%s%s\n", x, x, x, x);
	}
}

static void write_json(const struct vmop_stat_task *row, const struct vmop_stat_writer *writer)
{
	double values[N_COLUMNS];
	unsigned known = values_of(&row->task.time, values);
	json_t *object = json_object();
	json_object_set_new(object, "pid", json_integer(row->task.pid));
	json_object_set_new(object, "tid",
			    row->task.tid ? json_integer(row->task.tid) : json_null());
	json_object_set_new(object, "name", vmop_json_text(row->task.name));
	json_object_set_new(object, "threads", json_integer((json_int_t)row->n_threads));
	json_object_set_new(object, "ended", json_boolean(row->task.is_over));
	for (size_t i = 0; i < N_COLUMNS; i++) {
		char key[40];
		snprintf(key, sizeof(key), "%s-msec", events[i]);
		json_object_set_new(object, key,
				    known >> i & 1 ? json_real(values[i]) : json_null());
	}
	vmop_error_destroy(vmop_json_print(object, JSON_COMPACT, writer->out));
	json_decref(object);
}

void vmop_stat_tasks_write(const struct vmop_stat_tasks *tasks,
			   const struct vmop_stat_writer *writer)
{
	if (!tasks->n)
		return;
	if (writer->format == VMOP_STAT_TABLE) {
		write_table(tasks, writer);
		return;
	}
	for (size_t i = 0; i < tasks->n; i++) {
		if (writer->format == VMOP_STAT_JSON)
			write_json(&tasks->rows[i], writer);
		else
			write_fields(&tasks->rows[i], writer);
	}
}
