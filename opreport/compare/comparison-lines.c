// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines above a comparison's table, and the facts for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/plural.h"
#include "opreport/compare/difference.h"
#include "opreport/compare/figure.h"
#include "opreport/compare/sheet-open.h"
#include "opreport/output/time-text.h"

/* How many losses of a side its line names. */
#define LOSSES_NAMED_MAX 6

static struct vmop_error *add_line(struct vmop_comparison_sheet *of, const char *text)
{
	if (!text)
		return &vmop_error_no_memory;
	of->head[of->sheet.n_lines++] = text;
	return NULL;
}

/* ---- sides ------------------------------------------------------------------------ */

/* Print "60 s of alpha: 6.1.0 x86_64, 2 CPUs" and the beginning of the first session. */
static void print_sessions(FILE *out, const struct vmop_side *side)
{
	const struct vmop_catalog *catalog = &side->result.catalog;
	const struct vmop_session_facts *facts = &catalog->sessions[0];
	char span[40], start[40];
	vmop_format_span((uint64_t)(side->seconds * 1e9), span, sizeof(span));
	vmop_format_time(catalog->start_ns, start, sizeof(start));
	fprintf(out, "%s", span);
	if (catalog->n_sessions > 1)
		fprintf(out, " of %zu sessions, the first", catalog->n_sessions);
	if (*facts->hostname)
		fprintf(out, " of %s", facts->hostname);
	if (*facts->kernel)
		fprintf(out, ": %s %s", facts->kernel, facts->machine);
	if (*facts->cpus)
		fprintf(out, ", %s CPU%s", facts->cpus, strcmp(facts->cpus, "1") ? "s" : "");
	fprintf(out, ", from %s", start);
	size_t n_open = 0;
	for (size_t s = 0; s < catalog->n_sessions; s++)
		n_open += !catalog->sessions[s].is_finished;
	if (n_open)
		fputs(", not ended: still recording, or cut off", out);
}

/* Print "lost 12, throttled 3": sums over domains, events and sessions.  Return false for none. */
static bool print_losses(FILE *out, const struct vmop_catalog *catalog)
{
	size_t n = 0;
	uint64_t others = 0;
	for (size_t i = 0, next; i < catalog->n_losses; i = next) { /* sorted by name */
		uint64_t count = 0;
		for (next = i; next < catalog->n_losses &&
			       !strcmp(catalog->losses[next].name, catalog->losses[i].name);
		     next++)
			count += catalog->losses[next].count;
		if (count && n++ < LOSSES_NAMED_MAX)
			fprintf(out, "%s%s %" PRIu64, n > 1 ? ", " : "", catalog->losses[i].name,
				count);
		else
			others += count;
	}
	if (others)
		fprintf(out, ", others %" PRIu64, others);
	return n;
}

/* Return what the bounds of a side's query left out. */
static uint64_t samples_left_out(const struct vmop_result *result)
{
	return result->left_out.samples + result->left_out.items + result->left_out.images;
}

/* Return a text of the arena from what print(out, side) writes, or NULL without memory. */
static const char *printed(struct vmop_comparison_sheet *of, const struct vmop_side *side,
			   void (*print)(FILE *out, const struct vmop_side *side))
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	print(out, side);
	return fclose(out) == 0 ? vmop_arena_text(&of->arena, text) : NULL;
}

static void print_side(FILE *out, const struct vmop_side *side)
{
	fprintf(out, "%c: %s: ", side->letter, *side->label ? side->label : "current");
	print_sessions(out, side);
}

static void print_side_losses(FILE *out, const struct vmop_side *side)
{
	fprintf(out, "%c: losses: ", side->letter);
	const struct vmop_choice *choice = &side->result.choice;
	if (!print_losses(out, &side->result.catalog))
		fputs("none", out);
	else if (choice->from_ns || choice->to_ns)
		fputs(" (in the whole session)", out);
	if (samples_left_out(&side->result))
		fputs("; too much for one report, some rows or symbols are left out", out);
}

static void print_losses_alone(FILE *out, const struct vmop_side *side)
{
	print_losses(out, &side->result.catalog);
}

static bool has_losses(const struct vmop_side *side)
{
	for (size_t i = 0; i < side->result.catalog.n_losses; i++)
		if (side->result.catalog.losses[i].count)
			return true;
	return samples_left_out(&side->result);
}

static struct vmop_error *add_side_lines(struct vmop_comparison_sheet *of)
{
	const struct vmop_comparison *comparison = of->comparison;
	struct vmop_error *err = NULL;
	bool any = false;
	for (size_t s = 0; s < comparison->n_sides && !err; s++)
		err = add_line(of, printed(of, &comparison->sides[s], print_side));
	for (size_t s = 0; s < comparison->n_sides && !err; s++) {
		if (!has_losses(&comparison->sides[s]))
			continue;
		any = true;
		err = add_line(of, printed(of, &comparison->sides[s], print_side_losses));
	}
	return err || any ? err : add_line(of, "losses: none");
}

/* ---- events ----------------------------------------------------------------------- */

/* Return what numbers are of, such as "s per s", for the line of an event. */
static const char *unit_of(struct vmop_comparison_sheet *of, size_t event)
{
	const struct vmop_per *per = &of->comparison->per;
	const char *unit = of->comparison->events[event].unit;
	bool is_time = !strcmp(unit, "ns") && per->kind != VMOP_PER_EVENT;
	unit = is_time ? "s" : *unit ? unit : "events";
	switch (per->kind) {
	case VMOP_PER_TIME:
		return vmop_comparison_sheet_text(of, "%s per second", unit);
	case VMOP_PER_UNITS:
		return vmop_comparison_sheet_text(of, "%s per unit of work", unit);
	case VMOP_PER_EVENT:
		return vmop_comparison_sheet_text(of, "%s per %s", unit, per->event);
	default:
		return "% of the samples, by weight";
	}
}

/* Return ", all: A 0.99, B 1.50, ratio 1.50 1.49..1.52", "" for shares, whose sum is always 100. */
static const char *total_of(struct vmop_comparison_sheet *of, size_t event, size_t other)
{
	const struct vmop_comparison *comparison = of->comparison;
	struct vmop_count counts[VMOP_SIDES_MAX];
	char before[28], after[28], ratio[VMOP_FIGURE_BYTES];
	bool is_ns = !strcmp(comparison->events[event].unit, "ns") &&
		     comparison->per.kind != VMOP_PER_EVENT;
	if (comparison->per.kind == VMOP_PER_SAMPLES)
		return "";
	for (size_t s = 0; s < comparison->n_sides; s++)
		counts[s] = vmop_comparison_all(comparison, event, s);
	struct vmop_difference all = vmop_difference_of(comparison, counts, event, other);
	if (!all.difference.is_known)
		return "";
	vmop_figure(all.before.value * (is_ns ? 1e-9 : 1), false, before, sizeof(before));
	vmop_figure(all.after.value * (is_ns ? 1e-9 : 1), false, after, sizeof(after));
	vmop_figure_interval(all.ratio, false, false, ratio);
	return vmop_comparison_sheet_text(of, "; all: %s and %s, ratio %s%s", before, after, ratio,
					  all.change == VMOP_CHANGE_NOISE ? " (noise)" : "");
}

static struct vmop_error *add_event_line(struct vmop_comparison_sheet *of)
{
	const struct vmop_comparison *comparison = of->comparison;
	size_t event = of->options.event, other = of->options.other;
	const char *unit = unit_of(of, event), *total = total_of(of, event, other);
	uint64_t first = vmop_comparison_all(comparison, event, 0).samples;
	if (!unit || !total)
		return &vmop_error_no_memory;
	return add_line(of,
			vmop_comparison_sheet_text(
				of, "%s: %" PRIu64 " sample%s in %c, %" PRIu64 " in %c; in %s%s",
				comparison->events[event].label, first, vmop_plural(first),
				comparison->sides[0].letter,
				vmop_comparison_all(comparison, event, other).samples,
				comparison->sides[other].letter, unit, total));
}

struct vmop_error *vmop_comparison_sheet_add_lines(struct vmop_comparison_sheet *of)
{
	struct vmop_error *err = NULL;
	of->n_head_max = 2 * of->comparison->n_sides + 3;
	of->head = vmop_arena_alloc(&of->arena, of->n_head_max * sizeof(*of->head));
	if (!of->head)
		return &vmop_error_no_memory;
	of->sheet.lines = of->head;
	if (!of->options.for_people)
		return NULL;
	if (of->options.with_head)
		err = add_side_lines(of);
	return err ? err : add_event_line(of);
}

/* ---- facts ------------------------------------------------------------------------ */

static void add_fact(struct vmop_comparison_sheet *of, const char *list, size_t item,
		     const char *name, enum vmop_value_type type, struct vmop_value value)
{
	size_t i = of->sheet.n_facts++;
	if (of->facts)
		of->facts[i] = (struct vmop_fact){list, item, name, type, value};
}

static void add_text(struct vmop_comparison_sheet *of, const char *list, size_t item,
		     const char *name, const char *text)
{
	add_fact(of, list, item, name, VMOP_VALUE_TEXT,
		 (struct vmop_value){.text = text ? text : ""});
}

static void add_count(struct vmop_comparison_sheet *of, const char *list, size_t item,
		      const char *name, uint64_t number)
{
	add_fact(of, list, item, name, VMOP_VALUE_COUNT, (struct vmop_value){.number = number});
}

static void add_number(struct vmop_comparison_sheet *of, const char *list, size_t item,
		       const char *name, double number)
{
	add_fact(of, list, item, name, VMOP_VALUE_RATIO, (struct vmop_value){.ratio = number});
}

static const char *per_text(struct vmop_comparison_sheet *of)
{
	const struct vmop_per *per = &of->comparison->per;
	switch (per->kind) {
	case VMOP_PER_TIME:
		return "time";
	case VMOP_PER_UNITS:
		return "units";
	case VMOP_PER_EVENT:
		return per->event;
	default:
		return "samples";
	}
}

static void add_side_facts(struct vmop_comparison_sheet *of, size_t s)
{
	const struct vmop_side *side = &of->comparison->sides[s];
	const struct vmop_per *per = &of->comparison->per;
	const struct vmop_session_facts *facts = &side->result.catalog.sessions[0];
	add_text(of, "sides", s, "side", vmop_comparison_sheet_text(of, "%c", side->letter));
	add_text(of, "sides", s, "specs", side->label);
	add_text(of, "sides", s, "hostname", facts->hostname);
	add_text(of, "sides", s, "kernel", facts->kernel);
	add_text(of, "sides", s, "machine", facts->machine);
	add_number(of, "sides", s, "seconds", side->seconds);
	if (per->kind == VMOP_PER_UNITS)
		add_number(of, "sides", s, "units", per->units[per->n_units == 1 ? 0 : s]);
	add_count(of, "sides", s, "left_out", samples_left_out(&side->result));
	add_text(of, "sides", s, "losses", printed(of, side, print_losses_alone));
}

static void add_event_facts(struct vmop_comparison_sheet *of, size_t e)
{
	const struct vmop_comparison *comparison = of->comparison;
	const struct vmop_compared_event *event = &comparison->events[e];
	add_text(of, "events", e, "name", event->label);
	add_text(of, "events", e, "unit", event->unit);
	for (size_t s = 0; s < comparison->n_sides; s++) {
		struct vmop_count all = vmop_comparison_all(comparison, e, s);
		char letter = (char)('a' + s);
		if (event->slots[s] == SIZE_MAX)
			continue;
		add_count(of, "events", e, vmop_comparison_sheet_text(of, "samples_%c", letter),
			  all.samples);
		add_count(of, "events", e, vmop_comparison_sheet_text(of, "weight_%c", letter),
			  all.weight_events);
	}
}

static void add_all_facts(struct vmop_comparison_sheet *of)
{
	of->sheet.n_facts = 0;
	add_text(of, NULL, 0, "per", per_text(of));
	add_count(of, NULL, 0, "confidence_percent", VMOP_CONFIDENCE_PERCENT);
	for (size_t s = 0; s < of->comparison->n_sides; s++)
		add_side_facts(of, s);
	for (size_t e = 0; e < of->comparison->n_events; e++)
		add_event_facts(of, e);
}

struct vmop_error *vmop_comparison_sheet_add_facts(struct vmop_comparison_sheet *of)
{
	if (of->options.for_people)
		return NULL;
	add_all_facts(of); /* only counts them: there is no room yet */
	of->facts = vmop_arena_alloc(&of->arena, of->sheet.n_facts * sizeof(*of->facts));
	if (!of->facts)
		return &vmop_error_no_memory;
	of->sheet.facts = of->facts;
	add_all_facts(of);
	for (size_t i = 0; i < of->sheet.n_facts; i++)
		if (!of->facts[i].name)
			return &vmop_error_no_memory;
	return NULL;
}
