// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symtab-builder.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

struct vmop_pending_symbol {
	struct vmop_symbol symbol; /* name: its place in names until that has stopped to move */
	uint64_t left_bytes;
	bool label;
};

static struct vmop_error *grow(void **block, size_t *capacity, size_t needed, size_t each_bytes)
{
	if (needed <= *capacity)
		return NULL;
	size_t wanted = *capacity ? *capacity * 2 : 1024;
	if (wanted < needed)
		wanted = needed;
	void *grown = reallocarray(*block, wanted, each_bytes);
	if (!grown)
		return &vmop_error_no_memory;
	*block = grown;
	*capacity = wanted;
	return NULL;
}

struct vmop_error *vmop_symtab_builder_reserve(struct vmop_symtab_builder *builder, size_t n,
					       size_t names_len_bytes)
{
	if (n > VMOP_SYMTAB_MAX_SYMBOLS - builder->n)
		n = VMOP_SYMTAB_MAX_SYMBOLS - builder->n;
	if (names_len_bytes > VMOP_SYMTAB_MAX_NAMES_BYTES - builder->names_len_bytes)
		names_len_bytes = VMOP_SYMTAB_MAX_NAMES_BYTES - builder->names_len_bytes;
	struct vmop_error *err = grow((void **)&builder->pending, &builder->capacity,
				      builder->n + n, sizeof(*builder->pending));
	return err ? err
		   : grow((void **)&builder->names, &builder->names_capacity,
			  builder->names_len_bytes + names_len_bytes, 1);
}

struct vmop_error *vmop_symtab_builder_add(struct vmop_symtab_builder *builder,
					   const struct vmop_symbol *symbol, size_t name_len_bytes,
					   uint64_t left_bytes, bool label)
{
	if (builder->n >= VMOP_SYMTAB_MAX_SYMBOLS ||
	    name_len_bytes >= VMOP_SYMTAB_MAX_NAMES_BYTES - builder->names_len_bytes)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "more than %zu symbols, or %zu bytes of names",
				      VMOP_SYMTAB_MAX_SYMBOLS, VMOP_SYMTAB_MAX_NAMES_BYTES);
	struct vmop_error *err = grow((void **)&builder->pending, &builder->capacity,
				      builder->n + 1, sizeof(*builder->pending));
	if (!err)
		err = grow((void **)&builder->names, &builder->names_capacity,
			   builder->names_len_bytes + name_len_bytes + 1, 1);
	if (err)
		return err;
	struct vmop_pending_symbol *pending = &builder->pending[builder->n++];
	pending->symbol = *symbol;
	pending->symbol.name = (const char *)(uintptr_t)builder->names_len_bytes;
	pending->left_bytes = left_bytes;
	pending->label = label;
	if (pending->symbol.len_bytes > left_bytes)
		pending->symbol.len_bytes = left_bytes;
	char *name = builder->names + builder->names_len_bytes;
	memcpy(name, symbol->name, name_len_bytes);
	name[name_len_bytes] = '\0';
	builder->names_len_bytes += name_len_bytes + 1;
	return NULL;
}

void vmop_symtab_builder_deinit(struct vmop_symtab_builder *builder)
{
	free(builder->pending);
	free(builder->names);
	memset(builder, 0, sizeof(*builder));
}

/* What is sorted in the symbols' stead: a quarter of their size. */
struct key {
	uint64_t offset;
	size_t index;
};

#define DIGIT_BITS 11

/* One pass of a radix sort: stable, by the digit at shift. */
static void sort_by_digit(const struct key *from, struct key *to, size_t n, unsigned shift)
{
	size_t next[1 << DIGIT_BITS] = {0}, begin = 0;
	const uint64_t mask = (1 << DIGIT_BITS) - 1;

	for (size_t i = 0; i < n; i++)
		next[from[i].offset >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t count = next[i];
		next[i] = begin;
		begin += count;
	}
	for (size_t i = 0; i < n; i++)
		to[next[from[i].offset >> shift & mask]++] = from[i];
}

/* keys has room for 2 * n, the second half to work in. Returns the half that is sorted. */
static const struct key *sort_keys(struct key *keys, size_t n)
{
	struct key *from = keys, *to = keys + n;
	uint64_t all = 0; /* the bits that any of them has */

	for (size_t i = 0; i < n; i++)
		all |= keys[i].offset;
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += DIGIT_BITS) {
		sort_by_digit(from, to, n, shift);
		struct key *swapped = from;
		from = to;
		to = swapped;
	}
	return from;
}

static int compare_pending(const void *a, const void *b)
{
	const struct vmop_pending_symbol *x = a, *y = b;
	return vmop_symbol_compare(&x->symbol, &y->symbol);
}

/* Of symbols sorted by offset, those at one offset among themselves. */
static void sort_aliases(struct vmop_symtab_builder *builder)
{
	struct vmop_pending_symbol *pending = builder->pending;
	size_t kept = 0;

	for (size_t first = 0, last; first < builder->n; first = last) {
		for (last = first + 1; last < builder->n &&
				       pending[last].symbol.offset == pending[first].symbol.offset;)
			last++;
		if (builder->latest_only)
			pending[kept++] = pending[last - 1];
		else if (last - first > 1)
			qsort(pending + first, last - first, sizeof(*pending), compare_pending);
	}
	if (builder->latest_only)
		builder->n = kept;
}

static struct vmop_error *sort(struct vmop_symtab_builder *builder)
{
	size_t n = builder->n;
	struct key *keys = reallocarray(NULL, 2 * n + 1, sizeof(*keys));
	struct vmop_pending_symbol *sorted = reallocarray(NULL, n + 1, sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){builder->pending[i].symbol.offset, i};
	const struct key *in_order = sort_keys(keys, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = builder->pending[in_order[i].index];
	free(keys);
	free(builder->pending);
	builder->pending = sorted;
	builder->capacity = n + 1;
	sort_aliases(builder);
	return NULL;
}

static bool is_repeated(const struct vmop_symbol *symbol, const struct vmop_symbol *before)
{
	return symbol->offset == before->offset && strcmp(symbol->name, before->name) == 0;
}

/* Drops what repeats another, and labels inside a function.  Returns how many are left. */
static size_t drop_needless(struct vmop_pending_symbol *pending, size_t n)
{
	size_t kept = 0;
	uint64_t reach = 0; /* the end of the function that reaches furthest so far */

	for (size_t i = 0; i < n; i++) {
		const struct vmop_symbol *symbol = &pending[i].symbol;
		const struct vmop_symbol *before = kept ? &pending[kept - 1].symbol : NULL;
		if (before && is_repeated(symbol, before))
			continue;
		if (pending[i].label && symbol->offset < reach && symbol->offset != before->offset)
			continue;
		if (symbol->len_bytes && symbol->offset + symbol->len_bytes > reach)
			reach = symbol->offset + symbol->len_bytes;
		pending[kept++] = pending[i];
	}
	return kept;
}

/* A symbol without length reaches to the next place that has a name, or as far as it may. */
static void find_lengths(struct vmop_pending_symbol *pending, size_t n)
{
	uint64_t next = UINT64_MAX; /* the nearest offset behind this one's */
	for (size_t i = n; i-- > 0;) {
		struct vmop_symbol *symbol = &pending[i].symbol;
		if (i + 1 < n && pending[i + 1].symbol.offset != symbol->offset)
			next = pending[i + 1].symbol.offset;
		if (symbol->len_bytes)
			continue;
		uint64_t to_next = next - symbol->offset;
		symbol->len_bytes =
			to_next < pending[i].left_bytes ? to_next : pending[i].left_bytes;
	}
}

struct vmop_error *vmop_symtab_builder_finish(struct vmop_symtab_builder *builder,
					      struct vmop_symtab **ret)
{
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder mine = *builder;
	memset(builder, 0, sizeof(*builder));

	for (size_t i = 0; i < mine.n; i++)
		mine.pending[i].symbol.name = mine.names + (uintptr_t)mine.pending[i].symbol.name;
	struct vmop_error *err = sort(&mine);
	if (err)
		return err;
	mine.n = drop_needless(mine.pending, mine.n);
	find_lengths(mine.pending, mine.n);
	struct vmop_symbol *symbols = calloc(mine.n + 1, sizeof(*symbols));
	if (!symbols)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < mine.n; i++)
		symbols[i] = mine.pending[i].symbol;
	return vmop_symtab_create(symbols, mine.n, vmop_steal(&mine.names), ret);
}
