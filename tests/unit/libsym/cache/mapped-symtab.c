// SPDX-License-Identifier: GPL-2.0-or-later
/* Test look-ups in mapped tables: equal to those in memory, bounded, and repaired. */
#include "libsym/cache/mapped-symtab.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* 3000 symbols have several pages of each part. */
enum { MANY = 3000, HEADER_BYTES = 16 };

/* Return n symbols: aliases, nested and overlapping ones, gaps, and some without a length. */
static struct vmop_symtab *make_table(size_t n)
{
	struct vmop_symbol *symbols = calloc(n + 1, sizeof(*symbols));
	char *names = malloc(40 * n + 1);
	struct vmop_symtab *table = NULL;
	for (size_t i = 0; i < n; i++) {
		char *name = names + 40 * i;
		snprintf(name, 40, "function_number_%05zu", i);
		uint64_t len_bytes = i % 100 == 3 ? 900 : i % 7 == 1 ? 0 : i % 16 + 1;
		symbols[i] = (struct vmop_symbol){64 + 16 * (i / 3) + i % 3 / 2 * 5, len_bytes,
						  name, 'T'};
	}
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	assert_null(vmop_symbols_sort(symbols, n, &budget, "test"));
	assert_null(vmop_symtab_create(symbols, n, names, &table));
	return table;
}

/* A mapped copy of a table, and where its parts are. */
struct copy {
	struct vmop_mapped_sizes sizes;
	struct vmop_mapped_layout layout;
	char *start;
	struct vmop_symtab *symtab;
};

static void write_hashes(struct copy *copy)
{
	uint64_t *hash = (void *)(copy->start + copy->layout.hashes_at);
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++) {
		size_t at = copy->layout.parts_at[part];
		size_t end = part == VMOP_MAPPED_NAMES ? copy->layout.end
						       : copy->layout.parts_at[part + 1];
		for (; at < end; at += VMOP_MAPPED_PAGE_BYTES)
			*hash++ = vmop_mapped_hash(copy->start + at,
						   end - at < VMOP_MAPPED_PAGE_BYTES
							   ? end - at
							   : VMOP_MAPPED_PAGE_BYTES);
	}
	assert_ptr_equal(hash, copy->start + copy->layout.parts_at[0]);
}

static void copy_table(const struct vmop_symtab *table, struct copy *ret)
{
	size_t n, n_spans, names_at = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(table, &n);
	const struct vmop_symtab_span *spans = vmop_symtab_spans(table, &n_spans);
	struct copy copy = {.sizes = {.n_spans = n_spans, .n = n}};
	for (size_t i = 0; i < n; i++)
		copy.sizes.names_len_bytes += strlen(symbols[i].name) + 1;
	copy.layout = vmop_mapped_lay_out(&copy.sizes, HEADER_BYTES);
	copy.start = mmap(NULL, copy.layout.end, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(copy.start, MAP_FAILED);
	uint64_t *firsts = (void *)(copy.start + copy.layout.firsts_at);
	for (size_t i = 0; i < n_spans; i += VMOP_MAPPED_SPANS_PER_PAGE)
		*firsts++ = spans[i].offset;
	if (n_spans)
		memcpy(copy.start + copy.layout.parts_at[VMOP_MAPPED_SPANS], spans,
		       n_spans * sizeof(*spans));
	struct vmop_mapped_symbol *stored =
		(void *)(copy.start + copy.layout.parts_at[VMOP_MAPPED_SYMBOLS]);
	char *names = copy.start + copy.layout.parts_at[VMOP_MAPPED_NAMES];
	for (size_t i = 0; i < n; i++) {
		strcpy(names + names_at, symbols[i].name);
		stored[i] = (struct vmop_mapped_symbol){symbols[i].offset, symbols[i].len_bytes,
							(uint32_t)names_at,
							(unsigned char)symbols[i].type};
		names_at += strlen(symbols[i].name) + 1;
	}
	write_hashes(&copy);
	assert_null(vmop_mapped_symtab_create(copy.start, &copy.layout, &copy.sizes, NULL,
					      &copy.symtab));
	*ret = copy;
}

static void assert_equal_runs(const struct vmop_symtab *a, const struct vmop_symtab *b,
			      uint64_t end)
{
	for (uint64_t offset = 0; offset < end; offset++) {
		struct vmop_symtab_run of_a = vmop_symtab_find_run(a, offset);
		struct vmop_symtab_run of_b = vmop_symtab_find_run(b, offset);
		assert_int_equal(of_a.start, of_b.start);
		assert_int_equal(of_a.end, of_b.end);
		assert_int_equal(!of_a.symbol, !of_b.symbol);
		if (of_a.symbol) {
			assert_string_equal(of_a.symbol->name, of_b.symbol->name);
			assert_int_equal(of_a.symbol->offset, of_b.symbol->offset);
			assert_int_equal(of_a.symbol->len_bytes, of_b.symbol->len_bytes);
		}
	}
}

static void look_ups_are_equal(void **state)
{
	(void)state;
	static const size_t sizes[] = {0,
				       1,
				       2,
				       VMOP_MAPPED_SPANS_PER_PAGE - 1,
				       VMOP_MAPPED_SPANS_PER_PAGE,
				       VMOP_MAPPED_SPANS_PER_PAGE + 1,
				       MANY};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct vmop_symtab *table = make_table(sizes[i]);
		struct copy copy;
		copy_table(table, &copy);
		assert_non_null(vmop_mapped_symtab_of(copy.symtab));
		assert_null(vmop_mapped_symtab_of(table));
		assert_equal_runs(table, copy.symtab, 64 + 6 * sizes[i] + 1000);
		vmop_symtab_destroy(copy.symtab);
		vmop_symtab_destroy(table);
	}
}

static struct vmop_symtab *remake(void *arg)
{
	const size_t *n = arg;
	return *n ? make_table(*n) : NULL;
}

/* A page of each part is damaged after symbols of another page were found: these stay in place. */
static void a_damaged_page_is_made_again(void **state)
{
	(void)state;
	struct vmop_symtab *table = make_table(MANY);
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++) {
		struct copy copy;
		size_t n = MANY;
		copy_table(table, &copy);
		const struct vmop_symbol *first = vmop_symtab_find(copy.symtab, 64);
		vmop_mapped_symtab_set_remake(vmop_mapped_symtab_of(copy.symtab), remake, &n);
		copy.start[copy.layout.parts_at[part] + 2 * VMOP_MAPPED_PAGE_BYTES + 30] ^= 1;
		assert_equal_runs(table, copy.symtab, 6 * MANY);
		assert_ptr_equal(vmop_symtab_find(copy.symtab, 64), first);
		assert_int_equal(vmop_symtab_symbols(copy.symtab, &n)->offset, first->offset);
		vmop_symtab_destroy(copy.symtab);
	}
	vmop_symtab_destroy(table);
}

/* Without a new table, or with a different one, the symbols of the page are not found. */
static void a_page_that_cannot_be_made_again_has_no_symbols(void **state)
{
	(void)state;
	struct vmop_symtab *table = make_table(MANY);
	static const size_t others[] = {0, MANY - 1};
	for (size_t i = 0; i < 2; i++) {
		struct copy copy;
		size_t n = others[i], n_all;
		copy_table(table, &copy);
		vmop_mapped_symtab_set_remake(vmop_mapped_symtab_of(copy.symtab), remake, &n);
		copy.start[copy.layout.parts_at[VMOP_MAPPED_NAMES]] ^= 1;
		assert_null(vmop_symtab_find(copy.symtab, 64));
		assert_non_null(vmop_symtab_find(copy.symtab, 64 + 5 * MANY));
		assert_string_equal(vmop_symtab_symbols(copy.symtab, &n_all)[0].name, "");
		assert_int_equal(n_all, MANY);
		vmop_symtab_destroy(copy.symtab);
	}
	vmop_symtab_destroy(table);
}

/* Known runs are found without the file, and their symbols are those of other runs. */
static void known_runs_need_no_file(void **state)
{
	(void)state;
	enum { N_KNOWN = 500, END = 6 * MANY };
	struct vmop_symtab *table = make_table(MANY);
	struct copy copy, whole;
	struct vmop_symtab_known *known = calloc(N_KNOWN, sizeof(*known));
	size_t n = 0;
	copy_table(table, &whole);
	copy_table(table, &copy);
	for (uint64_t offset = 0; offset < END && n < N_KNOWN;) {
		struct vmop_symtab_run run = vmop_symtab_find_run(table, offset);
		known[n] = (struct vmop_symtab_known){
			.start = run.start, .end = run.end, .index = VMOP_SYMTAB_NO_INDEX};
		if (run.symbol) {
			struct vmop_symtab_run same = vmop_symtab_find_run(whole.symtab, offset);
			known[n].symbol = *run.symbol;
			known[n].index = vmop_symtab_index_of(table, run.symbol);
			while (known[known[n].first].index != known[n].index)
				known[n].first++;
			assert_int_equal(vmop_symtab_index_of(whole.symtab, same.symbol),
					 known[n].index);
		}
		n++;
		offset = run.end + (n % 3 ? 0 : 40); /* some are not known */
	}
	assert_int_equal(n, N_KNOWN);
	vmop_symtab_set_known(copy.symtab, known, n);
	vmop_symtab_set_known(table, known, n); /* does nothing */
	assert_equal_runs(table, copy.symtab, END);
	vmop_symtab_destroy(copy.symtab);
	copy_table(table, &copy);
	vmop_symtab_set_known(copy.symtab, known, n);
	memset(copy.start + copy.layout.parts_at[0], 'x',
	       copy.layout.end - copy.layout.parts_at[0]);
	for (size_t i = 0; i < n; i++) {
		struct vmop_symtab_run run = vmop_symtab_find_run(copy.symtab, known[i].end - 1);
		assert_int_equal(run.start, known[i].start);
		assert_int_equal(!run.symbol, known[i].index == VMOP_SYMTAB_NO_INDEX);
		for (size_t j = 0; run.symbol && j < i; j++)
			assert_true(known[j].index != known[i].index ||
				    vmop_symtab_find(copy.symtab, known[j].start) == run.symbol);
	}
	vmop_symtab_destroy(copy.symtab);
	vmop_symtab_destroy(whole.symtab);
	vmop_symtab_destroy(table);
	free(known);
}

/* Indexes and positions that lead out of the table, and circles, end. */
static void nonsense_is_bounded(void **state)
{
	(void)state;
	struct vmop_symtab *table = make_table(MANY);
	uint64_t random = 1;
	for (unsigned round = 0; round < 40; round++) {
		struct copy copy;
		size_t n;
		copy_table(table, &copy);
		uint32_t *words = (void *)(copy.start + copy.layout.firsts_at);
		size_t n_words = (copy.layout.end - copy.layout.firsts_at) / sizeof(*words);
		for (unsigned i = 0; i < 2000; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			words[(random >> 33) % n_words] =
				i % 3 ? (uint32_t)(random >> 20) % MANY : UINT32_MAX - i % 2;
		}
		memset(copy.start + copy.layout.end - 8, 'x', 8); /* names without an end */
		write_hashes(&copy);
		for (uint64_t offset = 0; offset < 6 * MANY; offset += 5) {
			const struct vmop_symbol *symbol = vmop_symtab_find(copy.symtab, offset);
			assert_true(!symbol || strlen(symbol->name) < copy.layout.end);
		}
		vmop_symtab_symbols(copy.symtab, &n);
		assert_int_equal(n, MANY);
		vmop_symtab_destroy(copy.symtab);
	}
	vmop_symtab_destroy(table);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_ups_are_equal),
		cmocka_unit_test(a_damaged_page_is_made_again),
		cmocka_unit_test(a_page_that_cannot_be_made_again_has_no_symbols),
		cmocka_unit_test(known_runs_need_no_file),
		cmocka_unit_test(nonsense_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
