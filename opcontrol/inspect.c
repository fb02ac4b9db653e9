// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/inspect.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/json.h"
#include "libutil/parse.h"
#include "libutil/plural.h"
#include "libutil/protocol.h"
#include "opcontrol/daemon.h"
#include "opcontrol/show.h"

/* More pages than vmopd can fill for any guest. */
#define PAGES_MAX 100000

struct vmop_error *control_inspect_ask(const char *domain, json_t **ret)
{
	_cleanup_(vmop_json_cleanup) json_t *all = NULL;
	json_int_t from = 0;
	for (unsigned page = 0; page < PAGES_MAX; page++) {
		json_t *request = vmop_protocol_request("inspect"), *reply;
		json_object_set_new(request, "domain", vmop_json_text(domain));
		json_object_set_new(request, "from", json_integer(from));
		struct vmop_error *err = control_daemon_ask(request, &reply);
		if (err)
			return err;
		const json_t *next = json_object_get(reply, "next");
		bool is_last = !json_is_integer(next) || json_integer_value(next) <= from;
		from = json_integer_value(next);
		if (!all) {
			all = reply;
		} else {
			json_array_extend(json_object_get(all, "items"),
					  json_object_get(reply, "items"));
			json_decref(reply);
		}
		if (is_last)
			break;
	}
	json_object_del(all, "next");
	*ret = vmop_steal(&all);
	return NULL;
}

/* Return the name of a guest for vmopd --inspect-guest; the caller frees it. NULL: no memory. */
static char *holder_of(const json_t *domain)
{
	char *name;
	const json_t *xen_domid = json_object_get(domain, "xen_domid");
	int len = json_is_integer(xen_domid)
			  ? asprintf(&name, "xen:%" PRIu64, control_number(domain, "xen_domid"))
			  : asprintf(&name, "%" PRIu64, control_number(domain, "pid"));
	return len < 0 ? NULL : name;
}

struct vmop_error *control_inspect_stacks(const char *domain, json_t **ret)
{
	_cleanup_(vmop_json_cleanup) json_t *known = NULL, *reply = NULL;
	_cleanup_free_ char *holder = NULL;
	uint64_t pid;
	struct vmop_error *err = control_inspect_ask(domain, &known);
	if (!err) {
		holder = holder_of(json_object_get(known, "domain"));
	} else if (vmop_parse_u64(domain, 10, &pid)) {
		vmop_error_destroy(err); /* no session knows it: it can still be a VMM */
		holder = strdup(domain);
	} else {
		return err;
	}
	if (!holder)
		return &vmop_error_no_memory;
	err = control_daemon_inspect("inspect-guest", holder, true, &reply);
	if (err)
		return err;
	if (known)
		json_object_set(reply, "domain", json_object_get(known, "domain"));
	*ret = vmop_steal(&reply);
	return NULL;
}

static void put_inside(const json_t *inside, bool is_image)
{
	control_put_row("inside", control_text(inside, "state"));
	if (control_text(inside, "error"))
		control_put_row("", control_text(inside, "error"));
	if (!json_object_get(inside, "age_s"))
		return;
	if (is_image)
		printf("%-12s", "cost");
	else
		printf("%-12s%.1f s ago; in total ", "memory read", control_real(inside, "age_s"));
	printf("%.3f s of CPU, %.1f MiB read, %" PRIu64 " torn reads retried\n",
	       control_real(inside, "cpu_s"), control_real(inside, "read_bytes") / 1048576,
	       control_number(inside, "retries"));
}

static void put_kernel(const json_t *kernel)
{
	if (!json_is_object(kernel))
		return;
	control_put_row("kernel", control_text(kernel, "banner"));
	if (control_text(kernel, "build_id"))
		control_put_row("build-id", control_text(kernel, "build_id"));
	printf("%-12s", "text");
	control_put(kernel, "text");
	fputs(", KASLR offset ", stdout);
	control_put(kernel, "kaslr_offset");
	printf("\n%-12s", "page tables");
	control_put(kernel, "architecture");
	printf(", %" PRIu64 " KiB pages, %" PRIu64 " levels%s, %" PRIu64 " CPU%s\n",
	       control_number(kernel, "page_bytes") / 1024,
	       control_number(kernel, "page_table_levels"),
	       json_is_true(json_object_get(kernel, "kpti")) ? ", KPTI" : "",
	       control_number(kernel, "cpus"), vmop_plural(control_number(kernel, "cpus")));
	printf("%-12s%" PRIu64 ", found by ", "symbols", control_number(kernel, "symbols"));
	control_put(kernel, "found_by");
	const char *offsets = control_text(kernel, "offsets_from");
	if (offsets && *offsets) {
		fputs("; struct offsets from ", stdout);
		control_put_clean(offsets, SIZE_MAX);
	}
	putchar('\n');
}

/* Print the task that each vCPU ran when it was last read. */
static struct vmop_error *put_running(const json_t *running)
{
	_cleanup_free_ char *text = NULL;
	size_t size, i;
	const json_t *vcpu;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return &vmop_error_no_memory;
	json_array_foreach (running, i, vcpu) {
		uint64_t pid = control_number(vcpu, "pid");
		const char *comm = control_text(vcpu, "comm");
		fprintf(out, "%svCPU %" PRIu64 ": ", i ? ", " : "", control_number(vcpu, "vcpu"));
		if (pid)
			fprintf(out, "%s (%" PRIu64 ")", comm ? comm : "unknown", pid);
		else
			fputs("idle", out);
	}
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	if (size)
		control_put_row("running", text);
	return NULL;
}

struct column {
	const char *title, *member;
	double width;
	int flags;
};

static const struct column module_columns[] = {
	{"MODULE", "module", 0.3, 0},
	{"START", "start", 18, 0},
	{"BYTES", "len_bytes", 9, SCOLS_FL_RIGHT},
	{"SYMBOLS", "symbols", 8, SCOLS_FL_RIGHT},
	{"BUILD-ID", "build_id", 0.2, SCOLS_FL_TRUNC},
};
static const struct column process_columns[] = {
	{"PID", "pid", 7, SCOLS_FL_RIGHT},	   {"NS-PID", "ns_pid", 7, SCOLS_FL_RIGHT},
	{"PPID", "ppid", 7, SCOLS_FL_RIGHT},	   {"COMM", "comm", 16, 0},
	{"RUN-NS", "run_ns", 12, SCOLS_FL_RIGHT},  {"WAIT-NS", "wait_ns", 12, SCOLS_FL_RIGHT},
	{"RUNS", "runs", 6, SCOLS_FL_RIGHT},	   {"MAPPINGS", "", 8, SCOLS_FL_RIGHT},
	{"CGROUP", "cgroup", 0.4, SCOLS_FL_TRUNC},
};
#define N_MODULE_COLUMNS (sizeof(module_columns) / sizeof(module_columns[0]))
#define N_PROCESS_COLUMNS (sizeof(process_columns) / sizeof(process_columns[0]))

static bool add_line(struct libscols_table *table, const json_t *item, const struct column *columns,
		     size_t n)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	for (size_t i = 0; line && i < n; i++) {
		const json_t *value = json_object_get(item, columns[i].member);
		char number[24];
		const char *shown = json_is_string(value) ? json_string_value(value) : "-";
		if (!columns[i].member[0])
			value = NULL;
		if (json_is_integer(value) || !columns[i].member[0]) {
			size_t mappings = json_array_size(json_object_get(item, "mappings"));
			uint64_t shown_number =
				value ? (uint64_t)json_integer_value(value)
				      : mappings + control_number(item, "mappings_left_off");
			snprintf(number, sizeof(number), "%" PRIu64, shown_number);
			shown = number;
		}
		if (!control_set_text(line, i, shown))
			return false;
	}
	return line;
}

/* Print the items that have a member called `of` as a table. */
static bool print_items(const json_t *items, const char *of, const struct column *columns, size_t n)
{
	struct libscols_table *table = scols_new_table();
	bool is_good = table && !scols_table_enable_noencoding(table, 1);
	for (size_t i = 0; is_good && i < n; i++)
		is_good = scols_table_new_column(table, columns[i].title, columns[i].width,
						 columns[i].flags) != NULL;
	size_t i;
	const json_t *item;
	json_array_foreach (items, i, item)
		if (is_good && json_object_get(item, of))
			is_good = add_line(table, item, columns, n);
	if (is_good && scols_table_get_nlines(table)) {
		putchar('\n');
		is_good = scols_print_table(table) == 0;
	}
	scols_unref_table(table);
	return is_good;
}

static void put_mappings(const json_t *items)
{
	size_t i, j;
	const json_t *item, *mapping;
	json_array_foreach (items, i, item) {
		const json_t *mappings = json_object_get(item, "mappings");
		if (!json_array_size(mappings))
			continue;
		printf("\n%" PRIu64 " ", control_number(item, "pid"));
		control_put(item, "comm");
		putchar('\n');
		json_array_foreach (mappings, j, mapping) {
			fputs("  ", stdout);
			control_put(mapping, "start");
			putchar('-');
			control_put(mapping, "end");
			printf(" +%" PRIx64 " ", control_number(mapping, "file_offset_bytes"));
			control_put(mapping, "path");
			if (control_text(mapping, "build_id"))
				putchar(' ');
			control_put_clean(control_text(mapping, "build_id"), 12);
			putchar('\n');
		}
	}
}

static void put_image(const json_t *image)
{
	printf("%-12s", "image");
	control_put(image, "path");
	printf(", %.1f MiB of RAM\n", control_real(image, "ram_bytes") / 1048576);
}

static void put_domain(const json_t *domain)
{
	_cleanup_free_ char *name = control_domain_label(domain);
	printf("%-12s", "domain");
	control_put_clean(name, SIZE_MAX);
	if (json_is_integer(json_object_get(domain, "xen_domid")))
		printf(", Xen's id %" PRIu64, control_number(domain, "xen_domid"));
	else
		printf(", pid %" PRIu64, control_number(domain, "pid"));
	printf(", %" PRIu64 " vCPU%s seen\n", control_number(domain, "vcpus"),
	       vmop_plural(control_number(domain, "vcpus")));
	if (control_text(domain, "note"))
		control_put_row("note", control_text(domain, "note"));
}

static void put_frame(const json_t *frame)
{
	fputs("    ", stdout);
	if (control_text(frame, "symbol")) {
		control_put(frame, "symbol");
		printf("+0x%" PRIx64, control_number(frame, "offset"));
	} else {
		control_put(frame, "address");
	}
	const char *where = control_text(frame, "module");
	where = where ? where : control_text(frame, "path");
	if (where && !control_text(frame, "symbol"))
		printf(" +0x%" PRIx64, control_number(frame, "offset"));
	if (where) {
		fputs(" [", stdout);
		control_put_clean(where, SIZE_MAX);
		putchar(']');
	}
	putchar('\n');
}

static void put_stack(const json_t *stack, const char *end)
{
	const json_t *frame;
	size_t i;
	json_array_foreach (stack, i, frame)
		put_frame(frame);
	if (end && strcmp(end, "complete") != 0) {
		fputs("    [", stdout);
		control_put_clean(end, SIZE_MAX);
		puts("]");
	}
}

static void put_thread(const json_t *thread)
{
	const json_t *user = json_object_get(thread, "user_stack");
	const char *user_end = control_text(thread, "user_end");
	printf("\n%" PRIu64 "/%" PRIu64 " ", control_number(thread, "pid"),
	       control_number(thread, "tid"));
	control_put(thread, "comm");
	putchar(' ');
	control_put(thread, "state");
	fputs(json_is_true(json_object_get(thread, "running")) ? " (running)" : "", stdout);
	if (json_is_integer(json_object_get(thread, "run_ns")))
		printf(", ran %.3f ms in %" PRIu64 " run%s, waited %.3f ms",
		       (double)control_number(thread, "run_ns") / 1e6,
		       control_number(thread, "runs"), vmop_plural(control_number(thread, "runs")),
		       (double)control_number(thread, "wait_ns") / 1e6);
	putchar('\n');
	put_stack(json_object_get(thread, "stack"), control_text(thread, "end"));
	if (user_end)
		puts("    -- user --");
	put_stack(user, user_end);
}

/* Print each thread like the kernel's own list of tasks (sysrq-t). */
static void put_threads(const json_t *reply)
{
	const json_t *threads = json_object_get(reply, "threads"), *thread;
	const json_t *cost = json_object_get(reply, "stacks_cost");
	size_t i;
	if (!json_is_array(threads))
		return;
	printf("%-12s%zu; %" PRIu64 " changed while they were read\n", "threads",
	       json_array_size(threads), control_number(cost, "torn"));
	json_array_foreach (threads, i, thread)
		put_thread(thread);
}

struct vmop_error *control_inspect_table(const json_t *reply, bool with_mappings)
{
	const json_t *image = json_object_get(reply, "image");
	const json_t *items = json_object_get(reply, "items");
	if (image)
		put_image(image);
	else if (json_is_object(json_object_get(reply, "domain")))
		put_domain(json_object_get(reply, "domain"));
	put_inside(json_object_get(reply, "inside"), image != NULL);
	put_kernel(json_object_get(reply, "kernel"));
	struct vmop_error *err = put_running(json_object_get(reply, "running"));
	if (err)
		return err;
	if (json_object_get(reply, "threads")) { /* in place of the tables */
		put_threads(reply);
		return NULL;
	}
	if (!print_items(items, "module", module_columns, N_MODULE_COLUMNS) ||
	    !print_items(items, "pid", process_columns, N_PROCESS_COLUMNS))
		return &vmop_error_no_memory;
	if (with_mappings)
		put_mappings(items);
	return NULL;
}
