// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/call-report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opreport/query/arena.h"

enum column_id {
	COLUMN_TOTAL_SAMPLES,
	COLUMN_TOTAL_WEIGHT,
	COLUMN_TOTAL_PERCENT,
	COLUMN_SELF_SAMPLES,
	COLUMN_SELF_WEIGHT,
	COLUMN_SELF_PERCENT,
	COLUMN_ROLE,
	COLUMN_DEPTH,
	COLUMN_KIND,
	COLUMN_DOMAIN,
	COLUMN_IMAGE,
	COLUMN_SYMBOL,
	COLUMN_FUNCTION,
	COLUMN_FUNCTION_IMAGE,
};

enum {
	EVENT_COLUMNS = 6,
	NAME_COLUMNS = 8,
	INDENT_COLUMNS = 2, /* of a level */
	INDENT_MAX = 60,    /* columns: more than that leaves no room for names */
};

struct vmop_call_report {
	struct vmop_call_report_options options;
	const struct vmop_call_lines *lines;
	const struct vmop_call_tree *tree;
	struct vmop_arena arena;
	struct vmop_column *columns;
	const char **shown; /* by line: the symbol, indented for people; NULL: not made yet */
	const char *footer[1];
	struct vmop_sheet sheet;
};

/* ---- columns ---------------------------------------------------------------- */

static void add(struct vmop_call_report *report, enum column_id id, const char *name,
		const char *heading, enum vmop_value_type type, size_t event)
{
	report->columns[report->sheet.n_columns++] = (struct vmop_column){
		.name = name,
		.heading = heading,
		.type = type,
		.is_elastic = id == COLUMN_IMAGE || id == COLUMN_SYMBOL,
		.id = (int)id,
		.event = event,
	};
}

/* Return "samples", or "samples:cycles" if there are several events; "" without memory. */
static const char *of_event(struct vmop_call_report *report, const char *name, size_t event)
{
	const struct vmop_result *result = report->tree->result;
	if (result->n_events == 1)
		return name;
	char text[256];
	snprintf(text, sizeof(text), "%s:%s", name, vmop_result_event(result, event)->label);
	const char *kept = vmop_arena_text(&report->arena, text);
	return kept ? kept : "";
}

static void add_event_columns(struct vmop_call_report *report, size_t event)
{
	const struct vmop_result *result = report->tree->result;
	bool several = result->n_events > 1;
	const char *heading = several ? vmop_result_event(result, event)->label : "samples";
	add(report, COLUMN_TOTAL_SAMPLES, of_event(report, "samples", event), heading,
	    VMOP_VALUE_COUNT, event);
	add(report, COLUMN_TOTAL_WEIGHT, of_event(report, "weight", event), NULL, VMOP_VALUE_COUNT,
	    event);
	add(report, COLUMN_TOTAL_PERCENT, of_event(report, "percent", event), "%",
	    VMOP_VALUE_PERCENT, event);
	if (!report->options.with_self)
		return;
	add(report, COLUMN_SELF_SAMPLES, of_event(report, "self_samples", event), "self",
	    VMOP_VALUE_COUNT, event);
	add(report, COLUMN_SELF_WEIGHT, of_event(report, "self_weight", event), NULL,
	    VMOP_VALUE_COUNT, event);
	add(report, COLUMN_SELF_PERCENT, of_event(report, "self_percent", event), "self %",
	    VMOP_VALUE_PERCENT, event);
}

/* Return whether the lines are of several domains. */
static bool has_guests(const struct vmop_result *result)
{
	size_t n = 0;
	for (size_t i = 1; i < result->catalog.domains.n; i++)
		n += vmop_catalog_domain(&result->catalog, i)->row == i;
	return n > 1;
}

static struct vmop_error *add_columns(struct vmop_call_report *report)
{
	const struct vmop_result *result = report->tree->result;
	size_t n_max = EVENT_COLUMNS * result->n_events + NAME_COLUMNS;
	report->columns = vmop_arena_alloc(&report->arena, n_max * sizeof(*report->columns));
	if (!report->columns)
		return &vmop_error_no_memory;
	report->sheet.columns = report->columns;
	for (size_t e = 0; e < result->n_events; e++)
		add_event_columns(report, e);
	if (report->options.is_graph)
		add(report, COLUMN_ROLE, "role", NULL, VMOP_VALUE_TEXT, 0);
	else
		add(report, COLUMN_DEPTH, "depth", NULL, VMOP_VALUE_COUNT, 0);
	add(report, COLUMN_KIND, "kind", NULL, VMOP_VALUE_TEXT, 0);
	bool shows_domain = report->options.shows_domain || has_guests(result);
	add(report, COLUMN_DOMAIN, "domain", shows_domain ? "domain" : NULL, VMOP_VALUE_TEXT, 0);
	add(report, COLUMN_IMAGE, "image", "image", VMOP_VALUE_TEXT, 0);
	add(report, COLUMN_SYMBOL, "symbol", "symbol", VMOP_VALUE_TEXT, 0);
	if (report->options.is_graph) {
		add(report, COLUMN_FUNCTION_IMAGE, "function_image", NULL, VMOP_VALUE_TEXT, 0);
		add(report, COLUMN_FUNCTION, "function", NULL, VMOP_VALUE_TEXT, 0);
	}
	return NULL;
}

/* ---- values ------------------------------------------------------------------ */

static struct vmop_frame *frame_at(const struct vmop_call_report *report, uint32_t frame)
{
	return &report->tree->frames.items[frame];
}

static const char *symbol_name(const struct vmop_call_report *report, uint32_t frame)
{
	return vmop_frame_symbol_name(report->tree->result, frame_at(report, frame));
}

static const char *image_name(const struct vmop_call_report *report, uint32_t number)
{
	const struct vmop_frame *frame = frame_at(report, number);
	if (!vmop_frame_is_code(frame))
		return "";
	const char *name = vmop_frame_image(report->tree->result, frame)->name;
	return report->options.long_filenames ? name : vmop_image_base_name(name);
}

static const char *domain_name(const struct vmop_call_report *report, uint32_t number)
{
	const struct vmop_frame *frame = frame_at(report, number);
	bool has_domain = vmop_frame_is_code(frame) || frame->key.kind == VMOP_FRAME_DOMAIN;
	return has_domain ? vmop_frame_domain(report->tree->result, frame)->name : "";
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[VMOP_N_FRAME_KINDS] = {
		[VMOP_FRAME_USER] = "user",
		[VMOP_FRAME_KERNEL] = "kernel",
		[VMOP_FRAME_HYPERVISOR] = "hypervisor",
		[VMOP_FRAME_GUEST_USER] = "guest user",
		[VMOP_FRAME_GUEST_KERNEL] = "guest kernel",
		[VMOP_FRAME_OTHER] = "unknown",
		[VMOP_FRAME_END] = "end of an incomplete stack",
		[VMOP_FRAME_DAMAGED] = "damaged",
		[VMOP_FRAME_LEFT_OUT] = "left out",
		[VMOP_FRAME_SESSION] = "session",
		[VMOP_FRAME_DOMAIN] = "domain",
		[VMOP_FRAME_CGROUP] = "cgroup",
		[VMOP_FRAME_TASK] = "task",
		[VMOP_FRAME_CPU] = "cpu",
		[VMOP_FRAME_VCPU] = "vcpu",
		[VMOP_FRAME_CERTAINTY] = "certainty",
	};
	return names[kind];
}

static const char *role_name(enum vmop_call_role role)
{
	static const char *const names[] = {[VMOP_CALL_FUNCTION] = "function",
					    [VMOP_CALL_CALLER] = "caller",
					    [VMOP_CALL_CALLEE] = "callee",
					    [VMOP_CALL_FRAME] = "",
					    [VMOP_CALL_BLANK] = ""};
	return names[role];
}

/* Return the columns before a line's symbol in a table, and set *ret_mark to what ends them. */
static int indent_of(const struct vmop_call_line *line, const char **ret_mark)
{
	*ret_mark = "";
	if (line->role == VMOP_CALL_CALLER || line->role == VMOP_CALL_CALLEE)
		return INDENT_COLUMNS;
	if (line->role == VMOP_CALL_FUNCTION)
		return 0;
	if (line->is_branch)
		*ret_mark = "- ";
	uint32_t n = line->n_branches < INDENT_MAX ? line->n_branches : INDENT_MAX;
	n *= INDENT_COLUMNS;
	return n < INDENT_MAX ? (int)n : INDENT_MAX;
}

/* Return the symbol of a line as the format shows it; "" without memory. */
static const char *shown_symbol(const struct vmop_call_report *report, size_t row)
{
	const struct vmop_call_line *line = &report->lines->items[row];
	const char *name = symbol_name(report, line->frame), *mark;
	int indent = indent_of(line, &mark);
	if (!report->options.for_people || (!indent && !*mark))
		return name;
	if (report->shown[row])
		return report->shown[row];
	struct vmop_call_report *cache = report->sheet.data;
	report->shown[row] = vmop_arena_format(&cache->arena, "%*s%s%s", indent, "", mark, name);
	return report->shown[row] ? report->shown[row] : "";
}

static struct vmop_value text_value(const char *text)
{
	return (struct vmop_value){.text = text, .is_empty = !*text};
}

static struct vmop_value count_value(const struct vmop_call_line *line,
				     const struct vmop_column *column)
{
	size_t e = column->event;
	bool is_self = column->id >= COLUMN_SELF_SAMPLES;
	const struct vmop_count *counts = is_self ? line->self : line->total;
	if (!counts)
		return (struct vmop_value){.is_empty = true};
	if (column->type == VMOP_VALUE_PERCENT)
		return (struct vmop_value){.percent = vmop_share_percent(counts[e], line->base[e])};
	bool is_weight = column->id == COLUMN_TOTAL_WEIGHT || column->id == COLUMN_SELF_WEIGHT;
	return (struct vmop_value){.number =
					   is_weight ? counts[e].weight_events : counts[e].samples};
}

static struct vmop_value name_value(const struct vmop_call_report *report, size_t row,
				    enum column_id id)
{
	const struct vmop_call_line *line = &report->lines->items[row];
	switch (id) {
	case COLUMN_ROLE:
		return text_value(role_name(line->role));
	case COLUMN_DEPTH:
		return (struct vmop_value){.number = line->depth};
	case COLUMN_KIND:
		return text_value(kind_name(frame_at(report, line->frame)->key.kind));
	case COLUMN_DOMAIN:
		return text_value(domain_name(report, line->frame));
	case COLUMN_IMAGE:
		return text_value(image_name(report, line->frame));
	case COLUMN_SYMBOL:
		return text_value(shown_symbol(report, row));
	case COLUMN_FUNCTION:
		return text_value(symbol_name(report, line->function));
	default:
		return text_value(image_name(report, line->function));
	}
}

static void read_values(const struct vmop_sheet *sheet, size_t row, size_t detail,
			struct vmop_value *ret)
{
	const struct vmop_call_report *report = sheet->data;
	const struct vmop_call_line *line = &report->lines->items[row];
	(void)detail;
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (line->role == VMOP_CALL_BLANK)
			ret[c].is_empty = true;
		else if (column->id < COLUMN_ROLE)
			ret[c] = count_value(line, column);
		else
			ret[c] = name_value(report, row, (enum column_id)column->id);
	}
}

/* ---- the sheet ----------------------------------------------------------------- */

static struct vmop_error *add_footer(struct vmop_call_report *report)
{
	size_t n = report->lines->n_hidden;
	char text[128];
	if (!n)
		return NULL;
	snprintf(text, sizeof(text), "(%zu more %s%s)", n,
		 report->options.is_graph ? "function" : "branch",
		 n == 1			    ? ""
		 : report->options.is_graph ? "s"
					    : "es");
	report->footer[0] = vmop_arena_text(&report->arena, text);
	report->sheet.footer = report->footer;
	report->sheet.n_footer = 1;
	return report->footer[0] ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_call_report_create(const struct vmop_call_report_options *options,
					   const struct vmop_sheet *base,
					   const struct vmop_call_lines *lines,
					   const struct vmop_call_tree *tree,
					   struct vmop_call_report **ret)
{
	struct vmop_call_report *report = calloc(1, sizeof(*report));
	if (!report)
		return &vmop_error_no_memory;
	report->options = *options;
	report->lines = lines;
	report->tree = tree;
	report->sheet = (struct vmop_sheet){
		.n_rows = lines->n,
		.lines = base->lines,
		.n_lines = base->n_lines,
		.facts = base->facts,
		.n_facts = base->n_facts,
		.values = read_values,
		.data = report,
	};
	report->shown = calloc(lines->n + 1, sizeof(*report->shown));
	struct vmop_error *err = report->shown ? NULL : &vmop_error_no_memory;
	if (!err)
		err = add_columns(report);
	if (!err)
		err = add_footer(report);
	if (err) {
		vmop_call_report_destroy(report);
		return err;
	}
	*ret = report;
	return NULL;
}

void vmop_call_report_destroy(struct vmop_call_report *report)
{
	if (!report)
		return;
	vmop_arena_deinit(&report->arena);
	free(report->shown);
	free(report);
}

const struct vmop_sheet *vmop_call_report_sheet(const struct vmop_call_report *report)
{
	return &report->sheet;
}
