// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/jit/jitdump.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/jit/jitdump-records.h"
#include "libsym/symtab-builder.h"
#include "libutil/clock.h"

/* Records that are read and not applied. More are applied early, or read in the next step. */
#define CHANGES_MAX ((size_t)128 << 10)
/* Records of this age are applied although a sample might be older. */
#define SETTLED_NS (10 * VMOP_NS_PER_S)
/* The overhead of an allocation, and of a node of a tree. */
#define BLOCK_BYTES 16
#define NODE_BYTES 48

struct function {
	uint64_t code_offset, len_bytes, index;
	uint32_t refs;
	bool is_answered;
	struct function *next; /* of those that have answered */
	char name[];
};

/* A range of addresses that a function has or had. */
struct span {
	uint64_t start, last; /* its last byte; start is that of the function's code */
	struct function *function;
};

/* A record that is read and not applied. */
struct change {
	uint64_t time_ns, order;
	uint64_t start, len_bytes, old_start, index;
	struct function *function; /* of a load, referenced; NULL: no room for it */
	bool is_move;
};

struct vmop_jitdump {
	struct vmop_jitdump_records records;
	struct change *changes;
	size_t n_changes, changes_capacity;
	uint64_t order;	 /* of the next change */
	void *live;	 /* tree of spans: the code at the time of the last query */
	void *first;	 /* tree of spans: see vmop_jitdump_by_address */
	bool has_first;	 /* there was a query */
	bool has_record; /* first_time_ns is that of the first one */
	uint64_t first_time_ns;
	struct function *answered;
	struct vmop_jitdump_facts facts;
	bool has_failed;
};

/* ---- functions ------------------------------------------------------------- */

static size_t function_bytes(const struct function *function)
{
	return sizeof(*function) + strlen(function->name) + 1 + BLOCK_BYTES;
}

static bool is_full(struct vmop_jitdump *dump, size_t more_bytes)
{
	bool has_room = dump->facts.n_functions < VMOP_JITDUMP_MAX_FUNCTIONS &&
			dump->facts.memory_bytes + more_bytes <= VMOP_JITDUMP_MAX_BYTES;
	dump->facts.is_full |= !has_room;
	return !has_room;
}

/* Make the function of a load, with one reference. NULL: no room. */
static struct function *function_create(struct vmop_jitdump *dump,
					const struct vmop_jitdump_record *record)
{
	size_t len = record->name_len_bytes;
	if (is_full(dump, sizeof(struct function) + len + 1 + BLOCK_BYTES))
		return NULL;
	struct function *function = malloc(sizeof(*function) + len + 1);
	if (!function) {
		dump->facts.is_full = true;
		return NULL;
	}
	*function = (struct function){
		.code_offset = record->code_offset,
		.len_bytes = record->len_bytes,
		.index = record->index,
		.refs = 1,
	};
	memcpy(function->name, record->name, len);
	function->name[len] = '\0';
	dump->facts.n_functions++;
	dump->facts.memory_bytes += function_bytes(function);
	return function;
}

static void function_unref(struct vmop_jitdump *dump, struct function *function)
{
	if (!function || --function->refs)
		return;
	dump->facts.n_functions--;
	dump->facts.memory_bytes -= function_bytes(function);
	free(function);
}

static void set_answered(struct vmop_jitdump *dump, struct function *function)
{
	if (function->is_answered)
		return;
	function->is_answered = true;
	function->refs++;
	function->next = dump->answered;
	dump->answered = function;
	dump->facts.n_answered++;
}

/* ---- code by address ------------------------------------------------------- */

/* Spans that overlap are equal, so a look-up finds any span in a range. */
static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->last < y->start ? -1 : x->start > y->last;
}

static struct span *find_span(void *tree, uint64_t start, uint64_t last)
{
	const struct span wanted = {.start = start, .last = last};
	struct span **found = (struct span **)tfind(&wanted, &tree, compare_spans);
	return found ? *found : NULL;
}

/* Add a span, which overlaps none, with a reference of its own. */
static void add_span(struct vmop_jitdump *dump, void **tree, uint64_t start, uint64_t last,
		     struct function *function)
{
	if (is_full(dump, sizeof(struct span) + NODE_BYTES + BLOCK_BYTES))
		return;
	struct span *span = malloc(sizeof(*span));
	if (span)
		*span = (struct span){.start = start, .last = last, .function = function};
	if (!span || !tsearch(span, tree, compare_spans)) {
		free(span);
		dump->facts.is_full = true;
		return;
	}
	function->refs++;
	dump->facts.memory_bytes += sizeof(*span) + NODE_BYTES + BLOCK_BYTES;
}

static void remove_span(struct vmop_jitdump *dump, void **tree, struct span *span)
{
	tdelete(span, tree, compare_spans);
	dump->facts.memory_bytes -= sizeof(*span) + NODE_BYTES + BLOCK_BYTES;
	function_unref(dump, span->function);
	free(span);
}

/*
 * Remove the live spans that begin in a range, and end the one that reaches into it: its rest
 * behind the range is no longer whole code.
 */
static void clear_live(struct vmop_jitdump *dump, uint64_t start, uint64_t last)
{
	struct span *span;
	while ((span = find_span(dump->live, start, last))) {
		if (span->start < start)
			span->last = start - 1;
		else
			remove_span(dump, &dump->live, span);
	}
}

/* Add a span to the first ones, up to where another one begins. */
static void add_first(struct vmop_jitdump *dump, uint64_t start, uint64_t last,
		      struct function *function)
{
	const struct span *span;
	while ((span = find_span(dump->first, start, last))) {
		if (span->start <= start)
			return;
		last = span->start - 1;
	}
	add_span(dump, &dump->first, start, last, function);
}

static void copy_to_first(const void *node, VISIT visit, void *arg)
{
	const struct span *span = *(struct span *const *)node;
	struct vmop_jitdump *dump = arg;
	if (visit == postorder || visit == leaf)
		add_span(dump, &dump->first, span->start, span->last, span->function);
}

/* ---- changes --------------------------------------------------------------- */

static bool add_change(struct vmop_jitdump *dump, const struct vmop_jitdump_record *record)
{
	if (dump->n_changes == dump->changes_capacity) {
		size_t capacity = dump->changes_capacity ? 2 * dump->changes_capacity : 256;
		struct change *grown = reallocarray(dump->changes, capacity, sizeof(*grown));
		if (!grown)
			return false;
		dump->changes = grown;
		dump->changes_capacity = capacity;
	}
	dump->changes[dump->n_changes++] = (struct change){
		.time_ns = record->time_ns,
		.order = dump->order++,
		.start = record->start,
		.len_bytes = record->len_bytes,
		.old_start = record->old_start,
		.index = record->index,
		.function = record->is_move ? NULL : function_create(dump, record),
		.is_move = record->is_move,
	};
	return true;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Take the moved function out of its old place, with a reference. NULL: it is not known. */
static struct function *take_moved(struct vmop_jitdump *dump, const struct change *change)
{
	struct span *span = find_span(dump->live, change->old_start, change->old_start);
	if (!span || span->start != change->old_start || span->function->index != change->index)
		return NULL;
	struct function *function = span->function;
	function->refs++;
	remove_span(dump, &dump->live, span);
	return function;
}

static void apply(struct vmop_jitdump *dump, struct change *change)
{
	struct function *function = change->is_move ? take_moved(dump, change) : change->function;
	uint64_t len_bytes = change->len_bytes;
	if (function && len_bytes > function->len_bytes)
		len_bytes = function->len_bytes; /* a move does not change it */
	uint64_t last = change->start + len_bytes - 1;
	clear_live(dump, change->start, change->start + change->len_bytes - 1);
	if (function)
		add_span(dump, &dump->live, change->start, last, function);
	if (function && dump->has_first)
		add_first(dump, change->start, last, function);
	function_unref(dump, function);
}

/* Apply the changes from index `from` up to a time. Return the index of the next one. */
static size_t apply_from(struct vmop_jitdump *dump, size_t from, uint64_t time_ns)
{
	for (; from < dump->n_changes && dump->changes[from].time_ns <= time_ns; from++)
		apply(dump, &dump->changes[from]);
	return from;
}

static void drop_applied(struct vmop_jitdump *dump, size_t n)
{
	dump->n_changes -= n;
	if (n)
		memmove(dump->changes, dump->changes + n, dump->n_changes * sizeof(*dump->changes));
}

/* Sort by time: a file can have records in another order. */
static void sort_changes(struct vmop_jitdump *dump)
{
	if (dump->n_changes > 1)
		qsort(dump->changes, dump->n_changes, sizeof(*dump->changes), compare_changes);
}

/* ---- reading --------------------------------------------------------------- */

static bool counts(struct vmop_jitdump *dump, const struct vmop_jitdump_input *input,
		   uint64_t time_ns)
{
	bool is_inherited = dump->records.pid != input->pid && input->process_start_ns &&
			    dump->first_time_ns < input->process_start_ns;
	return !is_inherited || time_ns <= input->process_start_ns;
}

/* Make room for a change by applying those up to a time. False: too many are later. */
static bool has_room(struct vmop_jitdump *dump, uint64_t until_ns)
{
	if (dump->n_changes < CHANGES_MAX)
		return true;
	sort_changes(dump);
	drop_applied(dump, apply_from(dump, 0, until_ns));
	/* Sort many at a time. */
	return dump->n_changes < CHANGES_MAX / 2;
}

/* Read the new records. No query is for a time before until_ns. */
static struct vmop_error *read_changes(struct vmop_jitdump *dump,
				       const struct vmop_jitdump_input *input, uint64_t now_ns,
				       uint64_t until_ns)
{
	struct vmop_error *err = NULL;
	bool is_end = false;
	while (!err && !is_end) {
		struct vmop_jitdump_record record;
		if (!has_room(dump, until_ns)) {
			dump->facts.is_behind = true;
			break;
		}
		err = vmop_jitdump_records_next(&dump->records, input->fd, input->path, &record,
						&is_end);
		if (err || is_end)
			break;
		if (!dump->has_record)
			dump->first_time_ns = record.time_ns;
		if (!dump->has_record && record.time_ns > now_ns)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "%s: its times are not of CLOCK_MONOTONIC",
					      input->path);
		dump->has_record = true;
		if (record.time_ns <= now_ns && counts(dump, input, record.time_ns) &&
		    !add_change(dump, &record))
			err = &vmop_error_no_memory;
	}
	return err;
}

static void answer(struct vmop_jitdump *dump, struct vmop_jitdump_query *query)
{
	const struct span *span = find_span(dump->live, query->address, query->address);
	query->is_found = span != NULL;
	if (!span)
		return;
	query->code_offset = span->function->code_offset + (query->address - span->start);
	set_answered(dump, span->function);
}

static void answer_all(struct vmop_jitdump *dump, struct vmop_jitdump_query *queries, size_t n,
		       uint64_t settled_ns)
{
	size_t done = 0;
	sort_changes(dump);
	for (size_t i = 0; i < n; i++) {
		done = apply_from(dump, done, queries[i].time_ns);
		if (!dump->has_first)
			twalk_r(dump->live, copy_to_first, dump);
		dump->has_first = true;
		answer(dump, &queries[i]);
	}
	drop_applied(dump, apply_from(dump, done, settled_ns));
}

struct vmop_error *vmop_jitdump_advance(struct vmop_jitdump *dump,
					const struct vmop_jitdump_input *input,
					struct vmop_jitdump_query *queries, size_t n)
{
	struct vmop_error *err = NULL;
	uint64_t settled_ns = 0;
	for (size_t i = 0; i < n; i++)
		queries[i].is_found = false;
	if (!dump->has_failed) {
		err = vmop_jitdump_records_step(&dump->records, input->fd, input->path);
		/* The size was read before, so the records up to it have earlier times. */
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		settled_ns = now_ns > SETTLED_NS ? now_ns - SETTLED_NS : 0;
		dump->facts.is_behind = false;
		if (!err)
			err = read_changes(dump, input, now_ns,
					   n && queries[0].time_ns < settled_ns ? queries[0].time_ns
										: settled_ns);
		dump->facts.is_behind |= !err && vmop_jitdump_records_is_cut(&dump->records);
		vmop_jitdump_records_step_end(&dump->records);
		dump->has_failed = err != NULL;
	}
	if (!dump->facts.is_behind)
		answer_all(dump, queries, n, settled_ns);
	return err;
}

struct vmop_error *vmop_jitdump_create(struct vmop_jitdump **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

void vmop_jitdump_destroy(struct vmop_jitdump *dump)
{
	if (!dump)
		return;
	for (size_t i = 0; i < dump->n_changes; i++)
		function_unref(dump, dump->changes[i].function);
	struct span *span;
	void **trees[] = {&dump->live, &dump->first};
	for (size_t i = 0; i < 2; i++)
		while ((span = find_span(*trees[i], 0, UINT64_MAX)))
			remove_span(dump, trees[i], span);
	for (struct function *function = dump->answered, *next; function; function = next) {
		next = function->next;
		function_unref(dump, function);
	}
	free(dump->changes);
	free(dump);
}

/* ---- tables ---------------------------------------------------------------- */

void vmop_jitdump_facts(const struct vmop_jitdump *dump, struct vmop_jitdump_facts *ret)
{
	*ret = dump->facts;
	ret->memory_bytes += dump->changes_capacity * sizeof(*dump->changes);
}

struct table {
	struct vmop_sym_budget budget;
	struct vmop_symtab_builder builder;
	struct vmop_error *err;
};

static void add_symbol(struct table *table, const struct function *function, uint64_t offset,
		       uint64_t len_bytes)
{
	const struct vmop_symbol symbol = {
		.offset = offset, .len_bytes = len_bytes, .name = function->name, .type = 't'};
	if (!table->err)
		table->err =
			vmop_symtab_builder_add(&table->builder, &symbol, strlen(function->name),
						UINT64_MAX - offset, false);
}

static struct vmop_error *finish(struct table *table, struct vmop_symtab **ret)
{
	if (!table->err)
		table->err = vmop_symtab_builder_finish(&table->builder, "jitdump", ret);
	vmop_symtab_builder_deinit(&table->builder);
	return table->err;
}

struct vmop_error *vmop_jitdump_answered(const struct vmop_jitdump *dump, struct vmop_symtab **ret)
{
	struct table table = {.builder.budget = &table.budget};
	vmop_sym_budget_init(&table.budget);
	for (const struct function *function = dump->answered; function; function = function->next)
		add_symbol(&table, function, function->code_offset, function->len_bytes);
	return finish(&table, ret);
}

static void add_span_symbol(const void *node, VISIT visit, void *arg)
{
	const struct span *span = *(struct span *const *)node;
	if (visit == postorder || visit == leaf)
		add_symbol(arg, span->function, span->start, span->last - span->start + 1);
}

struct vmop_error *vmop_jitdump_by_address(struct vmop_jitdump *dump, struct vmop_symtab **ret)
{
	/* The changes that wait for later queries are later than those that were applied. */
	for (size_t i = 0; dump->has_first && i < dump->n_changes; i++) {
		const struct change *change = &dump->changes[i];
		if (change->function)
			add_first(dump, change->start, change->start + change->len_bytes - 1,
				  change->function);
	}
	struct table table = {.builder.budget = &table.budget};
	vmop_sym_budget_init(&table.budget);
	twalk_r(dump->has_first ? dump->first : dump->live, add_span_symbol, &table);
	return finish(&table, ret);
}
