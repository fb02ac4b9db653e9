// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

double vmop_share_percent(struct vmop_count part, struct vmop_count whole)
{
	return whole.weight_events ? (double)part.weight_events * 100 / (double)whole.weight_events
				   : 0;
}

/* ---- selection ------------------------------------------------------------ */

static bool fits(const struct vmop_words *words, const char *shown,
		 const struct vmop_symbol *symbol)
{
	return vmop_words_match(words, shown) || (symbol && vmop_words_match(words, symbol->name));
}

static bool has_words(const struct vmop_words *words)
{
	return words && words->n;
}

bool vmop_symbol_is_included(const struct vmop_arrangement *arrangement, const char *shown,
			     const struct vmop_symbol *symbol)
{
	const struct vmop_words *include = arrangement->include_symbols;
	const struct vmop_words *exclude = arrangement->exclude_symbols;
	return (!has_words(include) || fits(include, shown, symbol)) &&
	       !(has_words(exclude) && fits(exclude, shown, symbol));
}

static bool is_included(struct vmop_result *result, struct vmop_row *row,
			const struct vmop_arrangement *arrangement)
{
	if (!has_words(arrangement->include_symbols) && !has_words(arrangement->exclude_symbols))
		return true; /* without making names */
	return vmop_symbol_is_included(arrangement, vmop_result_symbol_name(result, row),
				       row->symbol);
}

static bool reaches(const struct vmop_result *result, const struct vmop_row *row, double percent)
{
	for (size_t e = 0; e < result->n_events; e++) {
		struct vmop_count sum =
			row->below ? row->below[e] : vmop_result_sum(result, row->counts, e);
		if (vmop_share_percent(sum, result->base[e]) >= percent)
			return true;
	}
	return false;
}

static void hide(const struct vmop_result *result, const struct vmop_row *row,
		 struct vmop_hidden *hidden)
{
	hidden->n_rows++;
	for (size_t e = 0; e < result->n_events; e++) {
		struct vmop_count sum = vmop_result_sum(result, row->counts, e);
		vmop_count_add(&hidden->counts[e], sum.samples, sum.weight_events);
	}
}

/* Hide rows after the first max.  Return how many. */
static size_t hide_beyond(struct vmop_result *result, uint64_t max, struct vmop_hidden *hidden)
{
	size_t n = result->n_rows;
	if (n <= max)
		return 0;
	for (size_t i = max; i < n; i++)
		hide(result, &result->rows[i], hidden);
	result->n_rows = max;
	return n - max;
}

/* Return how many rows fit into max lines.  The last row can lose details. */
static uint64_t fit_lines(struct vmop_result *result, uint64_t max)
{
	for (size_t i = 0; i < result->n_rows; i++) {
		struct vmop_row *row = &result->rows[i];
		if (!max--)
			return i;
		if (row->n_details > max) {
			result->left_out.n_details += row->n_details - max;
			row->n_details = max;
		}
		max -= row->n_details;
	}
	return result->n_rows;
}

static void filter_rows(struct vmop_result *result, const struct vmop_arrangement *arrangement,
			struct vmop_hidden *hidden)
{
	size_t n = 0;
	for (size_t i = 0; i < result->n_rows; i++) {
		struct vmop_row *row = &result->rows[i];
		if (!is_included(result, row, arrangement))
			continue;
		if (arrangement->threshold_percent > 0 &&
		    !reaches(result, row, arrangement->threshold_percent))
			hide(result, row, hidden);
		else
			result->rows[n++] = *row;
	}
	result->n_rows = n;
}

/* ---- order ---------------------------------------------------------------- */

const char *const vmop_sort_words[] = {
	[VMOP_SORT_SAMPLE] = "sample", [VMOP_SORT_DOMAIN] = "domain",
	[VMOP_SORT_IMAGE] = "image",   [VMOP_SORT_SYMBOL] = "symbol",
	[VMOP_SORT_TASK] = "task",     [VMOP_SORT_PID] = "pid",
	[VMOP_SORT_CGROUP] = "cgroup", [VMOP_SORT_CPU] = "cpu",
	[VMOP_SORT_VCPU] = "vcpu",     [VMOP_SORT_MODE] = "mode",
	[VMOP_SORT_VMA] = "vma",       [VMOP_SORT_SESSION] = "session",
};

/* The meaning of a name to sort by. */
struct named {
	const struct vmop_ratio *ratio; /* NULL: an event */
	size_t event;
};

struct order {
	const struct vmop_result *result;
	const struct vmop_arrangement *arrangement;
	struct named named[VMOP_MAX_SORT_KEYS]; /* by key; set if the key is NAMED */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_event(const struct vmop_result *result, size_t event, const struct vmop_row *a,
			 const struct vmop_row *b)
{
	struct vmop_count x = a->counts[event], y = b->counts[event];
	if (result->n_parts > 1) {
		x = vmop_result_sum(result, a->counts, event);
		y = vmop_result_sum(result, b->counts, event);
	}
	int order = compare_numbers(y.weight_events, x.weight_events);
	return order ? order : compare_numbers(y.samples, x.samples);
}

/* Compare by the samples in or below the rows, if they were counted, then by their own. */
static int compare_samples(const struct vmop_result *result, const struct vmop_row *a,
			   const struct vmop_row *b)
{
	int order = 0;
	for (size_t e = 0; a->below && e < result->n_events && !order; e++)
		order = compare_numbers(b->below[e].weight_events, a->below[e].weight_events);
	for (size_t e = 0; e < result->n_events && !order; e++)
		order = compare_event(result, e, a, b);
	return order;
}

static int compare_named(const struct order *order, const struct named *named,
			 const struct vmop_row *a, const struct vmop_row *b)
{
	if (!named->ratio)
		return compare_event(order->result, named->event, a, b);
	struct vmop_ratio_value x = vmop_ratio_of(named->ratio, order->result, a->counts);
	struct vmop_ratio_value y = vmop_ratio_of(named->ratio, order->result, b->counts);
	bool x_is_known = x.quality >= VMOP_RATIO_ROUGH, y_is_known = y.quality >= VMOP_RATIO_ROUGH;
	if (x_is_known != y_is_known)
		return x_is_known == order->arrangement->reverse ? 1 : -1;
	return x_is_known ? (y.value > x.value) - (y.value < x.value) : 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static int compare_by(const struct vmop_result *result, enum vmop_sort sort,
		      const struct vmop_row *a, const struct vmop_row *b)
{
	switch (sort) {
	case VMOP_SORT_SAMPLE:
		return compare_samples(result, a, b);
	case VMOP_SORT_SESSION: /* in the order of the spec */
		return compare_numbers(a->group->session, b->group->session);
	case VMOP_SORT_DOMAIN:
		return strcmp(vmop_row_domain(result, a)->name, vmop_row_domain(result, b)->name);
	case VMOP_SORT_IMAGE:
		return strcmp(base_name(vmop_row_image(result, a)->name),
			      base_name(vmop_row_image(result, b)->name));
	case VMOP_SORT_SYMBOL:
		return strcmp(a->name, b->name);
	case VMOP_SORT_TASK:
		return strcmp(vmop_row_task(result, a)->comm, vmop_row_task(result, b)->comm);
	case VMOP_SORT_PID: {
		int by_pid = compare_numbers(vmop_row_task(result, a)->pid,
					     vmop_row_task(result, b)->pid);
		return by_pid ? by_pid
			      : compare_numbers(vmop_row_task(result, a)->tid,
						vmop_row_task(result, b)->tid);
	}
	case VMOP_SORT_CGROUP:
		return strcmp(vmop_row_cgroup(result, a), vmop_row_cgroup(result, b));
	case VMOP_SORT_CPU:
		return compare_numbers(a->group->cpu, b->group->cpu);
	case VMOP_SORT_VCPU:
		return compare_numbers(a->group->vcpu, b->group->vcpu);
	case VMOP_SORT_MODE:
		return compare_numbers(a->group->mode, b->group->mode);
	case VMOP_SORT_VMA:
		return compare_numbers(a->address, b->address);
	case VMOP_SORT_NAMED: /* see compare_named */
		break;
	}
	return 0;
}

/*
 * Compare symbols at one address: aliases of different lengths.  The order in which rows were
 * found must not matter, for kept sums change it.
 */
static int compare_aliases(const struct vmop_symbol *a, const struct vmop_symbol *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	int order = compare_numbers(a->len_bytes, b->len_bytes);
	return order ? order : strcmp(a->name, b->name);
}

/* Compare rows by the user's keys, then by samples, and at last by the order of the session. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	const struct vmop_arrangement *arrangement = order->arrangement;
	const struct vmop_row *x = a, *y = b;
	int result = 0;
	for (size_t i = 0; i < arrangement->n_sort && !result; i++)
		result = arrangement->sort[i] == VMOP_SORT_NAMED
				 ? compare_named(order, &order->named[i], x, y)
				 : compare_by(order->result, arrangement->sort[i], x, y);
	if (!result)
		result = compare_samples(order->result, x, y);
	if (!result && x->group != y->group) /* groups are interned */
		result = memcmp(x->group, y->group, sizeof(*x->group));
	if (!result)
		result = compare_numbers(x->address, y->address);
	if (!result && x->symbol != y->symbol)
		result = compare_aliases(x->symbol, y->symbol);
	if (!result)
		result = compare_numbers(x->index, y->index);
	return arrangement->reverse ? -result : result;
}

/*
 * A row by what most reports sort by, in ascending order of the last word first. Rows are large,
 * and their counts far from one another.
 */
struct sort_key {
	/* The address, the place of its group in their order, and the complements of its counts. */
	uint64_t address, group, samples, weight_events;
	uint32_t row;
};

enum { N_KEY_WORDS = 4, DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

static uint64_t key_word(const struct sort_key *key, unsigned word)
{
	switch (word) {
	case 0:
		return key->address;
	case 1:
		return key->group;
	case 2:
		return key->samples;
	default:
		return key->weight_events;
	}
}

static bool is_tie(const struct sort_key *a, const struct sort_key *b)
{
	return a->weight_events == b->weight_events && a->samples == b->samples &&
	       a->group == b->group && a->address == b->address;
}

static int compare_rows_of_keys(const void *a, const void *b, void *arg)
{
	const struct vmop_row *rows = ((const struct order *)arg)->result->rows;
	return compare_rows(&rows[((const struct sort_key *)a)->row],
			    &rows[((const struct sort_key *)b)->row], arg);
}

/* Do one pass of a radix sort: stable, by a digit of a word. */
static void sort_by_digit(const struct sort_key *from, struct sort_key *to, size_t n, unsigned word,
			  unsigned shift)
{
	uint32_t next[N_DIGITS] = {0}, begin = 0;
	for (size_t i = 0; i < n; i++)
		next[key_word(&from[i], word) >> shift & (N_DIGITS - 1)]++;
	for (size_t i = 0; i < N_DIGITS; i++) {
		uint32_t count = next[i];
		next[i] = begin;
		begin += count;
	}
	for (size_t i = 0; i < n; i++)
		to[next[key_word(&from[i], word) >> shift & (N_DIGITS - 1)]++] = from[i];
}

/* Sort keys, with room for as many; the result is in one of both. Ties stay in their order. */
static struct sort_key *sort_words(struct sort_key *keys, struct sort_key *room, size_t n)
{
	for (unsigned word = 0; word < N_KEY_WORDS; word++) {
		uint64_t varying = 0; /* the bits that are not the same in all keys */
		for (size_t i = 1; i < n; i++)
			varying |= key_word(&keys[i], word) ^ key_word(&keys[0], word);
		for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
			if (!(varying >> shift & (N_DIGITS - 1)))
				continue;
			sort_by_digit(keys, room, n, word, shift);
			struct sort_key *sorted = room;
			room = keys;
			keys = sorted;
		}
	}
	return keys;
}

static void sort_ties(struct sort_key *keys, size_t n, struct order *order)
{
	for (size_t first = 0, last; first < n; first = last) {
		for (last = first + 1; last < n && is_tie(&keys[first], &keys[last]);)
			last++;
		if (last - first > 1)
			qsort_r(keys + first, last - first, sizeof(*keys), compare_rows_of_keys,
				order);
	}
}

static int compare_groups(const void *a, const void *b, void *arg)
{
	const struct vmop_group *groups = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return memcmp(&groups[x], &groups[y], sizeof(*groups));
}

/* Set *ret to the place of each group in their order. The caller frees it. */
static struct vmop_error *rank_groups(const struct vmop_groups *groups, uint32_t **ret)
{
	_cleanup_free_ uint32_t *order = malloc((groups->n + 1) * sizeof(*order));
	*ret = malloc((groups->n + 1) * sizeof(**ret));
	if (!order || !*ret)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < groups->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, groups->n, sizeof(*order), compare_groups, groups->items);
	for (size_t i = 0; i < groups->n; i++)
		(*ret)[order[i]] = (uint32_t)i;
	return NULL;
}

/* Sort the rows by the samples of their only event, as compare_rows does. */
static struct vmop_error *sort_by_keys(struct vmop_result *result, struct order *order)
{
	size_t n = result->n_rows;
	_cleanup_free_ uint32_t *ranks = NULL;
	_cleanup_free_ struct sort_key *keys = malloc((2 * n + 1) * sizeof(*keys));
	_cleanup_free_ struct vmop_row *sorted = malloc((n + 1) * sizeof(*sorted));
	struct vmop_error *err =
		keys && sorted ? rank_groups(&result->groups, &ranks) : &vmop_error_no_memory;
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_row *row = &result->rows[i];
		keys[i] = (struct sort_key){
			.address = row->address,
			.group = ranks[row->group - result->groups.items],
			.samples = ~row->counts->samples,
			.weight_events = ~row->counts->weight_events,
			.row = (uint32_t)i,
		};
	}
	struct sort_key *in_order = sort_words(keys, keys + n, n);
	sort_ties(in_order, n, order);
	for (size_t i = 0; i < n; i++) {
		__builtin_prefetch(&result->rows[in_order[i + 8 < n ? i + 8 : i].row]);
		sorted[i] = result->rows[in_order[i].row];
	}
	struct vmop_row *unsorted = result->rows;
	result->rows = vmop_steal(&sorted);
	free(unsorted);
	return NULL;
}

static struct vmop_error *sort_rows(struct vmop_result *result, struct order *order)
{
	const struct vmop_arrangement *arrangement = order->arrangement;
	if (!arrangement->n_sort && !arrangement->reverse && result->n_parts == 1 &&
	    result->n_events == 1 && !result->below && result->n_rows < UINT32_MAX)
		return sort_by_keys(result, order);
	qsort_r(result->rows, result->n_rows, sizeof(*result->rows), compare_rows, order);
	return NULL;
}

static void name_rows_to_sort(struct vmop_result *result,
			      const struct vmop_arrangement *arrangement)
{
	for (size_t i = 0; i < arrangement->n_sort; i++) {
		for (size_t row = 0;
		     arrangement->sort[i] == VMOP_SORT_SYMBOL && row < result->n_rows; row++)
			vmop_result_symbol_name(result, &result->rows[row]);
	}
}

/* Return an error that lists the words of --sort for this result. */
static struct vmop_error *no_such_name(const struct vmop_result *result,
				       const struct vmop_ratios *ratios, const char *name)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < VMOP_N_WORDS; i++)
		fprintf(out, "%s%s", i ? ", " : "", vmop_sort_words[i]);
	for (size_t i = 0; i < ratios->n; i++)
		fprintf(out, ", %s", ratios->items[i].name);
	for (size_t e = 0; e < result->n_events; e++)
		fprintf(out, ", %s", vmop_result_event(result, e)->label);
	int failed = fclose(out);
	struct vmop_error *err =
		failed ? &vmop_error_no_memory
		       : vmop_error_new(VMOP_ERROR_USAGE, "--sort: unknown word '%s'; accepted: %s",
					name, text);
	free(text);
	return err;
}

/* Find the ratio, or the event, of that name. */
static struct vmop_error *find_named(const struct vmop_result *result,
				     const struct vmop_ratios *ratios, const char *name,
				     struct named *ret)
{
	size_t i = vmop_ratios_find(ratios, name);
	*ret = (struct named){.ratio = i == SIZE_MAX ? NULL : &ratios->items[i]};
	if (ret->ratio)
		return NULL;
	for (; ret->event < result->n_events; ret->event++) {
		if (!strcmp(vmop_result_event(result, ret->event)->label, name))
			return NULL;
	}
	return no_such_name(result, ratios, name);
}

struct vmop_error *vmop_rows_arrange(struct vmop_result *result, const struct vmop_ratios *ratios,
				     const struct vmop_arrangement *arrangement,
				     struct vmop_hidden *ret_hidden)
{
	struct order order = {.result = result, .arrangement = arrangement};
	ret_hidden->n_rows = ret_hidden->n_rows_beyond = 0;
	ret_hidden->counts = calloc(result->n_events, sizeof(*ret_hidden->counts));
	if (!ret_hidden->counts)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < arrangement->n_sort; i++) {
		struct vmop_error *err = NULL;
		if (arrangement->sort[i] == VMOP_SORT_NAMED)
			err = find_named(result, ratios, arrangement->names[i], &order.named[i]);
		if (err)
			return err;
	}
	filter_rows(result, arrangement, ret_hidden);
	if (!arrangement->unsorted)
		name_rows_to_sort(result, arrangement);
	struct vmop_error *err = arrangement->unsorted ? NULL : sort_rows(result, &order);
	if (err)
		return err;
	if (arrangement->top)
		hide_beyond(result, arrangement->top, ret_hidden);
	if (arrangement->max_lines)
		ret_hidden->n_rows_beyond =
			hide_beyond(result, fit_lines(result, arrangement->max_lines), ret_hidden);
	if (result->n_rows)
		return NULL;
	return ret_hidden->n_rows
		       ? vmop_error_new(VMOP_ERROR_NOT_FOUND,
					"no row reaches %g %%; a lower --threshold shows some",
					arrangement->threshold_percent)
		       : vmop_error_new(VMOP_ERROR_NOT_FOUND, "no symbols match");
}
