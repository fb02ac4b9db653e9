// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/top/top-snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* Images with less are shown without symbols: this bounds the cost of a refresh. */
#define THRESHOLD_PERCENT 0.1

static const unsigned dimensions[VMOP_TOP_N_KINDS] = {
	[VMOP_TOP_DOMAINS] = VMOP_BY_DOMAIN,
	[VMOP_TOP_TASKS] = VMOP_BY_DOMAIN | VMOP_BY_TASK,
	[VMOP_TOP_IMAGES] = VMOP_BY_DOMAIN | VMOP_BY_IMAGE,
	[VMOP_TOP_SYMBOLS] = VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL,
	[VMOP_TOP_CERTAINTY] = VMOP_BY_DOMAIN | VMOP_BY_CERTAINTY,
};

static const enum vmop_sort name_sorts[VMOP_TOP_N_KINDS] = {
	[VMOP_TOP_DOMAINS] = VMOP_SORT_DOMAIN,	 [VMOP_TOP_TASKS] = VMOP_SORT_TASK,
	[VMOP_TOP_IMAGES] = VMOP_SORT_IMAGE,	 [VMOP_TOP_SYMBOLS] = VMOP_SORT_SYMBOL,
	[VMOP_TOP_CERTAINTY] = VMOP_SORT_DOMAIN,
};

static struct vmop_query query_of(const struct vmop_top_view *view,
				  const struct vmop_symbol_options *symbols)
{
	struct vmop_query query = {
		.dimensions = dimensions[view->kind],
		.merge = VMOP_MERGE_CPU | VMOP_MERGE_TID,
		.threshold_percent = view->kind == VMOP_TOP_SYMBOLS ? THRESHOLD_PERCENT : 0,
		.resolver = vmop_symbol_options_resolver(symbols),
	};
	query.resolver.use_debuginfod = false; /* the network can take any time */
	if (view->kind == VMOP_TOP_DOMAINS) {  /* a bill */
		query.by_part = true;
		query.of_whole_session = true;
		query.accounting = VMOP_ACCOUNTING_DOMAIN;
	}
	return query;
}

static struct vmop_arrangement arrangement_of(const struct vmop_top_view *view,
					      const struct vmop_result *result)
{
	struct vmop_arrangement arrangement = {.reverse = view->is_reversed,
					       .top = VMOP_TOP_MAX_ROWS};
	if (view->sort == 0) {
		arrangement.sort[arrangement.n_sort++] = name_sorts[view->kind];
	} else if (view->sort > 1 && view->sort <= result->n_events) {
		arrangement.sort[arrangement.n_sort] = VMOP_SORT_NAMED;
		arrangement.names[arrangement.n_sort++] =
			vmop_result_event(result, view->sort - 1)->label;
	}
	return arrangement;
}

/* Set *ret to the user's spec with the conditions of the view. */
static struct vmop_error *spec_of(const struct vmop_top_view *view, const struct vmop_spec *spec,
				  struct vmop_spec *ret)
{
	struct vmop_error *err = vmop_spec_copy(ret, spec);
	for (size_t i = 0; i < view->n_levels && !err; i++) {
		/* A row that was entered is within the user's words of its kind. */
		struct vmop_words *words = view->levels[i].kind == VMOP_TOP_DOMAINS ? &ret->domains
					   : view->levels[i].kind == VMOP_TOP_TASKS ? &ret->tasks
										    : &ret->images;
		vmop_words_deinit(words);
		err = vmop_spec_parse(ret, view->levels[i].word);
	}
	uint64_t window_ns = vmop_top_view_window_ns(view);
	if (!spec->time.is_set && window_ns)
		ret->time = (struct vmop_time_window){.is_set = true,
						      .from = {VMOP_TIME_BEFORE_END, window_ns}};
	return err;
}

static struct vmop_error *make(struct vmop_top_snapshot *snapshot, const struct vmop_top_view *view,
			       const struct vmop_spec *spec,
			       const struct vmop_symbol_options *symbols)
{
	const struct vmop_query query = query_of(view, symbols);
	/* Below a row of domains the domain is shown where there are guests. */
	bool is_of_domains = view->kind == VMOP_TOP_DOMAINS || view->kind == VMOP_TOP_CERTAINTY;
	const struct vmop_report_options options = {.by = query.dimensions &
							  ~(is_of_domains ? 0u : VMOP_BY_DOMAIN)};
	const struct vmop_words no_ratios = {0};
	struct vmop_error *err = vmop_sessions_open(spec, &snapshot->sessions);
	if (!err)
		err = vmop_query_run(&query, spec, snapshot->sessions.items, snapshot->sessions.n,
				     &snapshot->result);
	if (!err)
		err = vmop_ratios_init(&snapshot->ratios, &no_ratios, &snapshot->result);
	if (err)
		return err;
	const struct vmop_arrangement arrangement = arrangement_of(view, &snapshot->result);
	err = vmop_rows_arrange(&snapshot->result, &snapshot->ratios, &arrangement,
				&snapshot->hidden);
	if (!err)
		err = vmop_report_create(&options, &snapshot->result, &snapshot->ratios,
					 &snapshot->hidden, &snapshot->report);
	return err;
}

struct vmop_error *vmop_top_snapshot_init(struct vmop_top_snapshot *ret,
					  const struct vmop_top_view *view,
					  const struct vmop_spec *spec,
					  const struct vmop_symbol_options *symbols)
{
	struct vmop_spec mine;
	uint64_t start_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	*ret = (struct vmop_top_snapshot){0};
	struct vmop_error *err = spec_of(view, spec, &mine);
	if (!err)
		err = make(ret, view, &mine, symbols);
	/* The names of the sessions belong to the spec. */
	vmop_sessions_deinit(&ret->sessions);
	vmop_spec_deinit(&mine);
	ret->cpu_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
	return err;
}

void vmop_top_snapshot_deinit(struct vmop_top_snapshot *snapshot)
{
	vmop_report_destroy(snapshot->report);
	free(snapshot->hidden.counts);
	vmop_ratios_deinit(&snapshot->ratios);
	vmop_result_deinit(&snapshot->result);
	*snapshot = (struct vmop_top_snapshot){0};
}

const struct vmop_sheet *vmop_top_snapshot_sheet(const struct vmop_top_snapshot *snapshot)
{
	return snapshot->report ? vmop_report_sheet(snapshot->report) : NULL;
}

/* Return "TAG:NAME", with NAME as one word that is no glob. NULL: no memory. */
static char *make_word(const char *tag, const char *name)
{
	char *word = malloc(strlen(tag) + 2 * strlen(name) + 2), *at = word;
	if (!word)
		return NULL;
	at = stpcpy(at, tag);
	*at++ = ':';
	for (; *name; name++) {
		if (strchr("*?[]\\,", *name))
			*at++ = '\\';
		*at++ = *name;
	}
	*at = '\0';
	return word;
}

struct vmop_error *vmop_top_snapshot_word(const struct vmop_top_snapshot *snapshot,
					  enum vmop_top_kind kind, size_t row, char **ret_word,
					  const char **ret_name)
{
	const struct vmop_result *result = &snapshot->result;
	const char *tag = "domain";
	if (row >= result->n_rows || kind > VMOP_TOP_IMAGES)
		return vmop_error_new(VMOP_ERROR_CANT, "there is nothing below this row");
	if (kind == VMOP_TOP_DOMAINS) {
		*ret_name = vmop_row_domain(result, &result->rows[row])->name;
	} else if (kind == VMOP_TOP_TASKS) {
		tag = "task";
		*ret_name = vmop_row_task(result, &result->rows[row])->comm;
	} else {
		tag = "image";
		*ret_name = vmop_row_image(result, &result->rows[row])->name;
	}
	*ret_word = make_word(tag, *ret_name);
	return *ret_word ? NULL : &vmop_error_no_memory;
}
