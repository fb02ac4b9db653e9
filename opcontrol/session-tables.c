// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/session-tables.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libutil/plural.h"
#include "opcontrol/show.h"

#define TEXT_BYTES 64
#define DETAIL_BYTES (2 * TEXT_BYTES + 8)

/* Format a member that is a time in UTC as local time; "-": unknown. */
static void local_time(const json_t *object, const char *name, char ret[TEXT_BYTES])
{
	const char *text = control_text(object, name);
	struct tm tm = {0};
	strcpy(ret, "-");
	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return;
	time_t seconds = timegm(&tm);
	if (localtime_r(&seconds, &tm))
		strftime(ret, TEXT_BYTES, "%Y-%m-%d %H:%M:%S", &tm);
}

/* Format the length of intervals: "1 s", "10 min", "1 h". */
static void interval_text(double seconds, char ret[TEXT_BYTES])
{
	double minutes = seconds / 60, hours = seconds / 3600;
	if (hours >= 1)
		snprintf(ret, TEXT_BYTES, "%.3g h", hours);
	else if (minutes >= 1)
		snprintf(ret, TEXT_BYTES, "%.3g min", minutes);
	else
		snprintf(ret, TEXT_BYTES, seconds < 10 ? "%.2g s" : "%.3g s", seconds);
}

static double interval_s(const json_t *session, size_t i)
{
	return control_real(json_array_get(json_object_get(session, "spans"), i), "interval_s");
}

/* Format the detail of a session from its finest to its coarsest: "1 s to 1 h". */
static void detail_text(const json_t *session, char ret[DETAIL_BYTES])
{
	size_t n = json_array_size(json_object_get(session, "spans"));
	double least = 0, most = 0;
	for (size_t i = 0; i < n; i++) {
		double seconds = interval_s(session, i);
		least = !i || seconds < least ? seconds : least;
		most = seconds > most ? seconds : most;
	}
	char fine[TEXT_BYTES], coarse[TEXT_BYTES];
	interval_text(least, fine);
	interval_text(most, coarse);
	if (!n)
		strcpy(ret, "-");
	else if (!strcmp(fine, coarse))
		strcpy(ret, fine);
	else
		snprintf(ret, DETAIL_BYTES, "%s to %s", fine, coarse);
}

static bool add_line(struct libscols_table *table, const json_t *session)
{
	char start[TEXT_BYTES], end[TEXT_BYTES], detail[DETAIL_BYTES], size[TEXT_BYTES];
	const char *name = control_text(session, "name"), *state = control_text(session, "state");
	struct libscols_line *line = scols_table_new_line(table, NULL);
	local_time(session, "start", start);
	local_time(session, "end", end);
	detail_text(session, detail);
	control_format_size(control_number(session, "disk_bytes"), size);
	return line && name && state && control_set_text(line, 0, name) &&
	       control_set_text(line, 1, start) && control_set_text(line, 2, end) &&
	       control_set_text(line, 3, detail) && control_set_text(line, 4, size) &&
	       control_set_text(line, 5, state);
}

struct vmop_error *control_sessions_table(const json_t *sessions)
{
	static const struct {
		const char *title;
		int flags;
	} columns[] = {{"session", 0}, {"started", 0},		 {"ended", 0},
		       {"detail", 0},  {"size", SCOLS_FL_RIGHT}, {"state", 0}};
	struct libscols_table *table = scols_new_table();
	bool is_good = table && !scols_table_enable_noencoding(table, 1);
	for (size_t i = 0; is_good && i < sizeof(columns) / sizeof(columns[0]); i++)
		is_good = scols_table_new_column(table, columns[i].title, 0, columns[i].flags);
	size_t i;
	const json_t *session;
	json_array_foreach (sessions, i, session)
		is_good = is_good && add_line(table, session);
	if (is_good && json_array_size(sessions))
		is_good = scols_print_table(table) == 0;
	scols_unref_table(table);
	return is_good ? NULL : &vmop_error_no_memory;
}

/* ---- one session ---------------------------------------------------------------- */

static void put_spans(const json_t *facts)
{
	size_t i;
	const json_t *span;
	json_array_foreach (json_object_get(facts, "spans"), i, span) {
		char start[TEXT_BYTES], end[TEXT_BYTES], interval[TEXT_BYTES];
		local_time(span, "start", start);
		local_time(span, "end", end);
		interval_text(control_real(span, "interval_s"), interval);
		printf("%-*s%s - %s: %s, %" PRIu64 " interval%s\n", CONTROL_LABEL_WIDTH,
		       i ? "" : "detail", start, end, interval, control_number(span, "intervals"),
		       vmop_plural(control_number(span, "intervals")));
	}
	const json_t *dropped = json_object_get(facts, "dropped");
	if (json_is_object(dropped)) {
		char until[TEXT_BYTES];
		local_time(dropped, "until", until);
		printf("%-*s%" PRIu64 " sample%s, until %s\n", CONTROL_LABEL_WIDTH, "deleted",
		       control_number(dropped, "samples"),
		       vmop_plural(control_number(dropped, "samples")), until);
	}
}

/* Print a line for each element of a list, with its number. */
static void put_list(const json_t *facts, const char *list, const char *label, const char *count,
		     const char *what)
{
	size_t i;
	const json_t *item;
	json_array_foreach (json_object_get(facts, list), i, item) {
		printf("%-*s", CONTROL_LABEL_WIDTH, i ? "" : label);
		control_put(item, "name");
		const char *kind = control_text(item, "kind");
		if (kind && strcmp(kind, control_text(item, "name")) != 0)
			printf(" (%s)", kind);
		uint64_t n = control_number(item, count);
		printf(": %" PRIu64 "%s%s\n", n, what, *what ? vmop_plural(n) : "");
		if (control_text(item, "note")) {
			printf("%-*s  ", CONTROL_LABEL_WIDTH, "");
			control_put(item, "note");
			putchar('\n');
		}
	}
}

/* Print what the daemon used for the session. */
static void put_cost(const json_t *facts)
{
	const json_t *cost = json_object_get(facts, "vmopd");
	char memory[TEXT_BYTES];
	if (!json_is_object(cost))
		return;
	control_format_size(control_number(cost, "peak_rss_bytes"), memory);
	printf("%-*s%.2f s of CPU, at most %s of memory, a pause of at most %.1f ms\n",
	       CONTROL_LABEL_WIDTH, "vmopd", control_real(cost, "cpu_s"), memory,
	       control_real(cost, "longest_pause_s") * 1e3);
}

void control_session_table(const json_t *facts)
{
	char start[TEXT_BYTES], end[TEXT_BYTES], disk[TEXT_BYTES], used[TEXT_BYTES];
	local_time(facts, "start", start);
	local_time(facts, "end", end);
	control_format_size(control_number(facts, "disk_bytes"), disk);
	control_format_size(control_number(facts, "used_bytes"), used);
	printf("%-*s", CONTROL_LABEL_WIDTH, "session");
	control_put(facts, "path");
	printf(", %s\n", control_text(facts, "state"));
	if (control_text(facts, "hostname"))
		control_put_row("host", control_text(facts, "hostname"));
	printf("%-*s%s - %s\n", CONTROL_LABEL_WIDTH, "time", start, end);
	put_spans(facts);
	printf("%-*s%s on disk, %s in use\n", CONTROL_LABEL_WIDTH, "size", disk, used);
	put_cost(facts);
	printf("%-*s%" PRIu64 "\n", CONTROL_LABEL_WIDTH, "samples",
	       control_number(facts, "samples"));
	put_list(facts, "events", "events", "samples", " sample");
	put_list(facts, "domains", "domains", "samples", " sample");
	put_list(facts, "losses", "losses", "count", "");
}
