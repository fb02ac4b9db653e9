// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symtab-builder.h"

#include <stdlib.h>
#include <string.h>

#include "libsym/symbol-sort.h"
#include "libutil/cleanup.h"

struct vmop_pending_symbol {
	uint64_t offset, len_bytes, left_bytes;
	uint32_t name; /* position in names */
	char type;
	bool label;
};

_Static_assert(VMOP_SYMTAB_MAX_NAMES_BYTES <= UINT32_MAX, "a name's place fits");
_Static_assert(VMOP_SYMTAB_MAX_SYMBOLS <= UINT32_MAX, "a key's index fits");

/*
 * Blocks of this size and more grow by an eighth: leaving half of them empty could cost too much.
 */
#define LARGE_BLOCK_BYTES ((size_t)16 << 20)

/* The largest reservation of one block, which can still grow. */
#define MAX_RESERVED_BYTES ((size_t)8 << 20)

static struct vmop_error *too_costly(const struct vmop_symtab_builder *builder)
{
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s", vmop_sym_budget_message(builder->budget));
}

static struct vmop_error *grow(struct vmop_symtab_builder *builder, void **block, size_t *capacity,
			       size_t needed, size_t each_bytes)
{
	if (needed <= *capacity)
		return NULL;
	size_t wanted = *capacity ? *capacity * 2 : 1024;
	if (wanted * each_bytes > LARGE_BLOCK_BYTES)
		wanted = *capacity + *capacity / 8;
	if (wanted < needed)
		wanted = needed;
	size_t more_bytes = (wanted - *capacity) * each_bytes;
	if (!vmop_sym_budget_take_memory(builder->budget, more_bytes))
		return too_costly(builder);
	void *grown = reallocarray(*block, wanted, each_bytes);
	if (!grown) {
		vmop_sym_budget_give_memory(builder->budget, more_bytes);
		return &vmop_error_no_memory;
	}
	*block = grown;
	*capacity = wanted;
	return NULL;
}

struct vmop_error *vmop_symtab_builder_reserve(struct vmop_symtab_builder *builder, size_t n,
					       size_t names_len_bytes)
{
	if (n > MAX_RESERVED_BYTES / sizeof(*builder->pending))
		n = MAX_RESERVED_BYTES / sizeof(*builder->pending);
	if (names_len_bytes > MAX_RESERVED_BYTES)
		names_len_bytes = MAX_RESERVED_BYTES;
	struct vmop_error *err = grow(builder, (void **)&builder->pending, &builder->capacity,
				      builder->n + n, sizeof(*builder->pending));
	return err ? err
		   : grow(builder, (void **)&builder->names, &builder->names_capacity,
			  builder->names_len_bytes + names_len_bytes, 1);
}

void vmop_symtab_builder_adopt_names(struct vmop_symtab_builder *builder, char *names,
				     size_t len_bytes, size_t capacity_bytes,
				     const struct vmop_names_place *place)
{
	vmop_sym_budget_give_memory(builder->budget, builder->names_capacity);
	free(builder->names);
	builder->names = names;
	builder->names_len_bytes = len_bytes;
	builder->names_capacity = capacity_bytes;
	builder->names_used_bytes = 0;
	builder->place = *place;
}

/* Store a name; set *ret_name to its position in names. */
static struct vmop_error *place_name(struct vmop_symtab_builder *builder, const char *name,
				     size_t name_len_bytes, size_t *ret_name)
{
	uintptr_t at = (uintptr_t)name, begin = (uintptr_t)builder->names;
	builder->names_used_bytes += name_len_bytes + 1;
	if (at >= begin && at - begin < builder->names_len_bytes) {
		/*
		 * A version may follow the name: cut it off. All symbols that share the name lose
		 * it.
		 */
		*ret_name = at - begin;
		builder->names[*ret_name + name_len_bytes] = '\0';
		return NULL;
	}
	struct vmop_error *err = grow(builder, (void **)&builder->names, &builder->names_capacity,
				      builder->names_len_bytes + name_len_bytes + 1, 1);
	if (err)
		return err;
	*ret_name = builder->names_len_bytes;
	memcpy(builder->names + *ret_name, name, name_len_bytes);
	builder->names[*ret_name + name_len_bytes] = '\0';
	builder->names_len_bytes += name_len_bytes + 1;
	return NULL;
}

struct vmop_error *vmop_symtab_builder_add(struct vmop_symtab_builder *builder,
					   const struct vmop_symbol *symbol, size_t name_len_bytes,
					   uint64_t left_bytes, bool label)
{
	if (builder->n >= VMOP_SYMTAB_MAX_SYMBOLS ||
	    name_len_bytes >= VMOP_SYMTAB_MAX_NAMES_BYTES - builder->names_len_bytes) {
		vmop_sym_budget_spend(builder->budget, VMOP_SYM_COST_SYMBOLS);
		return too_costly(builder);
	}
	struct vmop_error *err = grow(builder, (void **)&builder->pending, &builder->capacity,
				      builder->n + 1, sizeof(*builder->pending));
	size_t name = 0;
	if (!err)
		err = place_name(builder, symbol->name, name_len_bytes, &name);
	if (err)
		return err;
	builder->pending[builder->n++] = (struct vmop_pending_symbol){
		.offset = symbol->offset,
		.len_bytes = symbol->len_bytes < left_bytes ? symbol->len_bytes : left_bytes,
		.left_bytes = left_bytes,
		.name = (uint32_t)name,
		.type = symbol->type,
		.label = label,
	};
	return NULL;
}

static void give_pending(struct vmop_symtab_builder *builder)
{
	if (builder->budget)
		vmop_sym_budget_give_memory(builder->budget,
					    builder->capacity * sizeof(*builder->pending));
	free(builder->pending);
	builder->pending = NULL;
	builder->n = builder->capacity = 0;
}

void vmop_symtab_builder_deinit(struct vmop_symtab_builder *builder)
{
	give_pending(builder);
	if (builder->budget)
		vmop_sym_budget_give_memory(builder->budget, builder->names_capacity);
	free(builder->names);
	builder->names = NULL;
	builder->names_len_bytes = builder->names_capacity = builder->names_used_bytes = 0;
}

static struct vmop_symbol symbol_of(const struct vmop_symtab_builder *builder, uint32_t index)
{
	const struct vmop_pending_symbol *pending = &builder->pending[index];
	return (struct vmop_symbol){
		.offset = pending->offset,
		.len_bytes = pending->len_bytes,
		.name = builder->names + pending->name,
		.type = pending->type,
	};
}

static int compare_pending(const void *arg, uint32_t a, uint32_t b)
{
	const struct vmop_symbol x = symbol_of(arg, a), y = symbol_of(arg, b);
	return vmop_symbol_compare(&x, &y);
}

/* The keys are sorted, and their symbols are not. */
#define FETCHED_AHEAD 12

static bool is_repeated(const struct vmop_symbol *symbol, const struct vmop_symbol *before)
{
	return symbol->offset == before->offset && strcmp(symbol->name, before->name) == 0;
}

/*
 * Make symbols from sorted keys. Leave out repetitions, and labels inside a function. Set *ret_n to
 * the number of symbols and of keys. Return false if the budget ran out.
 */
static bool take_needed(const struct vmop_symtab_builder *builder, struct vmop_symbol_key *keys,
			size_t n, struct vmop_symbol *symbols, size_t *ret_n)
{
	size_t kept = 0;
	uint64_t reach = 0; /* the end of the function that reaches furthest up to here */

	for (size_t i = 0; i < n; i++) {
		if (i + FETCHED_AHEAD < n)
			__builtin_prefetch(&builder->pending[keys[i + FETCHED_AHEAD].index]);
		const struct vmop_symbol symbol = symbol_of(builder, keys[i].index);
		const struct vmop_symbol *before = kept ? &symbols[kept - 1] : NULL;
		if (!vmop_sym_budget_take_steps(builder->budget, 8))
			return false;
		if (before && is_repeated(&symbol, before))
			continue;
		if (builder->pending[keys[i].index].label && symbol.offset < reach &&
		    symbol.offset != before->offset)
			continue;
		if (symbol.len_bytes && symbol.offset + symbol.len_bytes > reach)
			reach = symbol.offset + symbol.len_bytes;
		keys[kept] = keys[i];
		symbols[kept++] = symbol;
	}
	*ret_n = kept;
	return true;
}

/* Give each symbol without a length the distance to the next name, or to the end of its section. */
static void find_lengths(const struct vmop_symtab_builder *builder,
			 const struct vmop_symbol_key *keys, struct vmop_symbol *symbols, size_t n)
{
	uint64_t next = UINT64_MAX; /* the next larger offset */
	for (size_t i = n; i-- > 0;) {
		struct vmop_symbol *symbol = &symbols[i];
		if (i + 1 < n && symbols[i + 1].offset != symbol->offset)
			next = symbols[i + 1].offset;
		if (symbol->len_bytes)
			continue;
		uint64_t to_next = next - symbol->offset;
		uint64_t left_bytes = builder->pending[keys[i].index].left_bytes;
		symbol->len_bytes = to_next < left_bytes ? to_next : left_bytes;
	}
}

/* keys has room for 2 * builder->n elements, symbols for builder->n. */
static struct vmop_error *make_symbols(const struct vmop_symtab_builder *builder, const char *path,
				       struct vmop_symbol_key *keys, struct vmop_symbol *symbols,
				       size_t *ret_n)
{
	size_t n = builder->n;
	struct vmop_symbol_key *sorted;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct vmop_symbol_key){builder->pending[i].offset, (uint32_t)i};
	struct vmop_error *err = vmop_symbol_keys_sort(keys, n, compare_pending, builder,
						       builder->budget, path, &sorted);
	if (err)
		return err;
	if (!take_needed(builder, sorted, n, symbols, &n))
		return vmop_sym_budget_error(builder->budget, path);
	find_lengths(builder, sorted, symbols, n);
	*ret_n = n;
	return NULL;
}

/* Free most of the unused space. Can move the names. Return false if memory runs out. */
static bool shrink_names(struct vmop_symtab_builder *builder)
{
	if (builder->names_used_bytes > builder->names_len_bytes / 2) {
		char *names = realloc(builder->names, builder->names_len_bytes);
		builder->names = names ? names : builder->names;
		return true;
	}
	/* Most of an adopted string table can be names of symbols that are no functions. */
	char *names = malloc(builder->names_used_bytes + 1);
	if (!names)
		return false;
	size_t at = 0;
	for (size_t i = 0; i < builder->n; i++) {
		const char *from = builder->names + builder->pending[i].name;
		size_t len_bytes = strlen(from) + 1;
		memcpy(names + at, from, len_bytes);
		builder->pending[i].name = (uint32_t)at;
		at += len_bytes;
	}
	free(builder->names);
	builder->names = names;
	builder->place.len_bytes = 0;
	return true;
}

struct vmop_error *vmop_symtab_builder_finish(struct vmop_symtab_builder *builder, const char *path,
					      struct vmop_symtab **ret)
{
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder mine = *builder;
	struct vmop_sym_budget *budget = builder->budget;
	*builder = (struct vmop_symtab_builder){.budget = budget};

	if (!shrink_names(&mine))
		return &vmop_error_no_memory;
	size_t n = mine.n, needed_bytes = 2 * n * sizeof(struct vmop_symbol_key) +
					  n * sizeof(struct vmop_symbol);
	if (!vmop_sym_budget_take_memory(budget, needed_bytes))
		return vmop_sym_budget_error(budget, path);
	_cleanup_free_ struct vmop_symbol_key *keys = reallocarray(NULL, 2 * n + 1, sizeof(*keys));
	_cleanup_free_ struct vmop_symbol *symbols = reallocarray(NULL, n + 1, sizeof(*symbols));
	struct vmop_error *err = &vmop_error_no_memory;
	if (keys && symbols)
		err = make_symbols(&mine, path, keys, symbols, &n);
	vmop_sym_budget_give_memory(budget, needed_bytes);
	if (err)
		return err;
	free(vmop_steal(&keys));
	give_pending(&mine);
	struct vmop_symbol *fitting = reallocarray(symbols, n + 1, sizeof(*symbols));
	symbols = fitting ? fitting : symbols;
	err = vmop_symtab_create(vmop_steal(&symbols), n, vmop_steal(&mine.names), ret);
	if (!err)
		vmop_symtab_set_names_place(*ret, &mine.place);
	return err;
}
