// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/symbol-sort.h"
#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/heap.h"

#define NONE UINT32_MAX

struct vmop_symtab {
	struct vmop_symbol *symbols;
	size_t n;
	char *names; /* NULL: the names are in symbols' block */
	struct vmop_names_place names_place;
	struct vmop_symtab_span *spans;
	size_t n_spans;
	uint64_t identity;
	const struct vmop_symtab_backing *backing; /* NULL: all is in the fields above */
	void *backing_arg;
};

static int rank_of_type(char type)
{
	switch (type) {
	case 'T':
	case 'i':
		return 0;
	case 'W':
	case 'w':
		return 1;
	case 't':
		return 2;
	default:
		return 3;
	}
}

/*
 * Most aliases that differ in leading underscores are the public and internal name of one function.
 */
static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

int vmop_symbol_compare(const struct vmop_symbol *a, const struct vmop_symbol *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (!a->len_bytes != !b->len_bytes)
		return a->len_bytes ? -1 : 1;
	int difference = rank_of_type(a->type) - rank_of_type(b->type);
	if (difference)
		return difference;
	size_t of_a = underscores(a->name), of_b = underscores(b->name);
	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_symbols(const void *arg, uint32_t a, uint32_t b)
{
	const struct vmop_symbol *symbols = arg;
	return vmop_symbol_compare(&symbols[a], &symbols[b]);
}

/*
 * Sort by insertion. Kernel text is sorted by address except for aliases and a few lines, so this
 * is fast. Give up if it is not; the array contains the same symbols in either case.
 */
static bool sort_almost_sorted(struct vmop_symbol *symbols, size_t n)
{
	size_t moves_left = 2 * n;
	for (size_t i = 1; i < n; i++) {
		const struct vmop_symbol symbol = symbols[i];
		size_t at = i;
		while (at > 0 && moves_left > 0 &&
		       vmop_symbol_compare(&symbols[at - 1], &symbol) > 0) {
			symbols[at] = symbols[at - 1];
			at--;
			moves_left--;
		}
		symbols[at] = symbol;
		if (moves_left == 0)
			return false;
	}
	return true;
}

/* keys has room for 2 * n elements. */
static struct vmop_error *sort_any(struct vmop_symbol *symbols, struct vmop_symbol *sorted,
				   struct vmop_symbol_key *keys, size_t n,
				   struct vmop_sym_budget *budget, const char *path)
{
	struct vmop_symbol_key *in_order;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct vmop_symbol_key){symbols[i].offset, (uint32_t)i};
	struct vmop_error *err =
		vmop_symbol_keys_sort(keys, n, compare_symbols, symbols, budget, path, &in_order);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		sorted[i] = symbols[in_order[i].index];
	memcpy(symbols, sorted, n * sizeof(*symbols));
	return NULL;
}

struct vmop_error *vmop_symbols_sort(struct vmop_symbol *symbols, size_t n,
				     struct vmop_sym_budget *budget, const char *path)
{
	if (n < 2)
		return NULL;
	if (!vmop_sym_budget_take_steps(budget, n))
		return vmop_sym_budget_error(budget, path);
	if (sort_almost_sorted(symbols, n))
		return NULL;
	size_t needed_bytes = n * (sizeof(*symbols) + 2 * sizeof(struct vmop_symbol_key));
	if (n > VMOP_SYMTAB_MAX_SYMBOLS)
		vmop_sym_budget_spend(budget, VMOP_SYM_COST_SYMBOLS);
	if (n > VMOP_SYMTAB_MAX_SYMBOLS || !vmop_sym_budget_take_memory(budget, needed_bytes))
		return vmop_sym_budget_error(budget, path);
	_cleanup_free_ struct vmop_symbol *sorted = reallocarray(NULL, n, sizeof(*sorted));
	_cleanup_free_ struct vmop_symbol_key *keys = reallocarray(NULL, 2 * n, sizeof(*keys));
	struct vmop_error *err = sorted && keys ? sort_any(symbols, sorted, keys, n, budget, path)
						: &vmop_error_no_memory;
	vmop_sym_budget_give_memory(budget, needed_bytes);
	return err;
}

static uint64_t end_of(const struct vmop_symbol *symbol, uint64_t next)
{
	if (symbol->len_bytes == 0)
		return next;
	uint64_t end = symbol->offset + symbol->len_bytes;
	return end > symbol->offset ? end : UINT64_MAX;
}

/*
 * Add the spans of symbols [first, last), which are aliases: one span for each alias that reaches
 * further than all better ones, the furthest first. Return the number of spans.
 */
static size_t add_aliases(const struct vmop_symtab *symtab, size_t first, size_t last,
			  struct vmop_symtab_span *spans)
{
	uint64_t next = last < symtab->n ? symtab->symbols[last].offset : UINT64_MAX;
	uint64_t furthest = symtab->symbols[first].offset;
	size_t n = 0;

	for (size_t i = first; i < last; i++) {
		uint64_t end = end_of(&symtab->symbols[i], next);
		if (end <= furthest)
			continue;
		furthest = end;
		spans[n++] = (struct vmop_symtab_span){
			.offset = symtab->symbols[i].offset,
			.end = end,
			.symbol = (uint32_t)i,
		};
	}
	for (size_t i = 0; i < n / 2; i++) {
		struct vmop_symtab_span swapped = spans[i];
		spans[i] = spans[n - 1 - i];
		spans[n - 1 - i] = swapped;
	}
	return n;
}

static void link_outwards(struct vmop_symtab_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t outer = i ? (uint32_t)(i - 1) : NONE;
		while (outer != NONE && spans[outer].end <= spans[i].end)
			outer = spans[outer].outer;
		spans[i].outer = outer;
	}
}

struct vmop_error *vmop_symtab_create(struct vmop_symbol *symbols, size_t n, char *names,
				      struct vmop_symtab **ret)
{
	struct vmop_symtab *symtab = calloc(1, sizeof(*symtab));
	struct vmop_symtab_span *spans =
		n < NONE ? vmop_heap_alloc_large(n + 1, sizeof(*spans)) : NULL;
	if (!symtab || !spans) {
		free(symtab);
		free(spans);
		free(symbols);
		free(names);
		return &vmop_error_no_memory;
	}
	*symtab = (struct vmop_symtab){
		.symbols = symbols,
		.n = n,
		.names = names,
		.spans = spans,
	};
	for (size_t first = 0, last; first < n; first = last) {
		last = first + 1;
		if (last < n && symbols[last].offset != symbols[first].offset) {
			/* Nearly all symbols have no alias. */
			spans[symtab->n_spans++] = (struct vmop_symtab_span){
				.offset = symbols[first].offset,
				.end = end_of(&symbols[first], symbols[last].offset),
				.symbol = (uint32_t)first,
			};
			continue;
		}
		while (last < n && symbols[last].offset == symbols[first].offset)
			last++;
		symtab->n_spans += add_aliases(symtab, first, last, spans + symtab->n_spans);
	}
	link_outwards(spans, symtab->n_spans);
	*ret = symtab;
	return NULL;
}

struct vmop_error *vmop_symtab_create_backed(const struct vmop_symtab_backing *backing,
					     void *backing_arg, struct vmop_symtab **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret) {
		backing->destroy(backing_arg);
		return &vmop_error_no_memory;
	}
	(*ret)->backing = backing;
	(*ret)->backing_arg = backing_arg;
	return NULL;
}

void *vmop_symtab_backed_by(const struct vmop_symtab *symtab,
			    const struct vmop_symtab_backing *backing)
{
	return symtab->backing == backing ? symtab->backing_arg : NULL;
}

void vmop_symtab_set_identity(struct vmop_symtab *symtab, uint64_t identity)
{
	symtab->identity = identity ? identity : 1;
}

uint64_t vmop_symtab_identity(const struct vmop_symtab *symtab)
{
	return symtab->identity;
}

uint32_t vmop_symtab_index_of(const struct vmop_symtab *symtab, const struct vmop_symbol *symbol)
{
	if (symtab->backing)
		return symtab->backing->index_of(symtab->backing_arg, symbol);
	return (uint32_t)(symbol - symtab->symbols);
}

void vmop_symtab_set_known(const struct vmop_symtab *symtab, const struct vmop_symtab_known *known,
			   size_t n)
{
	if (symtab->backing)
		symtab->backing->set_known(symtab->backing_arg, known, n);
}

const struct vmop_symtab_span *vmop_symtab_spans(const struct vmop_symtab *symtab, size_t *ret_n)
{
	*ret_n = symtab->n_spans;
	return symtab->spans;
}

const char *vmop_symtab_names(const struct vmop_symtab *symtab, struct vmop_names_place *ret_place)
{
	*ret_place = symtab->names_place;
	return symtab->names;
}

void vmop_symtab_set_names_place(struct vmop_symtab *symtab, const struct vmop_names_place *place)
{
	symtab->names_place = *place;
}

struct vmop_error *vmop_symtab_adopt(struct vmop_symbol *symbols, size_t n,
				     struct vmop_symtab **ret)
{
	for (size_t i = 0; i < n; i++) {
		if (!symbols[i].name) {
			free(symbols);
			return vmop_error_new(VMOP_ERROR_CORRUPT, "a symbol without a name");
		}
	}
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	struct vmop_error *err = vmop_symbols_sort(symbols, n, &budget, "stored symbols");
	if (err) {
		free(symbols);
		return err;
	}
	return vmop_symtab_create(symbols, n, NULL, ret);
}

const struct vmop_symbol *vmop_symtab_symbols(const struct vmop_symtab *symtab, size_t *ret_n)
{
	if (symtab->backing)
		return symtab->backing->symbols(symtab->backing_arg, ret_n);
	*ret_n = symtab->n;
	return symtab->symbols;
}

void vmop_symtab_destroy(struct vmop_symtab *symtab)
{
	if (!symtab)
		return;
	if (symtab->backing)
		symtab->backing->destroy(symtab->backing_arg);
	free(symtab->symbols);
	free(symtab->names);
	free(symtab->spans);
	free(symtab);
}

struct vmop_symtab_run vmop_symtab_find_run(const struct vmop_symtab *symtab, uint64_t offset)
{
	const struct vmop_symtab_span *spans = symtab->spans, *at = spans;
	struct vmop_symtab_run run = {.end = UINT64_MAX};

	if (symtab->backing)
		return symtab->backing->find_run(symtab->backing_arg, offset);
	if (symtab->n_spans == 0)
		return run;
	if (offset < spans[0].offset) {
		run.end = spans[0].offset;
		return run;
	}
	/* Choose the half without a branch, which would be mispredicted. */
	for (size_t n = symtab->n_spans; n > 1; n -= n / 2)
		at = at[n / 2].offset <= offset ? at + n / 2 : at;
	run.start = at->offset;
	if (at + 1 < spans + symtab->n_spans)
		run.end = at[1].offset;
	/* Each outer span reaches further than the previous one. */
	for (int steps = 0; steps < VMOP_SYMTAB_MAX_OUTWARDS; steps++) {
		if (offset < at->end) {
			run.symbol = &symtab->symbols[at->symbol];
			run.end = at->end < run.end ? at->end : run.end;
			return run;
		}
		run.start = at->end;
		if (at->outer == NONE)
			return run;
		at = &spans[at->outer];
	}
	return run;
}

const struct vmop_symbol *vmop_symtab_find(const struct vmop_symtab *symtab, uint64_t offset)
{
	return vmop_symtab_find_run(symtab, offset).symbol;
}
