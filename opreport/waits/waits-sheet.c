// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/waits-sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "opreport/waits/exit-reason.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

enum column_id {
	DOMAIN,
	VCPU,
	SECONDS,
	STATE_PERCENT, /* of the state in the column's event */
	STATE_NS,
	MOST_CULPRIT,
	MOST_PERCENT,
	KIND,
	CULPRIT,
	ROW_NS,
	ROW_SECONDS,
	ROW_PERCENT,  /* of the guest's time */
	ROW_OF_WAITS, /* in percent, of its waits */
	ROW_COUNT,
	REASON,
	NS_EACH,
	FUNCTION,
	FUNCTION_PERCENT,
};

#define STATES                                                                                     \
	{"seconds", "seconds", VMOP_VALUE_RATIO, false, SECONDS, 0},                               \
		{"running_percent", "running %",      VMOP_VALUE_PERCENT, false,                   \
		 STATE_PERCENT,	    VMOP_WAIT_RUNNING},                                            \
		{"exits_percent", "exits %",	 VMOP_VALUE_PERCENT,                               \
		 false,		  STATE_PERCENT, VMOP_WAIT_EXIT},                                  \
		{"waiting_percent", "waiting %",      VMOP_VALUE_PERCENT, false,                   \
		 STATE_PERCENT,	    VMOP_WAIT_WAITING},                                            \
		{"quota_percent", "quota %",	 VMOP_VALUE_PERCENT,                               \
		 false,		  STATE_PERCENT, VMOP_WAIT_QUOTA},                                 \
		{"halted_percent", "halted %",	    VMOP_VALUE_PERCENT, false,                     \
		 STATE_PERCENT,	   VMOP_WAIT_HALTED},                                              \
		{"blocked_percent", "blocked %",      VMOP_VALUE_PERCENT, false,                   \
		 STATE_PERCENT,	    VMOP_WAIT_BLOCKED},                                            \
		{"vmm_percent", "vmm %", VMOP_VALUE_PERCENT, false, STATE_PERCENT, VMOP_WAIT_VMM}, \
		{"unknown_percent", NULL, VMOP_VALUE_PERCENT, false, STATE_PERCENT,                \
		 VMOP_WAIT_UNKNOWN},                                                               \
		{"running_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_RUNNING},        \
		{"exits_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_EXIT},             \
		{"waiting_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_WAITING},        \
		{"quota_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_QUOTA},            \
		{"halted_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_HALTED},          \
		{"blocked_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_BLOCKED},        \
		{"vmm_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_VMM},                \
		{"unknown_ns", NULL, VMOP_VALUE_COUNT, false, STATE_NS, VMOP_WAIT_UNKNOWN},        \
		{"culprit_percent", "most, %", VMOP_VALUE_PERCENT, false, MOST_PERCENT, 0},        \
	{                                                                                          \
		"culprit", "waits for", VMOP_VALUE_TEXT, true, MOST_CULPRIT, 0                     \
	}

static const struct vmop_column guest_columns[] = {
	{"domain", "domain", VMOP_VALUE_TEXT, true, DOMAIN, 0}, STATES};

static const struct vmop_column vcpu_columns[] = {
	{"domain", "domain", VMOP_VALUE_TEXT, true, DOMAIN, 0},
	{"vcpu", "vcpu", VMOP_VALUE_COUNT, false, VCPU, 0},
	STATES};

static const struct vmop_column culprit_columns[] = {
	{"domain", "victim", VMOP_VALUE_TEXT, true, DOMAIN, 0},
	{"seconds", "seconds", VMOP_VALUE_RATIO, false, ROW_SECONDS, 0},
	{"percent", "% of time", VMOP_VALUE_PERCENT, false, ROW_PERCENT, 0},
	{"percent_of_waits", "% of waits", VMOP_VALUE_PERCENT, false, ROW_OF_WAITS, 0},
	{"time_ns", NULL, VMOP_VALUE_COUNT, false, ROW_NS, 0},
	{"count", NULL, VMOP_VALUE_COUNT, false, ROW_COUNT, 0},
	{"kind", "kind", VMOP_VALUE_TEXT, false, KIND, 0},
	{"culprit", "culprit", VMOP_VALUE_TEXT, true, CULPRIT, 0},
};

static const struct vmop_column exit_columns[] = {
	{"domain", "domain", VMOP_VALUE_TEXT, true, DOMAIN, 0},
	{"exits", "exits", VMOP_VALUE_COUNT, false, ROW_COUNT, 0},
	{"seconds", "seconds", VMOP_VALUE_RATIO, false, ROW_SECONDS, 0},
	{"percent", "% of time", VMOP_VALUE_PERCENT, false, ROW_PERCENT, 0},
	{"time_ns", NULL, VMOP_VALUE_COUNT, false, ROW_NS, 0},
	{"ns_each", "ns each", VMOP_VALUE_COUNT, false, NS_EACH, 0},
	{"reason", "reason", VMOP_VALUE_TEXT, false, REASON, 0},
	{"function_percent", "most, %", VMOP_VALUE_PERCENT, false, FUNCTION_PERCENT, 0},
	{"function", "in function", VMOP_VALUE_TEXT, true, FUNCTION, 0},
};

/* A guest or vCPU, or a part of one. */
struct row {
	const struct vmop_waits_fact *fact; /* the part; else any of it */
	uint64_t times_ns[VMOP_WAIT_N_STATES], whole_ns;
	const struct vmop_waits_fact *most; /* the longest wait; NULL: none */
	const struct vmop_waits_function *function;
	uint64_t n_in_functions; /* exits of the reason, for the function's share */
	char reason[VMOP_EXIT_REASON_BYTES];
};

struct vmop_waits_sheet {
	struct vmop_waits_facts_of *facts;
	struct row *rows;   /* that are printed */
	struct row *wholes; /* of the guest or vCPU of each */
	size_t n;
	char line[160], exits_line[320];
	char *losses_line; /* heap */
	const char *lines[3];
	struct vmop_sheet sheet;
};

/* ---- rows ------------------------------------------------------------------------------- */

static void add_to_whole(struct row *whole, const struct vmop_waits_fact *fact)
{
	whole->fact = fact;
	whole->times_ns[fact->state] += fact->time_ns;
	whole->whole_ns += vmop_waits_whole_ns(fact);
	if (fact->state == VMOP_WAIT_WAITING &&
	    (!whole->most || fact->time_ns > whole->most->time_ns))
		whole->most = fact;
}

static bool is_part(const struct vmop_waits_fact *fact, enum vmop_waits_table table)
{
	if (table == VMOP_WAITS_BY_REASON)
		return fact->state == VMOP_WAIT_EXIT;
	return fact->state == VMOP_WAIT_WAITING || fact->state == VMOP_WAIT_QUOTA;
}

/* Set the function that caused most exits of a row's reason. They fall by count within it. */
static void find_function(const struct vmop_waits_facts_of *facts, struct row *row)
{
	for (size_t i = 0; i < facts->n_functions; i++) {
		const struct vmop_waits_function *function = &facts->functions[i];
		if (function->domain != row->fact->domain || function->cause != row->fact->cause)
			continue;
		if (!row->function)
			row->function = function;
		row->n_in_functions += function->count;
	}
}

/* Sort the parts of a guest by their time. */
static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->fact->time_ns != y->fact->time_ns)
		return x->fact->time_ns > y->fact->time_ns ? -1 : 1;
	return x->fact < y->fact ? -1 : x->fact > y->fact;
}

/* Add the rows of the facts [first, end), which are of one guest or vCPU. */
static void add_rows(struct vmop_waits_sheet *sheet, size_t first, size_t end,
		     enum vmop_waits_table table)
{
	struct row whole = {0};
	size_t begun = sheet->n;
	for (size_t i = first; i < end; i++)
		add_to_whole(&whole, &sheet->facts->facts[i]);
	if (table == VMOP_WAITS_GUESTS || table == VMOP_WAITS_VCPUS) {
		sheet->rows[sheet->n] = sheet->wholes[sheet->n] = whole;
		sheet->n++;
		return;
	}
	for (size_t i = first; i < end; i++) {
		const struct vmop_waits_fact *fact = &sheet->facts->facts[i];
		if (!is_part(fact, table) || !fact->time_ns)
			continue;
		struct row *row = &sheet->rows[sheet->n];
		*row = (struct row){.fact = fact};
		if (table == VMOP_WAITS_BY_REASON) {
			vmop_exit_reason_name(fact->cause, row->reason);
			find_function(sheet->facts, row);
		}
		sheet->wholes[sheet->n++] = whole;
	}
	if (sheet->n > begun)
		qsort(&sheet->rows[begun], sheet->n - begun, sizeof(*sheet->rows), by_time);
}

static bool is_same_whole(const struct vmop_waits_fact *a, const struct vmop_waits_fact *b)
{
	return a->domain == b->domain && a->vcpu == b->vcpu;
}

static struct vmop_error *fill(struct vmop_waits_sheet *sheet, enum vmop_waits_table table)
{
	struct vmop_waits_facts_of *facts = sheet->facts;
	if (table != VMOP_WAITS_VCPUS)
		vmop_waits_merge_vcpus(facts);
	sheet->rows = calloc(facts->n_facts, sizeof(*sheet->rows));
	sheet->wholes = calloc(facts->n_facts, sizeof(*sheet->wholes));
	if (!sheet->rows || !sheet->wholes)
		return &vmop_error_no_memory;
	for (size_t first = 0, end; first < facts->n_facts; first = end) {
		end = first + 1;
		while (end < facts->n_facts &&
		       is_same_whole(&facts->facts[first], &facts->facts[end]))
			end++;
		add_rows(sheet, first, end, table);
	}
	if (sheet->n)
		return NULL;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s%s%s",
			      table == VMOP_WAITS_BY_REASON ? "no exits" : "no vCPU waited",
			      facts->no_exits && table == VMOP_WAITS_BY_REASON ? ": " : "",
			      facts->no_exits && table == VMOP_WAITS_BY_REASON ? facts->no_exits
									       : "");
}

/* ---- values ----------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static const char *kind_name(const struct vmop_waits_fact *fact)
{
	static const char *const names[VMOP_CULPRIT_N_KINDS] = {
		[VMOP_CULPRIT_GUEST] = "guest",	    [VMOP_CULPRIT_CGROUP] = "cgroup",
		[VMOP_CULPRIT_PROCESS] = "process", [VMOP_CULPRIT_IDLE] = "idle",
		[VMOP_CULPRIT_OTHERS] = "others",
	};
	return fact->state == VMOP_WAIT_QUOTA ? "quota" : names[fact->kind];
}

static void whole_value(const struct row *row, const struct vmop_column *column,
			struct vmop_value *ret)
{
	uint64_t waits_ns = row->times_ns[VMOP_WAIT_WAITING];
	switch (column->id) {
	case SECONDS:
		ret->ratio = (double)row->whole_ns / 1e9;
		break;
	case STATE_PERCENT:
		ret->percent = percent(row->times_ns[column->event], row->whole_ns);
		break;
	case STATE_NS:
		ret->number = row->times_ns[column->event];
		break;
	case MOST_CULPRIT:
		ret->is_empty = !row->most;
		ret->text = row->most ? row->most->culprit : "";
		break;
	default:
		ret->is_empty = !row->most;
		ret->percent = row->most ? percent(row->most->time_ns, waits_ns) : 0;
	}
}

static void exit_value(const struct row *row, int id, struct vmop_value *ret)
{
	const struct vmop_waits_fact *fact = row->fact;
	switch (id) {
	case REASON:
		ret->text = row->reason;
		break;
	case NS_EACH:
		ret->is_empty = !fact->count;
		ret->number = fact->count ? fact->time_ns / fact->count : 0;
		break;
	case FUNCTION:
		ret->is_empty = !row->function;
		ret->text = row->function ? row->function->name : "";
		break;
	default:
		ret->is_empty = !row->function;
		ret->percent =
			row->function ? percent(row->function->count, row->n_in_functions) : 0;
	}
}

static void part_value(const struct row *row, const struct row *whole, int id,
		       struct vmop_value *ret)
{
	const struct vmop_waits_fact *fact = row->fact;
	switch (id) {
	case KIND:
		ret->text = kind_name(fact);
		break;
	case CULPRIT:
		ret->text = fact->state == VMOP_WAIT_QUOTA ? "[own quota]" : fact->culprit;
		break;
	case ROW_NS:
		ret->number = fact->time_ns;
		break;
	case ROW_SECONDS:
		ret->ratio = (double)fact->time_ns / 1e9;
		break;
	case ROW_PERCENT:
		ret->percent = percent(fact->time_ns, whole->whole_ns);
		break;
	case ROW_OF_WAITS:
		ret->percent = percent(fact->time_ns, whole->times_ns[VMOP_WAIT_WAITING] +
							      whole->times_ns[VMOP_WAIT_QUOTA]);
		break;
	case ROW_COUNT:
		ret->number = fact->count;
		break;
	default:
		exit_value(row, id, ret);
	}
}

static void values(const struct vmop_sheet *of, size_t at, size_t detail, struct vmop_value *ret)
{
	const struct vmop_waits_sheet *sheet = of->data;
	const struct row *row = &sheet->rows[at];
	(void)detail;
	for (size_t c = 0; c < of->n_columns; c++) {
		int id = of->columns[c].id;
		if (id == DOMAIN)
			ret[c].text = vmop_catalog_domain(&sheet->facts->catalog, row->fact->domain)
					      ->name;
		else if (id == VCPU)
			ret[c].number = row->fact->vcpu;
		else if (id <= MOST_PERCENT)
			whole_value(row, &of->columns[c], &ret[c]);
		else
			part_value(row, &sheet->wholes[at], id, &ret[c]);
	}
}

/* ---- the sheet ---------------------------------------------------------------------------- */

static void set_columns(struct vmop_sheet *sheet, enum vmop_waits_table table)
{
	static const struct {
		const struct vmop_column *columns;
		size_t n;
	} of[] = {
		[VMOP_WAITS_GUESTS] = {guest_columns, N_OF(guest_columns)},
		[VMOP_WAITS_VCPUS] = {vcpu_columns, N_OF(vcpu_columns)},
		[VMOP_WAITS_CULPRITS] = {culprit_columns, N_OF(culprit_columns)},
		[VMOP_WAITS_BY_REASON] = {exit_columns, N_OF(exit_columns)},
	};
	sheet->columns = of[table].columns;
	sheet->n_columns = of[table].n;
}

static struct vmop_error *set_lines(struct vmop_waits_sheet *sheet)
{
	const char *losses = sheet->facts->losses;
	const char *no_exits = sheet->facts->no_exits;
	snprintf(sheet->line, sizeof(sheet->line),
		 "Time of guests' vCPUs; %% of time is of all their time, exits are a part of "
		 "running");
	sheet->lines[sheet->sheet.n_lines++] = sheet->line;
	if (no_exits) {
		snprintf(sheet->exits_line, sizeof(sheet->exits_line), "exits were not counted: %s",
			 no_exits);
		sheet->lines[sheet->sheet.n_lines++] = sheet->exits_line;
	}
	if (asprintf(&sheet->losses_line, "losses: %s", losses ? losses : "none") < 0) {
		sheet->losses_line = NULL;
		return &vmop_error_no_memory;
	}
	sheet->lines[sheet->sheet.n_lines++] = sheet->losses_line;
	sheet->sheet.lines = sheet->lines;
	return NULL;
}

struct vmop_error *vmop_waits_sheet_create(struct vmop_waits_facts_of *facts,
					   enum vmop_waits_table table,
					   struct vmop_waits_sheet **ret)
{
	struct vmop_waits_sheet *sheet = calloc(1, sizeof(*sheet));
	*ret = NULL;
	if (!sheet)
		return &vmop_error_no_memory;
	sheet->facts = facts;
	struct vmop_error *err = fill(sheet, table);
	if (!err)
		err = set_lines(sheet);
	if (err) {
		vmop_waits_sheet_destroy(sheet);
		return err;
	}
	set_columns(&sheet->sheet, table);
	sheet->sheet.n_rows = sheet->n;
	sheet->sheet.values = values;
	sheet->sheet.data = sheet;
	*ret = sheet;
	return NULL;
}

void vmop_waits_sheet_destroy(struct vmop_waits_sheet *sheet)
{
	if (!sheet)
		return;
	free(sheet->rows);
	free(sheet->wholes);
	free(sheet->losses_line);
	free(sheet);
}

const struct vmop_sheet *vmop_waits_sheet_of(const struct vmop_waits_sheet *sheet)
{
	return &sheet->sheet;
}
