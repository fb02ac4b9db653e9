// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/status.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/guest-gap.h"
#include "libutil/json.h"
#include "libutil/plural.h"
#include "libutil/stack-end.h"
#include "opcontrol/lives.h"
#include "opcontrol/show.h"
#include "vmop/guest-context.h"

static void put_span(double seconds)
{
	unsigned long whole = seconds > 0 ? (unsigned long)seconds : 0;
	if (whole >= 86400)
		printf("%lu d ", whole / 86400);
	printf("%lu:%02lu:%02lu", whole / 3600 % 24, whole / 60 % 60, whole % 60);
}

static void put_size(uint64_t bytes)
{
	char text[CONTROL_SIZE_BYTES];
	control_format_size(bytes, text);
	fputs(text, stdout);
}

static void put_events(const json_t *status)
{
	size_t i;
	const json_t *event;
	json_array_foreach (json_object_get(status, "events"), i, event) {
		uint64_t hz = control_number(event, "frequency_hz");
		printf("%-12s", "event");
		control_put(event, "name");
		uint64_t period = control_number(event, "period_events");
		const char *unit = control_text(event, "unit");
		if (hz)
			printf(" at %" PRIu64 " Hz", hz);
		else if (unit && !strcmp(unit, "ns") && period)
			printf(" at %.4g Hz", 1e9 / (double)period);
		else {
			printf(" every %" PRIu64 " ", period);
			control_put(event, "unit");
		}
		if (json_is_true(json_object_get(event, "of_guests")))
			fputs(", threads of passive guests", stdout);
		else if (control_number(status, "cpus"))
			printf(" on %" PRIu64 " CPU%s", control_number(status, "cpus"),
			       vmop_plural(control_number(status, "cpus")));
		putchar('\n');
		if (control_text(event, "note"))
			control_put_row("", control_text(event, "note"));
	}
}

static void put_callgraph(const json_t *status)
{
	const json_t *callgraph = json_object_get(status, "callgraph");
	const char *text = control_text(callgraph, "text");
	uint64_t stacks = control_number(callgraph, "stacks");
	if (text)
		control_put_row("call stacks", text);
	if (!stacks)
		return;
	uint64_t n_by_end[VMOP_N_STACK_ENDS];
	for (unsigned end = 0; end < VMOP_N_STACK_ENDS; end++)
		n_by_end[end] = control_number(callgraph, vmop_stack_end_word(end));
	printf("%-*s%" PRIu64 " stack%s: ", CONTROL_LABEL_WIDTH, "", stacks, vmop_plural(stacks));
	vmop_stack_ends_print(stdout, n_by_end, 0);
	printf("; %" PRIu64 " unwind table%s of %.1f MiB\n", control_number(callgraph, "tables"),
	       vmop_plural(control_number(callgraph, "tables")),
	       (double)control_number(callgraph, "tables_bytes") / (1 << 20));
	if (json_object_get(callgraph, "by_kernel"))
		printf("%-*s%" PRIu64 " user stacks unwound in the kernel, %" PRIu64
		       " copied; %" PRIu64 " tables of %.1f MiB in the kernel\n",
		       CONTROL_LABEL_WIDTH, "", control_number(callgraph, "by_kernel"),
		       control_number(callgraph, "copied"),
		       control_number(callgraph, "kernel_tables"),
		       (double)control_number(callgraph, "kernel_tables_bytes") / (1 << 20));
}

/*
 * Print what `write` writes of an object behind what the line has up to column `indent`, broken at
 * blanks. Return false if out of memory.
 */
static bool put_written(size_t indent, void (*write)(FILE *to, const json_t *object),
			const json_t *object)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	if (!to)
		return false;
	write(to, object);
	if (fclose(to) != 0)
		return false;
	control_put_wrapped(indent, text);
	return true;
}

/* Print what `write` writes of an object as a row. Return false if out of memory. */
static bool put_written_row(const char *label, void (*write)(FILE *to, const json_t *object),
			    const json_t *object)
{
	printf("%-*s", CONTROL_LABEL_WIDTH, label);
	bool is_done = put_written(CONTROL_LABEL_WIDTH, write, object);
	putchar('\n');
	return is_done;
}

/* Write the reasons why contexts lack parts, the share of each. */
static void write_gaps(FILE *out, const json_t *context)
{
	const json_t *gaps = json_object_get(context, "gaps");
	double all = (double)control_number(context, "contexts");
	const char *separator = "; incomplete: ";
	for (unsigned gap = VMOP_GUEST_GAP_NONE + 1; gap < VMOP_GUEST_N_GAPS && all > 0; gap++) {
		uint64_t n = control_number(gaps, vmop_guest_gap_word(gap));
		if (!n)
			continue;
		fprintf(out, "%s%.2f %% %s", separator, 100 * (double)n / all,
			vmop_guest_gap_text(gap));
		separator = ", ";
	}
}

/* Write how many samples of guests have a context, and the cost. */
static void write_contexts(FILE *out, const json_t *context)
{
	uint64_t samples = control_number(context, "samples"),
		 contexts = control_number(context, "contexts"),
		 exited = control_number(context, "exited"),
		 full = control_number(context, "ring_full"),
		 switching = control_number(context, "switching"),
		 guests = control_number(context, "guests");
	double cost_us = (double)control_number(context, "cost_ns") / 1000;
	fprintf(out, "%" PRIu64 " of %" PRIu64 " samples of guests", contexts, samples);
	if (samples)
		fprintf(out, " (%.2f %%)", 100 * (double)contexts / (double)samples);
	if (exited)
		fprintf(out, ", %" PRIu64 " of the host at work for them", exited);
	fprintf(out, "; %.2f us of CPU each", cost_us / (double)(samples + exited));
	if (full)
		fprintf(out, "; %" PRIu64 " lost in full rings", full);
	if (switching)
		fprintf(out, "; %" PRIu64 " while the guest switched tasks", switching);
	fprintf(out, "; %" PRIu64 " guest%s with a known kernel", guests, vmop_plural(guests));
	write_gaps(out, context);
}

/* Print whether contexts of guests are captured, how often they were, and their cost. */
static void put_guest_context(const json_t *status)
{
	const json_t *context = json_object_get(status, "guest_context");
	const char *text = control_text(context, "text");
	if (text)
		control_put_row("contexts", text);
	if (control_number(context, "samples") || control_number(context, "exited"))
		put_written_row("", write_contexts, context);
}

/* Write whether the time of vCPUs is divided, and the cost. */
static void write_waits(FILE *to, const json_t *waits)
{
	const char *note = control_text(waits, "note");
	uint64_t vcpus = control_number(waits, "vcpus"), refused = control_number(waits, "refused");
	if (!json_is_true(json_object_get(waits, "on"))) {
		fprintf(to, "not divided, because %s", note ? note : "?");
		return;
	}
	fprintf(to,
		"of %" PRIu64 " vCPU%s, %" PRIu64 " switches and %" PRIu64
		" exits; %.3f %% of a CPU",
		vcpus, vmop_plural(vcpus), control_number(waits, "switches"),
		control_number(waits, "exits"), control_real(waits, "cpu_percent"));
	fprintf(to, " (%.0f ns a switch, %.0f a wake-up, %.0f an exit)",
		control_real(waits, "switch_ns"), control_real(waits, "wakeup_ns"),
		control_real(waits, "exit_ns"));
	if (refused)
		fprintf(to, "; %" PRIu64 " vCPUs are not watched: there are too many", refused);
	if (note)
		fprintf(to, "; exits are not counted: %s", note);
}

static void put_waits(const json_t *status)
{
	const json_t *waits = json_object_get(status, "waits");
	if (json_is_object(waits))
		put_written_row("vCPU time", write_waits, waits);
}

struct loss {
	const char *member, *label;
};

/* Losses that are printed even if they are 0. */
static const struct loss usual_losses[] = {
	{"lost", "lost"},	    {"throttled", "throttled"},	  {"unhandled", "unhandled"},
	{"malformed", "malformed"}, {"store_full", "store full"}, {0},
};

/* Losses that are printed only if they are not 0. */
static const struct loss rare_losses[] = {
	{"table_full", "table full"},
	{"store_gone", "session file gone"},
	{"samples_rejected", "samples rejected"},
	{"facts_rejected", "facts rejected"},
	{"memory_dropped", "stacks dropped at the memory limit"},
	{0},
};

static void put_losses(const json_t *status)
{
	printf("%-12s", "not stored");
	for (const struct loss *loss = usual_losses; loss->member; loss++)
		printf("%s%s %" PRIu64, loss == usual_losses ? "" : ", ", loss->label,
		       control_number(status, loss->member));
	const char *separator = "\n            ";
	for (const struct loss *loss = rare_losses; loss->member; loss++) {
		uint64_t n = control_number(status, loss->member);
		if (!n)
			continue;
		printf("%s%s %" PRIu64, separator, loss->label, n);
		separator = ", ";
	}
	putchar('\n');
}

/* Print the pauses, if there were any. */
static void put_pauses(const json_t *status)
{
	uint64_t pauses = control_number(status, "pauses");
	double seconds = json_number_value(json_object_get(status, "paused_s"));
	if (pauses || seconds > 0)
		printf("%-*snothing for %.2f s in total, %" PRIu64 " time%s: Xen's lists changed\n",
		       CONTROL_LABEL_WIDTH, "sampled", seconds, pauses, vmop_plural(pauses));
}

static void put_samples(const json_t *status)
{
	uint64_t samples = control_number(status, "samples"),
		 unknown = control_number(status, "unattributed");
	printf("%-*s%" PRIu64 ", %" PRIu64 " of them unattributed", CONTROL_LABEL_WIDTH, "samples",
	       samples, unknown);
	if (samples)
		printf(" (%.2f %%)", 100.0 * (double)unknown / (double)samples);
	putchar('\n');
}

static bool add_count(struct libscols_line *line, size_t column, const json_t *domain,
		      const char *name, bool is_known)
{
	char count[24] = "-";
	if (is_known)
		snprintf(count, sizeof(count), "%" PRIu64, control_number(domain, name));
	return scols_line_set_data(line, column, count) == 0;
}

/* Format " (life 1 of 2, ended)", or "". */
static void describe_life(const json_t *domain, struct control_life life, char *ret, size_t size)
{
	bool has_ended = control_number(domain, "id") != 0 &&
			 !json_is_true(json_object_get(domain, "running"));
	if (life.n_lives > 1)
		snprintf(ret, size, " (life %zu of %zu%s)", life.number, life.n_lives,
			 has_ended ? ", ended" : "");
	else
		snprintf(ret, size, "%s", has_ended ? " (ended)" : "");
}

static bool add_domain(struct libscols_table *table, const json_t *domain, struct control_life of)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	bool is_guest = control_number(domain, "id") != 0;
	bool is_xen = json_is_integer(json_object_get(domain, "xen_domid"));
	const char *kind = control_text(domain, "kind") ? control_text(domain, "kind") : "";
	bool is_hypervisor = is_guest && !strcmp(kind, "hypervisor");
	/* Not idle: unknown, because the domain cannot be sampled. */
	bool is_unsampled = is_xen && !strcmp(kind, "unsampled");
	_cleanup_free_ char *name = control_domain_label(domain);
	char shown[512], life[64];
	describe_life(domain, of, life, sizeof(life));
	snprintf(shown, sizeof(shown), "%s%s", name ? name : "?", life);
	return line && control_set_text(line, 0, shown) &&
	       add_count(line, 1, domain, is_xen ? "xen_domid" : "pid",
			 is_guest && !is_hypervisor) &&
	       add_count(line, 2, domain, "vcpus", is_guest && !is_hypervisor && !is_unsampled) &&
	       add_count(line, 3, domain, "user", !is_unsampled) &&
	       add_count(line, 4, domain, "kernel", !is_unsampled) &&
	       add_count(line, 5, domain, "hypervisor", is_guest && !is_unsampled) &&
	       add_count(line, 6, domain, "vmm", is_guest && !is_unsampled);
}

/* Add all lives of the guest whose first life is item i of domains. */
static bool add_lives(struct libscols_table *table, const json_t *domains, size_t i)
{
	size_t first = i;
	for (; i < json_array_size(domains); i++) {
		struct control_life life = control_life_of(domains, i);
		if (life.first == first && !add_domain(table, json_array_get(domains, i), life))
			return false;
	}
	return true;
}

static bool fill_domains(struct libscols_table *table, const json_t *domains)
{
	static const char *const columns[] = {"DOMAIN", "PID/ID",     "VCPUS", "USER",
					      "KERNEL", "HYPERVISOR", "VMM"};
	size_t i;
	const json_t *domain;
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!scols_table_new_column(table, columns[i], i ? 8 : 0.4,
					    i ? SCOLS_FL_RIGHT : SCOLS_FL_TRUNC))
			return false;
	json_array_foreach (domains, i, domain)
		if (control_life_of(domains, i).first == i && !add_lives(table, domains, i))
			return false;
	return scols_print_table(table) == 0;
}

/* Write how a passive guest's blocked threads are sampled, and the cost. */
static void write_blocked(FILE *to, const json_t *blocked)
{
	uint64_t rounds = control_number(blocked, "rounds");
	fprintf(to,
		"%" PRIu64 " of %" PRIu64 " threads, %" PRIu64 " running; %" PRIu64
		" readings, %.3f ms of CPU time each; nothing had run before %" PRIu64
		"; left out for want of CPU time: %" PRIu64,
		control_number(blocked, "blocked"), control_number(blocked, "threads"),
		control_number(blocked, "running"), rounds,
		rounds ? control_real(blocked, "cpu_s") * 1e3 / (double)rounds : 0,
		control_number(blocked, "reused"), control_number(blocked, "missed"));
	if (control_number(blocked, "torn") || control_number(blocked, "refused"))
		fprintf(to,
			"; threads that changed while they were read: %" PRIu64
			", above the limit: %" PRIu64,
			control_number(blocked, "torn"), control_number(blocked, "refused"));
}

/* Write the results of reading a passive guest's memory, their age and their cost. */
static void write_inside(FILE *to, const json_t *inside)
{
	const char *state = control_text(inside, "state"),
		   *release = control_text(inside, "release"),
		   *error = control_text(inside, "error");
	fputs(state ? state : "", to);
	if (release)
		fprintf(to, ": %s, %" PRIu64 " symbol%s, %" PRIu64 " module%s", release,
			control_number(inside, "symbols"),
			vmop_plural(control_number(inside, "symbols")),
			control_number(inside, "modules"),
			vmop_plural(control_number(inside, "modules")));
	if (json_object_get(inside, "processes"))
		fprintf(to, ", %" PRIu64 " process%s %.1f s ago",
			control_number(inside, "processes"),
			control_number(inside, "processes") == 1 ? "" : "es",
			control_real(inside, "processes_age_s"));
	if (json_object_get(inside, "age_s"))
		fprintf(to, "; memory read %.1f s ago, %.2f s of CPU time in total",
			control_real(inside, "age_s"), control_real(inside, "cpu_s"));
	if (error)
		fprintf(to, "; %s", error);
}

/* Print a line of details of a domain. Return false if out of memory. */
static bool put_detail(const char *label, void (*write)(FILE *to, const json_t *object),
		       const json_t *object)
{
	return !object ||
	       (printf("\n  %s: ", label) > 0 && put_written(strlen(label) + 4, write, object));
}

static struct vmop_error *put_domains(const json_t *status)
{
	const json_t *domains = json_object_get(status, "domains"), *domain;
	struct libscols_table *table = scols_new_table();
	putchar('\n');
	bool is_done =
		table && !scols_table_enable_noencoding(table, 1) && fill_domains(table, domains);
	scols_unref_table(table);
	if (!is_done)
		return &vmop_error_no_memory;
	size_t i;
	json_array_foreach (domains, i, domain) {
		struct control_life life = control_life_of(domains, i);
		if (life.number < life.n_lives)
			continue; /* the last loss has the same label */
		putchar('\n');
		_cleanup_free_ char *name = control_domain_label(domain);
		control_put_clean(name, SIZE_MAX);
		if (control_number(domain, "id")) {
			fputs(": ", stdout);
			control_put(domain, "kind");
		}
		if (control_text(domain, "uuid")) {
			fputs(", uuid ", stdout);
			control_put(domain, "uuid");
		}
		if (json_object_get(domain, "own"))
			printf("\n  samples in its own session: %" PRIu64,
			       control_number(domain, "own"));
		fputs("\n  kernel symbols: ", stdout);
		control_put_clean(control_text(domain, "image") ? control_text(domain, "image")
								: "none",
				  SIZE_MAX);
		if (control_text(domain, "note")) {
			fputs("\n  note: ", stdout);
			control_put_wrapped(strlen("  note: "), control_text(domain, "note"));
		}
		if (!put_detail("inside", write_inside, json_object_get(domain, "inside")) ||
		    !put_detail("blocked", write_blocked, json_object_get(domain, "blocked")))
			return &vmop_error_no_memory;
	}
	putchar('\n');
	if (control_number(status, "domains_left_off"))
		printf("and %" PRIu64 " more domains\n",
		       control_number(status, "domains_left_off"));
	return NULL;
}

/* Print the daemon's share of the CPUs' time, and the rate that the limit for it allows. */
static void put_overhead(const json_t *status)
{
	const json_t *used = json_object_get(status, "overhead_percent");
	uint64_t divisor = control_number(status, "rate_divisor");
	if (!json_is_number(used))
		return;
	printf("%-12s%.2f %% of all CPUs' time", "overhead", json_number_value(used));
	if (json_is_number(json_object_get(status, "max_overhead_percent")))
		printf(", limit %.2f %%", control_real(status, "max_overhead_percent"));
	if (divisor > 1)
		printf(", rate lowered to 1/%" PRIu64, divisor);
	putchar('\n');
}

/* Print which processes keep the WAL from beginning anew. */
static void put_wal(const json_t *status)
{
	const char *readers = control_text(status, "wal_readers");
	if (!control_text(status, "wal_held_since"))
		return;
	printf("%-12s", "WAL");
	put_size(control_number(status, "wal_bytes"));
	fputs(", held since ", stdout);
	control_put(status, "wal_held_since");
	fputs(" by ", stdout);
	control_put_clean(readers ? readers : "an unknown process", SIZE_MAX);
	putchar('\n');
}

static void put_session(const json_t *status)
{
	const json_t *remaining = json_object_get(status, "remaining_s");
	printf("%-12s", "since");
	control_put(status, "since");
	fputs(", for ", stdout);
	put_span(control_real(status, "uptime_s"));
	if (json_is_number(remaining)) {
		fputs(", ends in ", stdout);
		put_span(json_number_value(remaining));
	}
	printf("\n%-12s", "session");
	if (control_text(status, "session")) {
		control_put(status, "session");
		fputs(", ", stdout);
		put_size(control_number(status, "disk_bytes"));
	} else {
		fputs("none: its file is gone from ", stdout);
		control_put(status, "session_dir");
	}
	putchar('\n');
	put_wal(status);
	if (control_text(status, "way")) {
		printf("%-12s", "source");
		control_put(status, "source");
		fputs(", by ", stdout);
		control_put(status, "way");
		putchar('\n');
	}
	put_events(status);
	put_callgraph(status);
	put_guest_context(status);
	put_waits(status);
	put_samples(status);
	put_losses(status);
	put_pauses(status);
	if (json_is_number(json_object_get(status, "longest_pause_s")))
		printf("%-12s%.1f ms at most, of the thread that empties the rings\n", "pause",
		       control_real(status, "longest_pause_s") * 1e3);
	put_overhead(status);
	if (control_number(status, "failures")) {
		printf("%-12s%" PRIu64 ", the last: ", "failures",
		       control_number(status, "failures"));
		control_put(status, "last_failure");
		putchar('\n');
	}
}

struct vmop_error *control_status_table(const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const char *state = control_text(status, "state");
	bool is_sampling = state && !strcmp(state, "sampling");
	printf("%-12s", "vmopd");
	control_put(daemon, "version");
	fputs(": ", stdout);
	control_put(status, "state");
	printf(", pid %" PRIu64 ", %.2f s of CPU, ", control_number(daemon, "pid"),
	       control_real(daemon, "cpu_s"));
	put_size(control_number(daemon, "rss_bytes"));
	fputs(" of memory\n", stdout);
	if (!is_sampling) {
		if (control_text(status, "last_session"))
			control_put_row("session", control_text(status, "last_session"));
		return NULL;
	}
	put_session(status);
	return put_domains(status);
}

struct vmop_error *control_status_json(const json_t *status)
{
	return vmop_json_print(status, JSON_INDENT(2) | JSON_REAL_PRECISION(15), stdout);
}
