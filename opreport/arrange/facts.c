// SPDX-License-Identifier: GPL-2.0-or-later
/* List the facts of a report that programs read in place of the lines above the table. */
#include "libutil/stack-end.h"
#include "opreport/arrange/report-open.h"
#include "opreport/stacks/frame.h"

static void add_fact(struct vmop_report *report, const char *list, size_t item, const char *name,
		     enum vmop_value_type type, struct vmop_value value)
{
	size_t n = report->sheet.n_facts++;
	if (report->facts) /* NULL: only count them */
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

/* Add the facts of a session, to "session" or to an item of the list "sessions". */
static void add_session_facts(struct vmop_report *report, const char *list, size_t item,
			      const struct vmop_session_facts *facts)
{
	add_text(report, list, item, "name", facts->name);
	add_text(report, list, item, "hostname", facts->hostname);
	add_text(report, list, item, "kernel", facts->kernel);
	add_text(report, list, item, "machine", facts->machine);
	add_text(report, list, item, "cpus", facts->cpus);
	add_text(report, list, item, "kernel_symbols", facts->kernel_symbols);
	if (*facts->guest_context)
		add_text(report, list, item, "guest_context", facts->guest_context);
	add_text(report, list, item, "vmop", facts->vmop);
	add_count(report, list, item, "start_ns", facts->start_ns);
	add_count(report, list, item, "end_ns", facts->end_ns);
	if (facts->guest)
		add_text(report, list, item, "clock", facts->has_clock ? "host" : "guest");
	add_text(report, list, item, "state", facts->is_finished ? "finished" : "not ended");
}

/* Add which span of time has which detail, of all sessions, to the list "spans". */
static void add_detail_facts(struct vmop_report *report)
{
	const struct vmop_catalog *catalog = &report->result->catalog;
	size_t n = 0;
	for (size_t s = 0; s < catalog->n_sessions; s++) {
		const struct vmop_session_facts *facts = &catalog->sessions[s];
		for (size_t i = 0; i < facts->n_details; i++, n++) {
			add_text(report, "spans", n, "session", facts->name);
			add_count(report, "spans", n, "start_ns", facts->details[i].start_ns);
			add_count(report, "spans", n, "end_ns", facts->details[i].end_ns);
			add_count(report, "spans", n, "interval_ns", facts->details[i].interval_ns);
		}
	}
}

static void add_sessions_facts(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	const struct vmop_catalog *catalog = &result->catalog;
	if (catalog->n_sessions == 1) {
		add_session_facts(report, NULL, 0, &catalog->sessions[0]);
	} else { /* "session" has the facts of all together */
		add_count(report, NULL, 0, "start_ns", catalog->start_ns);
		add_count(report, NULL, 0, "end_ns", catalog->end_ns);
	}
	for (size_t s = 0; s < catalog->n_sessions; s++)
		add_session_facts(report, "sessions", s, &catalog->sessions[s]);
	add_detail_facts(report);
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
	add_count(report, NULL, 0, "left_out_stacks", left_out->stacks);
	add_count(report, NULL, 0, "left_out_rows", report->hidden->n_rows_beyond);
	add_count(report, NULL, 0, "left_out_symbols", left_out->images);
	add_count(report, NULL, 0, "left_out_details",
		  left_out->details ? result->cells.n : left_out->n_details);
}

/* Add a fact for each end of stacks, so that programs find all of them; "damaged" is the last. */
static void add_stack_facts(struct vmop_report *report)
{
	const struct vmop_stack_facts *stacks = &report->result->stacks;
	if (!stacks->are_read)
		return;
	add_count(report, NULL, 0, "samples_without_stack", stacks->none);
	for (unsigned end = 0; end <= VMOP_N_STACK_ENDS; end++) {
		bool is_end = end < VMOP_N_STACK_ENDS;
		add_text(report, "stacks", end, "end",
			 is_end ? vmop_stack_end_word(end) : "damaged");
		add_count(report, "stacks", end, "samples",
			  is_end ? stacks->ends[end] : stacks->damaged);
	}
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
	add_stack_facts(report);
	for (size_t e = 0; e < report->result->n_events; e++)
		add_event_facts(report, e);
	for (size_t i = 0; i < report->ratios->n; i++)
		add_ratio_facts(report, i);
	add_loss_facts(report);
}

struct vmop_error *vmop_report_add_facts(struct vmop_report *report)
{
	add_all_facts(report); /* only counts them: there is no room yet */
	report->facts =
		vmop_arena_alloc(&report->arena, report->sheet.n_facts * sizeof(*report->facts));
	if (!report->facts)
		return &vmop_error_no_memory;
	report->sheet.facts = report->facts;
	add_all_facts(report);
	return NULL;
}
