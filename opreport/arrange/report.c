// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/arrange/report-open.h"
#include "opreport/output/time-text.h"

#define UNSAMPLED_NAMED_MAX 10

/* At most so many names in a line above the table, or lines of one kind; then "and N more". */
#define NAMED_MAX 32

/* ---- text ----------------------------------------------------------------- */

/* A memory stream whose text ends up in the report's arena. */
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
	const char **lines = reallocarray(report->lines, report->sheet.n_lines + 1, sizeof(*lines));
	if (!lines)
		return &vmop_error_no_memory;
	report->sheet.lines = report->lines = lines;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	va_list args;
	va_start(args, format);
	vfprintf(writer.out, format, args);
	va_end(args);
	return writer_end(&writer, &report->arena, &lines[report->sheet.n_lines++]);
}

/* ---- lines above ---------------------------------------------------------- */

static struct vmop_error *add_session_line(struct vmop_report *report,
					   const struct vmop_session_facts *facts)
{
	bool has_host = *facts->hostname;
	return add_line(report, "session %s%s%s%s%s%s%s%s%s%s", facts->name, has_host ? " of " : "",
			facts->hostname, *facts->kernel ? ": " : "", facts->kernel,
			*facts->machine ? " " : "", facts->machine, *facts->cpus ? ", " : "",
			facts->cpus, *facts->cpus ? " CPUs" : "");
}

/* What of [start, end) is looked at. */
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

static struct vmop_error *add_session_lines(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_session_facts *facts = &catalog->sessions[s];
		err = add_session_line(report, facts);
		if (!err)
			err = add_span_line(report, facts->start_ns, facts->end_ns,
					    facts->is_finished
						    ? ""
						    : ", not ended: still recording, or cut off");
	}
	return err;
}

/* What the sessions have twice is never taken away without saying so. */
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
			       "%" PRIu64 " samples of %s in session %s left out: another session "
			       "has them",
			       omitted->samples,
			       vmop_catalog_domain(&result->catalog, omitted->domain)->name,
			       result->catalog.sessions[omitted->session].name);
	}
	if (err || !others)
		return err;
	return add_line(report, "%" PRIu64 " samples of %zu more domains left out likewise", others,
			result->n_omitted - NAMED_MAX);
}

/* " at 1000 Hz"; of sessions that differ, " at several rates". */
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

/* What is to be said of one event, where other sessions' events add to its column. */
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
		add_line(report, "%s%s: %" PRIu64 " samples%s%s%s", event->label, rate,
			 result->selected[e].samples,
			 result->choice.is_everything ? "" : " selected", idle, scale);
	return err ? err : add_notes(report, e);
}

/* "ipc (instructions / cycles): 1.27 of all, 1.25 to 1.29 with 95 % confidence" */
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
			result->choice.is_everything ? "of all" : "of what is selected", value.low,
			value.high);
}

/* "lost 12, throttled 3": sums over domains and events of each name. */
static struct vmop_error *find_losses(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	struct writer writer;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	bool any = false;
	size_t n = 0;
	uint64_t others = 0;
	for (size_t i = 0, next; i < catalog->n_losses; i = next) { /* they are in order of name */
		const char *name = catalog->losses[i].name;
		uint64_t count = 0;
		for (next = i; next < catalog->n_losses; next++) {
			if (strcmp(catalog->losses[next].name, name) != 0)
				break;
			count += catalog->losses[next].count;
		}
		if (count && n++ < NAMED_MAX)
			fprintf(writer.out, "%s%s %" PRIu64, any ? ", " : "", name, count);
		else
			others += count;
		any = any || count;
	}
	if (n > NAMED_MAX)
		fprintf(writer.out, ", and %zu more names %" PRIu64, n - NAMED_MAX, others);
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	report->losses = !err && any ? text : NULL;
	return err;
}

static int compare_image_names(const void *a, const void *b, void *catalog)
{
	const struct vmop_image_item *x = vmop_catalog_image(catalog, *(const uint32_t *)a);
	const struct vmop_image_item *y = vmop_catalog_image(catalog, *(const uint32_t *)b);
	return strcmp(x->name, y->name);
}

/* The images that are only names and have samples, in order of name; *ret is the caller's. */
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

/* "[no-maps] 120, [unknown] 3": samples in images that are only names, of all domains. */
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

/* Guest samples whose task is a conclusion and no reading are never shown without saying so. */
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

/* Why a kernel's functions are addresses: it was so while recording, and can't be mended now. */
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

/* That a domain has no row does not mean that it was idle. */
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
		if (domain->is_unsampled && n++ < UNSAMPLED_NAMED_MAX)
			fprintf(writer.out, "%s%s", n > 1 ? ", " : "", domain->name);
	}
	if (n > UNSAMPLED_NAMED_MAX)
		fprintf(writer.out, " and %zu more", n - UNSAMPLED_NAMED_MAX);
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

/* Guests that ended and were started again are one row each, unless asked for. */
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
		if (domain->row == i && domain->n_lives > 1 && n++ < UNSAMPLED_NAMED_MAX)
			fprintf(writer.out, "%s%s %" PRIu32 " times", n > 1 ? ", " : "",
				domain->name, domain->n_lives);
	}
	if (n > UNSAMPLED_NAMED_MAX)
		fprintf(writer.out, " and %zu more", n - UNSAMPLED_NAMED_MAX);
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	return err || !n ? err : add_line(report, "started more than once (--by=life): %s", text);
}

/* Writes ", " between parts, and the part. */
static void put_part(struct writer *writer, bool *any, uint64_t count, const char *what)
{
	if (!count)
		return;
	fprintf(writer->out, "%s%" PRIu64 " %s", *any ? ", " : "", count, what);
	*any = true;
}

/* Describe in one line the rest that the report's bounds left out.  csv prints it on stderr. */
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

static struct vmop_error *add_lines(struct vmop_report *report)
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
		err = add_kernel_symbols_lines(report);
	if (!err)
		err = add_certainty_line(report);
	return err ? err : add_unattributed_line(report);
}

static struct vmop_error *add_footer(struct vmop_report *report)
{
	const struct vmop_hidden *hidden = report->hidden;
	if (!hidden->n_rows)
		return NULL;
	report->footer = vmop_arena_alloc(&report->arena, sizeof(*report->footer));
	if (!report->footer)
		return &vmop_error_no_memory;
	char text[128];
	snprintf(text, sizeof(text), "(%zu more row%s, %.2f %% together)", hidden->n_rows,
		 hidden->n_rows == 1 ? "" : "s",
		 vmop_share_percent(hidden->counts[0], report->result->base[0]));
	report->footer[0] = vmop_arena_text(&report->arena, text);
	report->sheet.footer = report->footer;
	report->sheet.n_footer = 1;
	return report->footer[0] ? NULL : &vmop_error_no_memory;
}

/* ---- facts for machines --------------------------------------------------- */

static void add_fact(struct vmop_report *report, const char *list, size_t item, const char *name,
		     enum vmop_value_type type, struct vmop_value value)
{
	size_t n = report->sheet.n_facts++;
	if (report->facts) /* else they are being counted */
		report->facts[n] = (struct vmop_fact){list, item, name, type, value};
}

static void add_text(struct vmop_report *report, const char *list, size_t item, const char *name,
		     const char *text)
{
	add_fact(report, list, item, name, VMOP_VALUE_TEXT, (struct vmop_value){.text = text});
}

static void add_count(struct vmop_report *report, const char *list, size_t item, const char *name,
		      uint64_t count)
{
	add_fact(report, list, item, name, VMOP_VALUE_COUNT, (struct vmop_value){.number = count});
}

static void add_ratio(struct vmop_report *report, const char *list, size_t item, const char *name,
		      double ratio)
{
	add_fact(report, list, item, name, VMOP_VALUE_RATIO, (struct vmop_value){.ratio = ratio});
}

/* Of one session, or, in a list of them, of each. */
static void add_session_facts(struct vmop_report *report, const char *list, size_t item,
			      const struct vmop_session_facts *facts)
{
	add_text(report, list, item, "name", facts->name);
	add_text(report, list, item, "hostname", facts->hostname);
	add_text(report, list, item, "kernel", facts->kernel);
	add_text(report, list, item, "machine", facts->machine);
	add_text(report, list, item, "cpus", facts->cpus);
	add_text(report, list, item, "kernel_symbols", facts->kernel_symbols);
	add_text(report, list, item, "vmop", facts->vmop);
	add_count(report, list, item, "start_ns", facts->start_ns);
	add_count(report, list, item, "end_ns", facts->end_ns);
	add_text(report, list, item, "state", facts->is_finished ? "finished" : "not ended");
}

static void add_sessions_facts(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	const struct vmop_catalog *catalog = &result->catalog;
	if (catalog->n_sessions == 1) {
		add_session_facts(report, NULL, 0, &catalog->sessions[0]);
	} else { /* "session" is what they have in common */
		add_count(report, NULL, 0, "start_ns", catalog->start_ns);
		add_count(report, NULL, 0, "end_ns", catalog->end_ns);
	}
	for (size_t s = 0; s < catalog->n_sessions; s++)
		add_session_facts(report, "sessions", s, &catalog->sessions[s]);
	for (size_t i = 0; i < result->n_omitted; i++) {
		const struct vmop_omitted *omitted = &result->omitted[i];
		add_text(report, "left_out", i, "session",
			 catalog->sessions[omitted->session].name);
		add_text(report, "left_out", i, "domain",
			 vmop_catalog_domain(catalog, omitted->domain)->name);
		add_count(report, "left_out", i, "samples", omitted->samples);
	}
}

static void add_unsampled_facts(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n; i++)
		if (vmop_catalog_domain(catalog, i)->is_unsampled)
			add_text(report, "not_sampled", n++, "domain",
				 vmop_catalog_domain(catalog, i)->name);
}

static void add_sample_facts(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	add_count(report, NULL, 0, "idle_samples", result->idle.samples);
	add_count(report, NULL, 0, "idle_weight", result->idle.weight_events);
	add_count(report, NULL, 0, "exact_samples", result->certain[VMOP_CERTAIN_EXACT]);
	add_count(report, NULL, 0, "likely_samples", result->certain[VMOP_CERTAIN_LIKELY]);
	add_count(report, NULL, 0, "ambiguous_samples", result->certain[VMOP_CERTAIN_AMBIGUOUS]);
	add_count(report, NULL, 0, "samples_without_symbols", result->missing.samples);
	add_count(report, NULL, 0, "hidden_rows", report->hidden->n_rows);
	const struct vmop_left_out *left_out = &result->left_out;
	add_count(report, NULL, 0, "left_out_events", left_out->events);
	add_count(report, NULL, 0, "left_out_items", left_out->items);
	add_count(report, NULL, 0, "left_out_samples", left_out->samples);
	add_count(report, NULL, 0, "left_out_rows", report->hidden->n_rows_beyond);
	add_count(report, NULL, 0, "left_out_symbols", left_out->images);
	add_count(report, NULL, 0, "left_out_details",
		  left_out->details ? result->cells.n : left_out->n_details);
}

static void add_event_facts(struct vmop_report *report, size_t e)
{
	const struct vmop_result *result = report->result;
	const struct vmop_event_item *event = vmop_result_event(result, e);
	add_text(report, "events", e, "name", event->label);
	add_text(report, "events", e, "source", event->source);
	add_text(report, "events", e, "unit", event->unit);
	add_text(report, "events", e, "note", event->note);
	add_count(report, "events", e, "period", event->period_events);
	add_count(report, "events", e, "frequency_hz", event->frequency_hz);
	add_count(report, "events", e, "samples", result->selected[e].samples);
	add_count(report, "events", e, "weight", result->selected[e].weight_events);
	add_count(report, "events", e, "whole_weight", result->base[e].weight_events);
	add_ratio(report, "events", e, "scale", event->scale);
	if (!event->enabled_ns)
		return;
	add_count(report, "events", e, "enabled_ns", event->enabled_ns);
	add_count(report, "events", e, "running_ns", event->running_ns);
}

static void add_ratio_facts(struct vmop_report *report, size_t i)
{
	const struct vmop_result *result = report->result;
	const struct vmop_ratio *ratio = &report->ratios->items[i];
	struct vmop_ratio_value value = vmop_ratio_of_all(ratio, result);
	add_text(report, "ratios", i, "name", ratio->name);
	add_text(report, "ratios", i, "numerator",
		 vmop_result_event(result, ratio->numerator)->label);
	add_text(report, "ratios", i, "denominator",
		 vmop_result_event(result, ratio->denominator)->label);
	add_ratio(report, "ratios", i, "factor", ratio->factor);
	if (!value.has_interval)
		return;
	if (value.quality >= VMOP_RATIO_ROUGH)
		add_ratio(report, "ratios", i, "value", value.value);
	add_ratio(report, "ratios", i, "low", value.low);
	add_ratio(report, "ratios", i, "high", value.high);
}

static void add_loss_facts(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	add_fact(report, "losses", 0, NULL, VMOP_VALUE_TEXT, (struct vmop_value){0});
	for (size_t i = 0; i < catalog->n_losses; i++) {
		const struct vmop_loss_item *loss = &catalog->losses[i];
		add_text(report, "losses", i, "name", loss->name);
		add_text(report, "losses", i, "session", catalog->sessions[loss->session].name);
		add_text(report, "losses", i, "domain",
			 vmop_catalog_domain(catalog, loss->domain)->name);
		add_text(report, "losses", i, "event",
			 vmop_catalog_event(catalog, loss->event)->name);
		add_count(report, "losses", i, "count", loss->count);
	}
}

static void add_all_facts(struct vmop_report *report)
{
	report->sheet.n_facts = 0;
	add_sessions_facts(report);
	add_unsampled_facts(report);
	add_sample_facts(report);
	for (size_t e = 0; e < report->result->n_events; e++)
		add_event_facts(report, e);
	for (size_t i = 0; i < report->ratios->n; i++)
		add_ratio_facts(report, i);
	add_loss_facts(report);
}

static struct vmop_error *add_facts(struct vmop_report *report)
{
	add_all_facts(report); /* counts them, for there is no room yet */
	report->facts =
		vmop_arena_alloc(&report->arena, report->sheet.n_facts * sizeof(*report->facts));
	if (!report->facts)
		return &vmop_error_no_memory;
	report->sheet.facts = report->facts;
	add_all_facts(report);
	return NULL;
}

/* ---- the whole ------------------------------------------------------------ */

static struct vmop_error *accumulate(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	size_t n_events = result->n_events;
	report->sums = vmop_arena_alloc(&report->arena,
					(result->n_rows + 1) * n_events * sizeof(*report->sums));
	if (!report->sums)
		return &vmop_error_no_memory;
	for (size_t row = 0; row < result->n_rows; row++) {
		for (size_t e = 0; e < n_events; e++) {
			struct vmop_count sum =
				vmop_result_sum(result, result->rows[row].counts, e);
			if (row) {
				struct vmop_count before = report->sums[(row - 1) * n_events + e];
				vmop_count_add(&sum, before.samples, before.weight_events);
			}
			report->sums[row * n_events + e] = sum;
		}
	}
	return NULL;
}

static size_t n_details(const struct vmop_sheet *sheet, size_t row)
{
	const struct vmop_report *report = sheet->data;
	return report->result->rows[row].n_details;
}

struct vmop_error *vmop_report_create(const struct vmop_report_options *options,
				      struct vmop_result *result, const struct vmop_ratios *ratios,
				      const struct vmop_hidden *hidden, struct vmop_report **ret)
{
	struct vmop_report *report = calloc(1, sizeof(*report));
	if (!report)
		return &vmop_error_no_memory;
	report->options = *options;
	report->result = result;
	report->ratios = ratios;
	report->hidden = hidden;
	report->sheet = (struct vmop_sheet){.n_rows = result->n_rows,
					    .n_details = n_details,
					    .values = vmop_report_values,
					    .data = report};
	struct vmop_error *err = vmop_report_add_columns(report);
	if (!err)
		err = vmop_report_prepare_values(report);
	if (!err && options->accumulated)
		err = accumulate(report);
	if (!err)
		err = add_lines(report);
	if (!err)
		err = add_footer(report);
	if (!err)
		err = add_facts(report);
	if (err) {
		vmop_report_destroy(report);
		return err;
	}
	*ret = report;
	return NULL;
}

void vmop_report_destroy(struct vmop_report *report)
{
	if (!report)
		return;
	vmop_arena_deinit(&report->arena);
	free(report->lines);
	free(report);
}

const struct vmop_sheet *vmop_report_sheet(const struct vmop_report *report)
{
	return &report->sheet;
}

const char *vmop_report_losses(const struct vmop_report *report)
{
	return report->losses;
}

const char *vmop_report_left_out(const struct vmop_report *report)
{
	return report->left_out;
}
