// SPDX-License-Identifier: GPL-2.0-or-later
/* Write the lines above and below a report's table. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/plural.h"
#include "libutil/stack-end.h"
#include "opreport/arrange/losses.h"
#include "opreport/arrange/report-open.h"
#include "opreport/output/time-text.h"
#include "opreport/stacks/frame.h"

/* How many guests a line names at most; then "and N more". */
#define GUESTS_NAMED_MAX 10

/* How many names a line, or lines of one kind, give at most; then "and N more". */
#define NAMED_MAX 32

/* A memory stream whose text is copied to the report's arena at its end. */
struct writer {
	FILE *out;
	char *text;
	size_t len;
};

static struct vmop_error *writer_begin(struct writer *writer)
{
	*writer = (struct writer){0};
	writer->out = open_memstream(&writer->text, &writer->len);
	return writer->out ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *writer_end(struct writer *writer, struct vmop_arena *arena,
				     const char **ret)
{
	int failed = fclose(writer->out);
	*ret = failed ? NULL : vmop_arena_text(arena, writer->text);
	free(writer->text);
	return *ret ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_line(struct vmop_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct vmop_error *add_line(struct vmop_report *report, const char *format, ...)
{
	struct writer writer;
	if (!vmop_array_reserve(report->lines, report->lines_capacity, report->sheet.n_lines + 1))
		return &vmop_error_no_memory;
	report->sheet.lines = report->lines;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	va_list args;
	va_start(args, format);
	vfprintf(writer.out, format, args);
	va_end(args);
	return writer_end(&writer, &report->arena, &report->lines[report->sheet.n_lines++]);
}

/* ---- lines above ---------------------------------------------------------- */

static struct vmop_error *add_session_line(struct vmop_report *report,
					   const struct vmop_session_facts *facts)
{
	bool has_host = *facts->hostname;
	return add_line(report, "session %s%s%s%s%s%s%s%s%s%s", facts->name, has_host ? " of " : "",
			facts->hostname, *facts->kernel ? ": " : "", facts->kernel,
			*facts->machine ? " " : "", facts->machine, *facts->cpus ? ", " : "",
			facts->cpus,
			!*facts->cpus		    ? ""
			: !strcmp(facts->cpus, "1") ? " CPU"
						    : " CPUs");
}

/* Add the part of [start_ns, end_ns) that the specs select. */
static struct vmop_error *add_span_line(struct vmop_report *report, uint64_t start_ns,
					uint64_t end_ns, const char *state)
{
	const struct vmop_choice *choice = &report->result->choice;
	uint64_t from_ns = choice->from_ns > start_ns ? choice->from_ns : start_ns;
	uint64_t to_ns = choice->to_ns && choice->to_ns < end_ns ? choice->to_ns : end_ns;
	if (to_ns < from_ns)
		to_ns = from_ns;
	char from[40], to[40], span[40];
	vmop_format_time(from_ns, from, sizeof(from));
	vmop_format_time(to_ns, to, sizeof(to));
	vmop_format_span(to_ns - from_ns, span, sizeof(span));
	size_t date_len = strcspn(from, " ");
	bool same_day = from[date_len] && !strncmp(from, to, date_len + 1);
	return add_line(report, "%s to %s (%s)%s", from, same_day ? to + date_len + 1 : to, span,
			state);
}

/*
 * Print an interval's length: "1 s", "10 min", "1 h", "1.5 h". Two digits are enough, because
 * intervals of a length of the ladder can be longer by a moment.
 */
static void put_interval(FILE *out, uint64_t interval_ns)
{
	double seconds = (double)interval_ns / 1e9, hours = seconds / 3600;
	if (seconds < 59.5)
		fprintf(out, "%.2g s", seconds);
	else if (seconds < 3599.5)
		fprintf(out, "%.2g min", seconds / 60);
	else
		fprintf(out, hours < 99.5 ? "%.2g h" : "%.0f h", hours);
}

/* Return whether the specs select a part of the time from start_ns to end_ns. */
static bool is_selected(const struct vmop_choice *choice, uint64_t start_ns, uint64_t end_ns)
{
	return end_ns > choice->from_ns && (!choice->to_ns || start_ns < choice->to_ns);
}

/* State which span of the selected time has which detail, unless all has that of the recording. */
static struct vmop_error *add_detail_line(struct vmop_report *report,
					  const struct vmop_session_facts *facts)
{
	const struct vmop_choice *choice = &report->result->choice;
	struct writer writer;
	const char *text, *gap = "";
	uint64_t longest_ns = 0;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	for (size_t i = 0; i < facts->n_details; i++) {
		const struct vmop_detail_span *detail = &facts->details[i];
		char until[40];
		if (!is_selected(choice, detail->start_ns, detail->end_ns))
			continue;
		vmop_format_time(detail->end_ns, until, sizeof(until));
		longest_ns = detail->interval_ns > longest_ns ? detail->interval_ns : longest_ns;
		fputs(gap, writer.out);
		put_interval(writer.out, detail->interval_ns);
		fprintf(writer.out, " until %s", until);
		gap = ", ";
	}
	err = writer_end(&writer, &report->arena, &text);
	if (!err && longest_ns >= 20 * VMOP_NS_PER_S)
		err = add_line(report, "detail: %s", text);
	if (!err && facts->dropped_until_ns && facts->dropped_until_ns > choice->from_ns) {
		char until[40];
		vmop_format_time(facts->dropped_until_ns, until, sizeof(until));
		err = add_line(report, "deleted: all until %s", until);
	}
	return err;
}

/* A smaller difference of two clocks is not worth a line. */
#define CLOCK_DIFFERENCE_NS (2 * (int64_t)VMOP_NS_PER_S)

/* State whether the times of a guest's own session are those of its host. */
static struct vmop_error *add_clock_line(struct vmop_report *report,
					 const struct vmop_session_facts *facts)
{
	const char *guest = vmop_catalog_domain(&report->result->catalog, facts->guest)->name;
	int64_t ahead_ns = facts->ahead_ns;
	if (!facts->guest)
		return NULL;
	if (!facts->has_clock)
		return add_line(report,
				"clock of guest %s: its distance from the host's is not known, so "
				"the guest's own samples are at its own times",
				guest);
	if (ahead_ns > -CLOCK_DIFFERENCE_NS && ahead_ns < CLOCK_DIFFERENCE_NS)
		return NULL;
	return add_line(report,
			"clock of guest %s: %.1f s %s the host's; the guest's own samples are at "
			"the host's times",
			guest, (double)(ahead_ns < 0 ? -ahead_ns : ahead_ns) / 1e9,
			ahead_ns < 0 ? "ahead of" : "behind");
}

static struct vmop_error *add_session_lines(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_session_facts *facts = &catalog->sessions[s];
		/* With a relative time, all sessions are read, also those before or after it. */
		if (!is_selected(&report->result->choice, facts->start_ns, facts->end_ns)) {
			/* An unknown clock can be the reason why it is of another time. */
			if (!facts->has_clock)
				err = add_clock_line(report, facts);
			continue;
		}
		err = add_session_line(report, facts);
		if (!err)
			err = add_span_line(report, facts->start_ns, facts->end_ns,
					    facts->is_finished
						    ? ""
						    : ", not ended: still recording, or cut off");
		if (!err)
			err = add_detail_line(report, facts);
		if (!err)
			err = add_clock_line(report, facts);
	}
	return err;
}

/* State which samples were omitted because another session has them. */
static struct vmop_error *add_omitted_lines(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	struct vmop_error *err = NULL;
	uint64_t others = 0;
	for (size_t i = NAMED_MAX; i < result->n_omitted; i++)
		others += result->omitted[i].samples;
	for (size_t i = 0; i < result->n_omitted && i < NAMED_MAX && !err; i++) {
		const struct vmop_omitted *omitted = &result->omitted[i];
		err = add_line(report,
			       "%" PRIu64 " sample%s of %s in session %s left out: another session "
			       "has them",
			       omitted->samples, vmop_plural(omitted->samples),
			       vmop_catalog_domain(&result->catalog, omitted->domain)->name,
			       result->catalog.sessions[omitted->session].name);
	}
	if (err || !others)
		return err;
	return add_line(report, "%" PRIu64 " samples of %zu more domains left out as well", others,
			result->n_omitted - NAMED_MAX);
}

/* Write " at 1000 Hz" to ret, or " at several rates" if sessions differ. */
static void describe_rate(const struct vmop_result *result, size_t e, char *ret, size_t ret_bytes)
{
	const struct vmop_event_item *event = vmop_result_event(result, e);
	bool differ = false;
	for (size_t i = 1; i < result->catalog.events.n; i++) {
		const struct vmop_event_item *other = vmop_catalog_event(&result->catalog, i);
		if (other->slot == e && other->session != event->session)
			differ = differ || other->frequency_hz != event->frequency_hz ||
				 other->period_events != event->period_events;
	}
	*ret = '\0';
	if (differ)
		snprintf(ret, ret_bytes, " at several rates");
	else if (event->frequency_hz)
		snprintf(ret, ret_bytes, " at %" PRIu64 " Hz", event->frequency_hz);
	else if (event->period_events)
		snprintf(ret, ret_bytes, " every %" PRIu64 " %s", event->period_events,
			 *event->unit ? event->unit : "events");
}

/* Add the notes on one of several sessions' events that share a column. */
static struct vmop_error *add_session_notes(struct vmop_report *report,
					    const struct vmop_event_item *event)
{
	const char *session = report->result->catalog.sessions[event->session].name;
	struct vmop_error *err = NULL;
	if (*event->note)
		err = add_line(report, "%s in session %s: %s", event->label, session, event->note);
	if (!err && event->scale != 1)
		err = add_line(report, "%s in session %s: weights scaled x%.2f", event->label,
			       session, event->scale);
	return err;
}

static struct vmop_error *add_notes(struct vmop_report *report, size_t e)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	const struct vmop_event_item *event = vmop_result_event(report->result, e);
	struct vmop_error *err = NULL;
	if (catalog->n_sessions == 1)
		return *event->note ? add_line(report, "%s: %s", event->label, event->note) : NULL;
	size_t n = 0;
	for (size_t i = report->result->events[e]; i < catalog->events.n && !err; i++) {
		const struct vmop_event_item *item = vmop_catalog_event(catalog, i);
		bool has_note = item->slot == e && (*item->note || item->scale != 1);
		if (has_note && n++ < NAMED_MAX)
			err = add_session_notes(report, item);
	}
	if (err || n <= NAMED_MAX)
		return err;
	return add_line(report, "%s: %zu more notes of other events in this column", event->label,
			n - NAMED_MAX);
}

static struct vmop_error *add_event_line(struct vmop_report *report, size_t e)
{
	const struct vmop_result *result = report->result;
	const struct vmop_event_item *event = vmop_result_event(result, e);
	char rate[64], idle[64] = "";
	describe_rate(result, e, rate, sizeof(rate));
	if (e == 0 && result->idle.samples)
		snprintf(idle, sizeof(idle), ", %.1f %% of them idle",
			 vmop_share_percent(result->idle, result->selected[0]));
	char scale[64] = "";
	if (event->scale != 1 && result->catalog.n_sessions == 1)
		snprintf(scale, sizeof(scale), ", weights scaled x%.2f", event->scale);
	struct vmop_error *err =
		add_line(report, "%s%s: %" PRIu64 " sample%s%s%s%s", event->label, rate,
			 result->selected[e].samples, vmop_plural(result->selected[e].samples),
			 result->choice.is_everything ? "" : " selected", idle, scale);
	return err ? err : add_notes(report, e);
}

/* Add "ipc (instructions / cycles): 1.27 of all, 1.25 to 1.29 with 95 % confidence". */
static struct vmop_error *add_ratio_line(struct vmop_report *report, const struct vmop_ratio *ratio)
{
	const struct vmop_result *result = report->result;
	struct vmop_ratio_value value = vmop_ratio_of_all(ratio, result);
	const char *numerator = vmop_result_event(result, ratio->numerator)->label;
	const char *denominator = vmop_result_event(result, ratio->denominator)->label;
	char factor[32] = "";
	if (ratio->factor != 1)
		snprintf(factor, sizeof(factor), " * %.6g", ratio->factor);
	if (value.quality == VMOP_RATIO_NONE)
		return add_line(report, "%s (%s / %s%s): too few samples of %s", ratio->name,
				numerator, denominator, factor, denominator);
	return add_line(report, "%s (%s / %s%s): %.4g %s, %.4g to %.4g with 95 %% confidence",
			ratio->name, numerator, denominator, factor, value.value,
			result->choice.is_everything ? "of all" : "of the selected samples",
			value.low, value.high);
}

static struct vmop_error *find_losses(struct vmop_report *report)
{
	const struct vmop_choice *choice = &report->result->choice;
	return vmop_losses_describe(&report->result->catalog, choice->from_ns || choice->to_ns,
				    &report->arena, &report->losses);
}

static int compare_image_names(const void *a, const void *b, void *catalog)
{
	const struct vmop_image_item *x = vmop_catalog_image(catalog, *(const uint32_t *)a);
	const struct vmop_image_item *y = vmop_catalog_image(catalog, *(const uint32_t *)b);
	return strcmp(x->name, y->name);
}

/* List by name the images of unattributed samples.  The caller frees *ret. */
static struct vmop_error *list_unattributed(const struct vmop_result *result, uint32_t **ret,
					    size_t *ret_n)
{
	const struct vmop_catalog *catalog = &result->catalog;
	uint32_t *list = calloc(catalog->images.n, sizeof(*list));
	if (!list)
		return &vmop_error_no_memory;
	size_t n = 0;
	for (size_t i = 0; i < catalog->images.n; i++) {
		if (vmop_catalog_image(catalog, i)->kind == VMOP_IMAGE_NONE &&
		    result->image_samples[i])
			list[n++] = (uint32_t)i;
	}
	qsort_r(list, n, sizeof(*list), compare_image_names, (void *)catalog);
	*ret = list;
	*ret_n = n;
	return NULL;
}

/* Add "[no-maps] 120, [unknown] 3": the unattributed samples of all domains. */
static struct vmop_error *add_unattributed_line(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	_cleanup_free_ uint32_t *list = NULL;
	size_t n = 0, n_names = 0;
	uint64_t others = 0;
	struct writer writer;
	struct vmop_error *err = list_unattributed(result, &list, &n);
	if (err || !n)
		return err;
	err = writer_begin(&writer);
	if (err)
		return err;
	for (size_t i = 0, next; i < n; i = next) {
		const char *name = vmop_catalog_image(&result->catalog, list[i])->name;
		uint64_t samples = 0;
		for (next = i; next < n; next++) {
			if (strcmp(vmop_catalog_image(&result->catalog, list[next])->name, name))
				break;
			samples += result->image_samples[list[next]];
		}
		if (n_names++ < NAMED_MAX)
			fprintf(writer.out, "%s%s %" PRIu64, i ? ", " : "", name, samples);
		else
			others += samples;
	}
	if (n_names > NAMED_MAX)
		fprintf(writer.out, ", and %zu more names %" PRIu64, n_names - NAMED_MAX, others);
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	return err ? err : add_line(report, "samples without an image: %s", text);
}

/* State how many guest samples have an inferred task. */
static struct vmop_error *add_certainty_line(struct vmop_report *report)
{
	const uint64_t *certain = report->result->certain;
	if (!certain[VMOP_CERTAIN_LIKELY] && !certain[VMOP_CERTAIN_AMBIGUOUS])
		return NULL;
	return add_line(report,
			"task of guest samples: likely for %" PRIu64 ", ambiguous for %" PRIu64
			" (--by=certainty)",
			certain[VMOP_CERTAIN_LIKELY], certain[VMOP_CERTAIN_AMBIGUOUS]);
}

/*
 * Return by row whether a domain has samples in its own code; the caller frees it. NULL: there is
 * no memory.
 */
static bool *find_sampled(const struct vmop_result *result)
{
	const struct vmop_catalog *catalog = &result->catalog;
	bool *are_sampled = calloc(catalog->domains.n, sizeof(*are_sampled));
	for (size_t i = 0; are_sampled && i < catalog->images.n; i++)
		if (result->image_samples[i])
			are_sampled[vmop_catalog_image(catalog, i)->domain] = true;
	return are_sampled;
}

/*
 * Name each guest whose samples have no context, with the reason: its tasks are inferred, and it
 * has no call stacks. A reason that holds for several of its lives is given once.
 */
static struct vmop_error *add_context_lines(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	_cleanup_free_ const char **notes = calloc(catalog->domains.n, sizeof(*notes));
	_cleanup_free_ bool *are_sampled = find_sampled(report->result);
	struct vmop_error *err = notes && are_sampled ? NULL : &vmop_error_no_memory;
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n && !err; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		const char **note = &notes[domain->row]; /* of the life before */
		if (!*domain->context_note || !domain->selected || !are_sampled[domain->row] ||
		    (*note && strcmp(*note, domain->context_note) == 0))
			continue;
		*note = domain->context_note;
		if (n++ < GUESTS_NAMED_MAX)
			err = add_line(report, "tasks of %s are not exact: %s", domain->name,
				       domain->context_note);
	}
	if (!err && n > GUESTS_NAMED_MAX)
		err = add_line(report, "tasks of %zu more guests are not exact",
			       n - GUESTS_NAMED_MAX);
	return err;
}

/* State why the recording has no kernel symbols: they cannot be read later. */
static struct vmop_error *add_kernel_symbols_lines(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_session_facts *facts = &catalog->sessions[s];
		bool several = catalog->n_sessions > 1;
		if (!strncmp(facts->kernel_symbols, "none", 4))
			err = add_line(report, "symbols of the host's kernel%s%s: %s",
				       several ? " in session " : "", several ? facts->name : "",
				       facts->kernel_symbols);
	}
	return err;
}

/* State how complete the stacks are: "stacks: 98.2 % complete, 1.8 % copy too small". */
static struct vmop_error *add_stacks_line(struct vmop_report *report)
{
	const struct vmop_stack_facts *facts = &report->result->stacks;
	uint64_t all = facts->damaged;
	for (size_t end = 0; end < VMOP_N_STACK_ENDS; end++)
		all += facts->ends[end];
	if (!facts->are_read)
		return NULL;
	struct writer writer;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	vmop_stack_ends_print(writer.out, facts->ends, facts->damaged);
	double percent = all ? 100 / (double)all : 0;
	if (facts->damaged)
		fprintf(writer.out, ", %.1f %% damaged", (double)facts->damaged * percent);
	if (facts->none)
		fprintf(writer.out, "; %" PRIu64 " sample%s without a stack", facts->none,
			vmop_plural(facts->none));
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	return err ? err : add_line(report, "stacks: %s", text);
}

/* Name the domains without a row that ran: they were not idle. */
static struct vmop_error *add_unsampled_line(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	bool are_among_some = false;
	size_t n = 0;
	struct writer writer;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		are_among_some |= domain->is_some;
		if (domain->is_unsampled && n++ < GUESTS_NAMED_MAX)
			fprintf(writer.out, "%s%s", n > 1 ? ", " : "", domain->name);
	}
	if (n > GUESTS_NAMED_MAX)
		fprintf(writer.out, " and %zu more", n - GUESTS_NAMED_MAX);
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	if (err || !n)
		return err;
	return add_line(report,
			are_among_some ? "not told apart, their samples are " VMOP_DOMAIN_SOME_NAME
					 ": %s"
				       : "ran, but not sampled: %s",
			text);
}

/* Name the guests with several lives, which are one row each without --by=life. */
static struct vmop_error *add_lives_line(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	size_t n = 0;
	struct writer writer;
	if (report->result->dimensions & VMOP_BY_LIFE)
		return NULL;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (domain->row == i && domain->n_lives > 1 && n++ < GUESTS_NAMED_MAX)
			fprintf(writer.out, "%s%s %" PRIu32 " times", n > 1 ? ", " : "",
				domain->name, domain->n_lives);
	}
	if (n > GUESTS_NAMED_MAX)
		fprintf(writer.out, " and %zu more", n - GUESTS_NAMED_MAX);
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	return err || !n ? err : add_line(report, "started more than once (--by=life): %s", text);
}

/* Write a part after ", ", unless its count is 0.  Set *any once there is a part. */
static void put_part(struct writer *writer, bool *any, uint64_t count, const char *what)
{
	if (!count)
		return;
	fprintf(writer->out, "%s%" PRIu64 " %s", *any ? ", " : "", count, what);
	*any = true;
}

/* Set left_out: a line on what the report's bounds left out.  With csv it goes to stderr. */
static struct vmop_error *find_left_out(struct vmop_report *report)
{
	const struct vmop_left_out *left_out = &report->result->left_out;
	bool any = false;
	struct writer writer;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	put_part(&writer, &any, left_out->events, "events (event: chooses)");
	put_part(&writer, &any, left_out->items, "tasks, images, domains and losses");
	put_part(&writer, &any, left_out->samples, "samples in further rows");
	put_part(&writer, &any, left_out->stacks, "samples in further stacks");
	put_part(&writer, &any, report->hidden->n_rows_beyond, "rows (--top, specs choose)");
	put_part(&writer, &any, left_out->images, "images' symbols");
	put_part(&writer, &any, left_out->n_details, "addresses within symbols");
	if (left_out->details)
		fprintf(writer.out, "%saddresses within symbols (specs choose)", any ? ", " : "");
	any = any || left_out->details;
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	report->left_out = !err && any ? text : NULL;
	return err;
}

struct vmop_error *vmop_report_add_lines(struct vmop_report *report)
{
	size_t n_events = report->result->n_events;
	struct vmop_error *err = find_losses(report);
	if (!err)
		err = find_left_out(report);
	if (!err)
		err = add_session_lines(report);
	if (!err && report->left_out)
		err = add_line(report, "too much for one report, left out: %s", report->left_out);
	if (!err)
		err = add_omitted_lines(report);
	if (!err)
		err = add_unsampled_line(report);
	if (!err)
		err = add_lives_line(report);
	for (size_t e = 0; e < n_events && !err; e++)
		err = add_event_line(report, e);
	for (size_t i = 0; i < report->ratios->n && !err; i++)
		err = add_ratio_line(report, &report->ratios->items[i]);
	if (!err)
		err = add_line(report, "losses: %s", report->losses ? report->losses : "none");
	if (!err)
		err = add_stacks_line(report);
	if (!err)
		err = add_kernel_symbols_lines(report);
	if (!err)
		err = add_certainty_line(report);
	if (!err)
		err = add_context_lines(report);
	return err ? err : add_unattributed_line(report);
}

struct vmop_error *vmop_report_add_footer(struct vmop_report *report)
{
	const struct vmop_hidden *hidden = report->hidden;
	if (!hidden->n_rows)
		return NULL;
	report->footer = vmop_arena_alloc(&report->arena, sizeof(*report->footer));
	if (!report->footer)
		return &vmop_error_no_memory;
	char text[128];
	snprintf(text, sizeof(text), "(%zu more row%s, %.2f %% together)", hidden->n_rows,
		 vmop_plural(hidden->n_rows),
		 vmop_share_percent(hidden->counts[0], report->result->base[0]));
	report->footer[0] = vmop_arena_text(&report->arena, text);
	report->sheet.footer = report->footer;
	report->sheet.n_footer = 1;
	return report->footer[0] ? NULL : &vmop_error_no_memory;
}
