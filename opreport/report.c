// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/report-open.h"
#include "opreport/when.h"

enum {
	MAX_LINES = 8, /* beside two for each event, and one for each ratio */
	MAX_SESSION_FACTS = 27,
	EVENT_FACTS = 12,
	RATIO_FACTS = 8,
	LOSS_FACTS = 4,
};

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

static struct vmop_error *add_session_line(struct vmop_report *report)
{
	const struct vmop_session_facts *facts = &report->result->catalog.facts;
	bool has_host = *facts->hostname;
	return add_line(report, "session %s%s%s%s%s%s%s%s%s%s", report->options.session,
			has_host ? " of " : "", facts->hostname, *facts->kernel ? ": " : "",
			facts->kernel, *facts->machine ? " " : "", facts->machine,
			*facts->cpus ? ", " : "", facts->cpus, *facts->cpus ? " CPUs" : "");
}

static struct vmop_error *add_span_line(struct vmop_report *report)
{
	const struct vmop_session_facts *facts = &report->result->catalog.facts;
	const struct vmop_db_filter *filter = &report->result->choice.filter;
	uint64_t from_ns = filter->from_ns > facts->start_ns ? filter->from_ns : facts->start_ns;
	uint64_t to_ns =
		filter->to_ns && filter->to_ns < facts->end_ns ? filter->to_ns : facts->end_ns;
	if (to_ns < from_ns)
		to_ns = from_ns;
	char from[40], to[40], span[40];
	vmop_format_time(from_ns, from, sizeof(from));
	vmop_format_time(to_ns, to, sizeof(to));
	vmop_format_span(to_ns - from_ns, span, sizeof(span));
	size_t date_len = strcspn(from, " ");
	bool same_day = from[date_len] && !strncmp(from, to, date_len + 1);
	return add_line(report, "%s to %s (%s)%s", from, same_day ? to + date_len + 1 : to, span,
			facts->is_finished ? "" : ", not ended: still recording, or cut off");
}

static struct vmop_error *add_event_line(struct vmop_report *report, size_t e)
{
	const struct vmop_result *result = report->result;
	const struct vmop_event_item *event =
		vmop_catalog_event(&result->catalog, result->events[e]);
	char rate[64] = "";
	if (event->frequency_hz)
		snprintf(rate, sizeof(rate), " at %" PRIu64 " Hz", event->frequency_hz);
	else if (event->period_events)
		snprintf(rate, sizeof(rate), " every %" PRIu64 " %s", event->period_events,
			 *event->unit ? event->unit : "events");
	char idle[64] = "";
	if (e == 0 && result->idle.samples)
		snprintf(idle, sizeof(idle), ", %.1f %% of them idle",
			 vmop_share_percent(result->idle, result->selected[0]));
	char scale[64] = "";
	if (event->scale != 1)
		snprintf(scale, sizeof(scale), ", weights scaled x%.2f", event->scale);
	struct vmop_error *err =
		add_line(report, "%s%s: %" PRIu64 " samples%s%s%s", event->label, rate,
			 result->selected[e].samples,
			 result->choice.is_everything ? "" : " selected", idle, scale);
	if (!err && *event->note)
		err = add_line(report, "%s: %s", event->label, event->note);
	return err;
}

/* "ipc (instructions / cycles): 1.27 of all, 1.25 to 1.29 with 95 % confidence" */
static struct vmop_error *add_ratio_line(struct vmop_report *report, const struct vmop_ratio *ratio)
{
	const struct vmop_result *result = report->result;
	struct vmop_ratio_value value = vmop_ratio_of_all(ratio, result);
	const char *numerator =
		vmop_catalog_event(&result->catalog, result->events[ratio->numerator])->label;
	const char *denominator =
		vmop_catalog_event(&result->catalog, result->events[ratio->denominator])->label;
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
	for (size_t i = 0, next; i < catalog->n_losses; i = next) { /* they are in order of name */
		const char *name = catalog->losses[i].name;
		uint64_t count = 0;
		for (next = i; next < catalog->n_losses; next++) {
			if (strcmp(catalog->losses[next].name, name) != 0)
				break;
			count += catalog->losses[next].count;
		}
		if (count)
			fprintf(writer.out, "%s%s %" PRIu64, any ? ", " : "", name, count);
		any = any || count;
	}
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	report->losses = !err && any ? text : NULL;
	return err;
}

/* "[no-maps] 120, [unknown] 3": samples of the first event in images that are only names. */
static struct vmop_error *add_unattributed_line(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	struct writer writer;
	struct vmop_error *err = writer_begin(&writer);
	if (err)
		return err;
	bool any = false;
	for (size_t i = 0; i < result->catalog.images.n; i++) {
		const struct vmop_image_item *image = vmop_catalog_image(&result->catalog, i);
		uint64_t samples = 0;
		for (size_t e = 0; e < result->n_events; e++)
			samples += result->images[i * result->n_events + e].samples;
		if (image->kind != VMOP_IMAGE_NONE || !samples)
			continue;
		fprintf(writer.out, "%s%s %" PRIu64, any ? ", " : "", image->name, samples);
		any = true;
	}
	const char *text;
	err = writer_end(&writer, &report->arena, &text);
	return err || !any ? err : add_line(report, "samples without an image: %s", text);
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

/* Why the kernel's functions are addresses: it was so while recording, and can't be mended now. */
static struct vmop_error *add_kernel_symbols_line(struct vmop_report *report)
{
	const char *from = report->result->catalog.facts.kernel_symbols;
	return strncmp(from, "none", 4) ? NULL
					: add_line(report, "symbols of the host's kernel: %s", from);
}

static struct vmop_error *add_lines(struct vmop_report *report)
{
	size_t n_events = report->result->n_events;
	size_t n_max = MAX_LINES + 2 * n_events + report->ratios->n;
	report->lines = vmop_arena_alloc(&report->arena, n_max * sizeof(*report->lines));
	report->sheet.lines = report->lines;
	struct vmop_error *err = report->lines ? find_losses(report) : &vmop_error_no_memory;
	if (!err)
		err = add_session_line(report);
	if (!err)
		err = add_span_line(report);
	for (size_t e = 0; e < n_events && !err; e++)
		err = add_event_line(report, e);
	for (size_t i = 0; i < report->ratios->n && !err; i++)
		err = add_ratio_line(report, &report->ratios->items[i]);
	if (!err)
		err = add_line(report, "losses: %s", report->losses ? report->losses : "none");
	if (!err)
		err = add_kernel_symbols_line(report);
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
		     enum vmop_cell_type type, struct vmop_cell value)
{
	report->facts[report->sheet.n_facts++] = (struct vmop_fact){list, item, name, type, value};
}

static void add_text(struct vmop_report *report, const char *list, size_t item, const char *name,
		     const char *text)
{
	add_fact(report, list, item, name, VMOP_CELL_TEXT, (struct vmop_cell){.text = text});
}

static void add_count(struct vmop_report *report, const char *list, size_t item, const char *name,
		      uint64_t count)
{
	add_fact(report, list, item, name, VMOP_CELL_COUNT, (struct vmop_cell){.number = count});
}

static void add_ratio(struct vmop_report *report, const char *list, size_t item, const char *name,
		      double ratio)
{
	add_fact(report, list, item, name, VMOP_CELL_RATIO, (struct vmop_cell){.ratio = ratio});
}

static void add_session_facts(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	const struct vmop_session_facts *facts = &result->catalog.facts;
	add_text(report, NULL, 0, "name", report->options.session);
	add_text(report, NULL, 0, "hostname", facts->hostname);
	add_text(report, NULL, 0, "kernel", facts->kernel);
	add_text(report, NULL, 0, "machine", facts->machine);
	add_text(report, NULL, 0, "cpus", facts->cpus);
	add_text(report, NULL, 0, "kernel_symbols", facts->kernel_symbols);
	add_text(report, NULL, 0, "vmop", facts->vmop);
	add_count(report, NULL, 0, "start_ns", facts->start_ns);
	add_count(report, NULL, 0, "end_ns", facts->end_ns);
	add_text(report, NULL, 0, "state", facts->is_finished ? "finished" : "not ended");
	add_count(report, NULL, 0, "idle_samples", result->idle.samples);
	add_count(report, NULL, 0, "idle_weight", result->idle.weight_events);
	add_count(report, NULL, 0, "exact_samples", result->certain[VMOP_CERTAIN_EXACT]);
	add_count(report, NULL, 0, "likely_samples", result->certain[VMOP_CERTAIN_LIKELY]);
	add_count(report, NULL, 0, "ambiguous_samples", result->certain[VMOP_CERTAIN_AMBIGUOUS]);
	add_count(report, NULL, 0, "samples_without_symbols", result->missing.samples);
	add_count(report, NULL, 0, "hidden_rows", report->hidden->n_rows);
}

static void add_event_facts(struct vmop_report *report, size_t e)
{
	const struct vmop_result *result = report->result;
	const struct vmop_event_item *event =
		vmop_catalog_event(&result->catalog, result->events[e]);
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
		 vmop_catalog_event(&result->catalog, result->events[ratio->numerator])->label);
	add_text(report, "ratios", i, "denominator",
		 vmop_catalog_event(&result->catalog, result->events[ratio->denominator])->label);
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
	add_fact(report, "losses", 0, NULL, VMOP_CELL_TEXT, (struct vmop_cell){0});
	for (size_t i = 0; i < catalog->n_losses; i++) {
		const struct vmop_db_loss *loss = &catalog->losses[i];
		size_t domain = vmop_table_index(&catalog->domains, loss->domain);
		size_t event = vmop_table_index(&catalog->events, loss->event);
		add_text(report, "losses", i, "name", loss->name);
		add_text(report, "losses", i, "domain", vmop_catalog_domain(catalog, domain)->name);
		add_text(report, "losses", i, "event", vmop_catalog_event(catalog, event)->name);
		add_count(report, "losses", i, "count", loss->count);
	}
}

static struct vmop_error *add_facts(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	size_t n_max = MAX_SESSION_FACTS + EVENT_FACTS * result->n_events +
		       RATIO_FACTS * report->ratios->n + LOSS_FACTS * result->catalog.n_losses;
	report->facts = vmop_arena_alloc(&report->arena, n_max * sizeof(*report->facts));
	if (!report->facts)
		return &vmop_error_no_memory;
	report->sheet.facts = report->facts;
	add_session_facts(report);
	for (size_t e = 0; e < result->n_events; e++)
		add_event_facts(report, e);
	for (size_t i = 0; i < report->ratios->n; i++)
		add_ratio_facts(report, i);
	add_loss_facts(report);
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
					    .cell = vmop_report_cell,
					    .data = report};
	struct vmop_error *err = vmop_report_add_columns(report);
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
