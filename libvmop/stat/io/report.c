// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/appio-calls.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/json.h"

#define MAX_TABLE_ROWS 12

static const char *const sum_names[VMOP_STAT_IO_N_SUMS] = {
	"reads", "writes", "seeks", "selects, polls", "opens", "closes", "io_uring enters",
};

static const char *const by_names[] = {"kind", "process", "thread", "descriptor", "call"};

static const char *const kind_names[VMOP_APPIO_N_KINDS] = {
	"none", "file", "pipe", "socket", "tty", "device", "other", "other",
};

static const char *kind_name(const struct vmop_appio_key *key)
{
	return kind_names[key->kind % VMOP_APPIO_N_KINDS];
}

static const char *direction_name(const struct vmop_appio_key *key)
{
	if (vmop_stat_io_sum_of(key) > VMOP_STAT_IO_WRITES)
		return "";
	return key->direction == VMOP_APPIO_OUT ? "write" : "read";
}

static const char *call_name(const struct vmop_appio_key *key)
{
	const struct vmop_appio_call *call = vmop_appio_call(key->call);
	return call ? call->name : "?";
}

static uint64_t block_size(const struct vmop_appio_counts *counts)
{
	uint64_t failed = counts->errors + counts->interrupted + counts->would_block;
	return counts->calls > failed ? counts->bytes / (counts->calls - failed) : 0;
}

void vmop_stat_io_fit(uint64_t value, int width, char ret[24])
{
	static const char units[] = "kMGTPE";
	double scaled = (double)value;
	size_t unit = 0;
	if (snprintf(ret, 24, "%" PRIu64, value) <= width)
		return;
	for (scaled /= 1000; scaled >= 999.5 && unit + 2 < sizeof(units); unit++)
		scaled /= 1000;
	/* One more digit than fits is not printed: a unit takes a column, a point too. */
	int decimals = width - 2 - snprintf(NULL, 0, "%.0f", scaled);
	snprintf(ret, 24, "%.*f%c", decimals > 0 ? (decimals < 3 ? decimals : 3) : 0, scaled,
		 units[unit]);
}

static void print_fit(FILE *out, uint64_t value, int width)
{
	char text[24];
	vmop_stat_io_fit(value, width, text);
	fprintf(out, " %*s", width, text);
}

static void print_ms(FILE *out, uint64_t time_ns, int width)
{
	if (time_ns < UINT64_C(10000000000))
		fprintf(out, " %*.3f", width, (double)time_ns / 1e6);
	else
		print_fit(out, time_ns / 1000000, width);
}

/* ---- the sums ----------------------------------------------------------------------------- */

static void print_sum(FILE *out, const char *name, const struct vmop_appio_counts *counts,
		      bool has_bytes, bool has_times)
{
	fprintf(out, " %-16s", name);
	print_fit(out, counts->calls, 9);
	if (has_bytes) {
		print_fit(out, counts->bytes, 12);
		print_fit(out, block_size(counts), 7);
		print_fit(out, counts->shorts, 6);
	} else {
		fprintf(out, " %12s %7s %6s", "", "", "");
	}
	print_fit(out, counts->ends, 5);
	if (has_times) {
		print_ms(out, counts->time_ns, 10);
	} else {
		print_fit(out, counts->would_block, 5);
		print_fit(out, counts->interrupted, 4);
	}
	print_fit(out, counts->errors, 5);
	fputc('\n', out);
}

/* Times take the place of two columns: print these below, if they have something. */
static void print_waits(FILE *out, const struct vmop_stat_io_totals *totals)
{
	for (size_t i = 0; i < VMOP_STAT_IO_N_SUMS; i++) {
		const struct vmop_appio_counts *counts = &totals->sums[i];
		if (counts->would_block || counts->interrupted)
			fprintf(out,
				" %-16s %9" PRIu64 " would have blocked, %" PRIu64
				" were interrupted\n",
				sum_names[i], counts->would_block, counts->interrupted);
	}
}

void vmop_stat_io_report_sums(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			      double elapsed_s)
{
	FILE *out = writer->out;
	const struct vmop_stat_io_totals *totals = &io->totals;
	bool has_times = io->settings->has_times;
	if (io->facts.no_counts) {
		fprintf(out, " application I/O: n/a\n");
		return;
	}
	fprintf(out, " %-16s %9s %12s %7s %6s %5s%s %5s\n", "application I/O", "calls", "bytes",
		"block", "short", "eof", has_times ? "         ms" : " again intr", "error");
	for (size_t i = 0; i < VMOP_STAT_IO_N_SUMS; i++) {
		if (i <= VMOP_STAT_IO_WRITES || totals->sums[i].calls)
			print_sum(out, sum_names[i], &totals->sums[i], i <= VMOP_STAT_IO_WRITES,
				  has_times);
	}
	if (has_times)
		print_waits(out, totals);
	const struct vmop_appio_counts *reads = &totals->sums[VMOP_STAT_IO_READS];
	const struct vmop_appio_counts *writes = &totals->sums[VMOP_STAT_IO_WRITES];
	if (elapsed_s > 0)
		fprintf(out, "\n %.3f MB/s read, %.3f MB/s written",
			(double)reads->bytes / elapsed_s / 1e6,
			(double)writes->bytes / elapsed_s / 1e6);
	if (!io->facts.no_open_peak)
		fprintf(out, "; at most %" PRIu32 " descriptors open", totals->open_peak);
	fputc('\n', out);
	if (io->facts.no_faults)
		return;
	fprintf(out, " %" PRIu64 " page faults in mapped files", totals->file_faults);
	if (!io->facts.no_major_faults)
		fprintf(out, ", %" PRIu64 " of them waited for the disk", totals->major_faults);
	fputc('\n', out);
}

/* ---- the parts ---------------------------------------------------------------------------- */

static void print_text(FILE *out, const char *text)
{
	vmop_escape_print(text, strlen(text), vmop_escape_locale(), out);
}

/* Name a part: into ret, escaped. */
static void label(const struct vmop_stat_io *io, enum vmop_stat_io_by by,
		  const struct vmop_stat_io_item *item, char *ret, size_t size_bytes)
{
	const struct vmop_appio_key *key = &item->key;
	const struct vmop_appio_task *task = vmop_stat_io_account_task(&io->account, key->task);
	char name[VMOP_APPIO_NAME_BYTES * 4] = "", task_name[64] = "";
	vmop_escape_into(name, sizeof(name), item->entry.name, vmop_escape_locale());
	if (task)
		vmop_escape_into(task_name, sizeof(task_name), task->name, vmop_escape_locale());
	if (by == VMOP_STAT_IO_BY_KIND)
		snprintf(ret, size_bytes, "%s", kind_name(key));
	else if (by == VMOP_STAT_IO_BY_CALL)
		snprintf(ret, size_bytes, "%s", call_name(key));
	else if (!task)
		snprintf(ret, size_bytes, "left out");
	else if (by == VMOP_STAT_IO_BY_PROCESS)
		snprintf(ret, size_bytes, "%" PRIu32 " %s", task->pid, task_name);
	else if (by == VMOP_STAT_IO_BY_THREAD)
		snprintf(ret, size_bytes, "%" PRIu32 " %s", task->tid, task_name);
	else if (vmop_appio_call(key->call) &&
		 vmop_appio_call(key->call)->class == VMOP_APPIO_COMPLETE)
		snprintf(ret, size_bytes, "%" PRIu32 " io_uring %s %s", task->pid, kind_name(key),
			 name);
	else
		snprintf(ret, size_bytes, "%" PRIu32 ":%" PRId32 " %s %s", task->pid, key->fd,
			 kind_name(key), name);
}

static void print_part(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
		       enum vmop_stat_io_by by, const struct vmop_stat_io_item *item)
{
	FILE *out = writer->out;
	char text[256];
	bool has_times = io->settings->has_times;
	int width = has_times ? 29 : 33;
	label(io, by, item, text, sizeof(text));
	fprintf(out, " %-*.*s %-5s", width, width, text, direction_name(&item->key));
	print_fit(out, item->entry.counts.calls, 9);
	print_fit(out, item->entry.counts.bytes, 12);
	print_fit(out, block_size(&item->entry.counts), 7);
	if (has_times)
		print_ms(out, item->entry.counts.time_ns, 10);
	else
		print_fit(out, item->entry.counts.errors, 6);
	fputc('\n', out);
}

static void print_table(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			enum vmop_stat_io_by by, const struct vmop_stat_io_item *items, size_t n)
{
	bool has_times = io->settings->has_times;
	char title[32];
	bool is_one = n == 1 || (n == 2 && items[0].key.direction != items[1].key.direction);
	/* One process, and one thread, is the sums. */
	if (!n || (is_one && (by == VMOP_STAT_IO_BY_PROCESS || by == VMOP_STAT_IO_BY_THREAD)))
		return;
	snprintf(title, sizeof(title), "by %s", by_names[by]);
	fprintf(writer->out, "\n %-*s %-5s %9s %12s %7s %*s\n", has_times ? 29 : 33, title, "",
		"calls", "bytes", "block", has_times ? 10 : 6, has_times ? "ms" : "errors");
	for (size_t i = 0; i < n && i < MAX_TABLE_ROWS; i++)
		print_part(writer, io, by, &items[i]);
	if (n > MAX_TABLE_ROWS)
		fprintf(writer->out, " and %zu more (--json has all)\n", n - MAX_TABLE_ROWS);
}

static void print_fields(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			 enum vmop_stat_io_by by, const struct vmop_stat_io_item *item)
{
	FILE *out = writer->out;
	const char *x = writer->separator;
	const struct vmop_appio_counts *counts = &item->entry.counts;
	const struct vmop_appio_task *task =
		vmop_stat_io_account_task(&io->account, item->key.task);
	const uint64_t values[] = {counts->calls,	counts->bytes,	counts->errors,
				   counts->shorts,	counts->ends,	counts->interrupted,
				   counts->would_block, counts->time_ns};
	fprintf(out, "io-%s%s%s", by_names[by], x, direction_name(&item->key));
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		fprintf(out, "%s%" PRIu64, x, values[i]);
	fprintf(out, "%s%" PRIu32 "%s%" PRIu32 "%s%" PRId32 "%s%s%s%s%s", x, task ? task->pid : 0,
		x, task ? task->tid : 0, x, item->key.fd, x, kind_name(&item->key), x,
		call_name(&item->key), x);
	print_text(out, by == VMOP_STAT_IO_BY_DESCRIPTOR ? item->entry.name
			: task				 ? task->name
							 : "");
	fputc('\n', out);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_integer((json_int_t)value));
}

static void set_part(json_t *object, const struct vmop_stat_io *io, enum vmop_stat_io_by by,
		     const struct vmop_stat_io_item *item)
{
	const struct vmop_appio_task *task =
		vmop_stat_io_account_task(&io->account, item->key.task);
	set(object, "io", json_string(by_names[by]));
	if (by == VMOP_STAT_IO_BY_CALL)
		set(object, "call", json_string(call_name(&item->key)));
	if (by == VMOP_STAT_IO_BY_KIND || by == VMOP_STAT_IO_BY_DESCRIPTOR)
		set(object, "kind", json_string(kind_name(&item->key)));
	if (by == VMOP_STAT_IO_BY_PROCESS || by == VMOP_STAT_IO_BY_THREAD ||
	    by == VMOP_STAT_IO_BY_DESCRIPTOR) {
		set(object, "pid", task ? json_integer(task->pid) : json_null());
		set(object, "command", task ? vmop_json_text(task->name) : json_null());
	}
	if (by == VMOP_STAT_IO_BY_THREAD)
		set(object, "tid", task ? json_integer(task->tid) : json_null());
	if (by == VMOP_STAT_IO_BY_DESCRIPTOR) {
		set(object, "descriptor",
		    item->key.fd >= 0 ? json_integer(item->key.fd) : json_null());
		set(object, "inode", json_integer((json_int_t)item->key.inode));
		set(object, "name", vmop_json_text(item->entry.name));
	}
	if (*direction_name(&item->key))
		set(object, "direction", json_string(direction_name(&item->key)));
}

static void print_json(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
		       enum vmop_stat_io_by by, const struct vmop_stat_io_item *item)
{
	const struct vmop_appio_counts *counts = &item->entry.counts;
	json_t *object = json_object();
	set_part(object, io, by, item);
	set_count(object, "calls", counts->calls);
	set_count(object, "bytes", counts->bytes);
	set_count(object, "errors", counts->errors);
	set_count(object, "short", counts->shorts);
	set_count(object, "eof", counts->ends);
	set_count(object, "interrupted", counts->interrupted);
	set_count(object, "would-block", counts->would_block);
	if (io->settings->has_times)
		set_count(object, "time-ns", counts->time_ns);
	vmop_error_destroy(vmop_json_print(object, JSON_COMPACT, writer->out));
	json_decref(object);
}

struct vmop_error *vmop_stat_io_report_parts(const struct vmop_stat_writer *writer,
					     struct vmop_stat_io *io)
{
	for (enum vmop_stat_io_by by = 0; by <= VMOP_STAT_IO_BY_CALL; by++) {
		_cleanup_free_ struct vmop_stat_io_item *items = NULL;
		size_t n;
		struct vmop_error *err = vmop_stat_io_account_group(&io->account, by, &items, &n);
		if (err)
			return err;
		if (writer->format == VMOP_STAT_TABLE) {
			print_table(writer, io, by, items, n);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			(writer->format == VMOP_STAT_JSON ? print_json : print_fields)(
				writer, io, by, &items[i]);
	}
	return NULL;
}

/* ---- the facts ---------------------------------------------------------------------------- */

struct fact {
	const char *key, *text;
	uint64_t value;
};

#define N_FACTS 9

static void list_facts(const struct vmop_appio_facts *facts, struct fact ret[N_FACTS])
{
	const struct fact list[N_FACTS] = {
		{"left-out", "calls are in the sums, but have no thread and descriptor",
		 facts->n_left_out},
		{"restarted", "calls were restarted after a signal, and are counted once",
		 facts->n_restarts},
		{"end-unknown", "interrupted calls are not counted: their end is not known",
		 facts->n_unsure},
		{"vectors-unread",
		 "vectors could not be read: their bytes or shortness are missing",
		 facts->n_unread},
		{"other-abi", "system calls of the x32 ABI are not counted", facts->n_foreign},
		{"threads-lost", "threads are not counted: the kernel had no memory for them",
		 facts->n_lost_tasks},
		{"missed", "events are not counted: the kernel did not run the program",
		 facts->n_missed},
		{"faults-unseen", "page faults are not counted: the mappings were being changed",
		 facts->n_unseen_faults},
		{"programs-unseen", "programs were executed that do not load the library",
		 facts->n_unseen_programs},
	};
	memcpy(ret, list, sizeof(list));
}

static void facts_json(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
		       const struct fact *facts)
{
	json_t *object = json_object();
	bool is_bpf = io->way == VMOP_STAT_IO_BPF;
	set(object, "io", json_string("facts"));
	set(object, "way", json_string(is_bpf ? "bpf" : "preload"));
	set(object, "not-bpf", io->no_bpf ? vmop_json_text(io->no_bpf) : json_null());
	set(object, "others-ns", json_real(io->others_ns));
	set(object, "others-io-ns", json_real(io->others_io_ns));
	set_count(object, "threads", io->facts.n_tasks);
	for (size_t i = 0; i < N_FACTS; i++)
		set_count(object, facts[i].key, facts[i].value);
	set(object, "no-counts",
	    io->facts.no_counts ? json_string(io->facts.no_counts) : json_null());
	set(object, "no-faults",
	    io->facts.no_faults ? json_string(io->facts.no_faults) : json_null());
	set(object, "no-io-uring",
	    io->facts.no_uring ? json_string(io->facts.no_uring) : json_null());
	vmop_error_destroy(vmop_json_print(object, JSON_COMPACT, writer->out));
	json_decref(object);
}

static void facts_fields(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			 const struct fact *facts)
{
	const char *x = writer->separator;
	fprintf(writer->out, "io-way%s%s%s%.1f%s%.1f\n", x,
		io->way == VMOP_STAT_IO_BPF ? "bpf" : "preload", x, io->others_ns, x,
		io->others_io_ns);
	for (size_t i = 0; i < N_FACTS; i++)
		fprintf(writer->out, "io-%s%s%" PRIu64 "\n", facts[i].key, x, facts[i].value);
}

static void facts_table(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			const struct fact *facts)
{
	FILE *out = writer->out;
	if (io->way == VMOP_STAT_IO_BPF) {
		fprintf(out,
			"\n Counted in the kernel, by BPF: exact. Meanwhile every other process "
			"pays\n"
			" about %.0f ns for a system call, %.0f ns for one of I/O.\n",
			io->others_ns, io->others_io_ns);
	} else {
		fputs("\n Counted by a preloaded library. Unseen: static programs, set-user-ID\n"
		      " programs, direct system calls, and the C library's own calls (stdio).\n"
		      " Other processes pay nothing.\n",
		      out);
		if (io->no_bpf) {
			fputs(" Not by BPF: ", out);
			print_text(out, io->no_bpf);
			fputc('\n', out);
		}
	}
	if (io->facts.no_counts)
		fprintf(out, " Nothing was counted:\n %s\n", io->facts.no_counts);
	for (size_t i = 0; i < N_FACTS; i++) {
		if (facts[i].value)
			fprintf(out, " %" PRIu64 " %s\n", facts[i].value, facts[i].text);
	}
	if (io->facts.no_faults)
		fprintf(out, " Page faults in mapped files are not counted:\n %s\n",
			io->facts.no_faults);
	if (io->facts.no_uring && io->totals.sums[VMOP_STAT_IO_URINGS].calls)
		fprintf(out, " Requests of io_uring are not counted:\n %s\n", io->facts.no_uring);
}

void vmop_stat_io_report_facts(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io)
{
	struct fact facts[N_FACTS];
	list_facts(&io->facts, facts);
	switch (writer->format) {
	case VMOP_STAT_TABLE:
		facts_table(writer, io, facts);
		break;
	case VMOP_STAT_FIELDS:
		facts_fields(writer, io, facts);
		break;
	case VMOP_STAT_JSON:
		facts_json(writer, io, facts);
		break;
	}
}
