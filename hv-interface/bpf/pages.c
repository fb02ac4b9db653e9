// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/pages.h"

#include <stdlib.h>

enum {
	LARGEST_BLOCK_ROWS = 1 << VMOP_UNWIND_BLOCK_BITS,
	MAX_PAGES = 1 << VMOP_BPF_DIR_PAGE_BITS,
};

/* The place of the next block's rows. */
struct place {
	size_t page, row;
};

/* Take room for n rows in one page and return where it begins. */
static struct place take(struct place *next, size_t n)
{
	if (next->row + n > VMOP_BPF_PAGE_ROWS) {
		next->page++;
		next->row = 0;
	}
	struct place place = *next;
	next->row += n;
	return place;
}

static size_t pages_for(size_t n, size_t n_a_page)
{
	return n / n_a_page + (n % n_a_page != 0);
}

/* Return whether every block's rows are in the table, and few enough. */
static bool are_blocks_good(const struct vmop_unwind_table *table)
{
	for (size_t i = 0; i < table->n_blocks; i++) {
		size_t first = table->blocks[i], end = table->blocks[i + 1];
		if (first > end || end > table->n_rows || end - first > LARGEST_BLOCK_ROWS)
			return false;
	}
	return table->n_blocks < MAX_PAGES * (size_t)VMOP_BPF_PAGE_WORDS &&
	       table->n_rules < VMOP_BPF_NO_RULE;
}

/* Return the number of pages up to the last one of rows. */
static size_t pages_before_rules(const struct vmop_unwind_table *table)
{
	size_t n_words = VMOP_BPF_TABLE_WORDS + table->n_blocks;
	struct place next = {.page = pages_for(n_words, VMOP_BPF_PAGE_WORDS)};
	for (size_t i = 0; i < table->n_blocks; i++)
		take(&next, table->blocks[i + 1] - table->blocks[i]);
	return next.page + (next.row > 0);
}

static uint64_t pack_entry(const struct place *place, uint64_t n, uint64_t rule_before)
{
	return place->page | (uint64_t)place->row << VMOP_BPF_DIR_ROW_SHIFT |
	       n << VMOP_BPF_DIR_COUNT_SHIFT | rule_before << VMOP_BPF_DIR_RULE_SHIFT;
}

static void pack_rows(const struct vmop_unwind_table *table, union vmop_bpf_page *pages)
{
	size_t n_words = VMOP_BPF_TABLE_WORDS + table->n_blocks;
	struct place next = {.page = pages_for(n_words, VMOP_BPF_PAGE_WORDS)};
	uint32_t rule_before = VMOP_BPF_NO_RULE;
	for (size_t i = 0; i < table->n_blocks; i++) {
		size_t first = table->blocks[i], n = table->blocks[i + 1] - first;
		size_t word = VMOP_BPF_TABLE_WORDS + i;
		struct place place = take(&next, n);
		if (!n)
			place = (struct place){0};
		/* A full page's end is no row: only an empty block could be there. */
		pages[word / VMOP_BPF_PAGE_WORDS].words[word % VMOP_BPF_PAGE_WORDS] =
			pack_entry(&place, n, rule_before);
		for (size_t j = 0; j < n; j++)
			pages[place.page].rows[place.row + j] = table->rows[first + j];
		if (n)
			rule_before = table->rows[first + n - 1] & VMOP_BPF_NO_RULE;
	}
}

static void pack_rules(const struct vmop_unwind_table *table, union vmop_bpf_page *pages)
{
	for (size_t i = 0; i < table->n_rules; i++)
		pages[i / VMOP_BPF_PAGE_RULES].rules[i % VMOP_BPF_PAGE_RULES].rule =
			table->rules[i];
}

union vmop_bpf_page *vmop_bpf_pages_pack(const struct vmop_unwind_table *table, size_t *ret_n)
{
	*ret_n = 0;
	if (!are_blocks_good(table))
		return NULL;
	size_t rule_page = pages_before_rules(table);
	size_t n = rule_page + pages_for(table->n_rules, VMOP_BPF_PAGE_RULES);
	if (n > MAX_PAGES)
		return NULL;
	union vmop_bpf_page *pages = calloc(n, sizeof(*pages));
	if (!pages)
		return NULL;
	pages[0].words[VMOP_BPF_FIRST_BLOCK] = table->first_block;
	pages[0].words[VMOP_BPF_N_BLOCKS] = table->n_blocks;
	pages[0].words[VMOP_BPF_RULE_PAGE] = rule_page;
	pages[0].words[VMOP_BPF_N_RULES] = table->n_rules;
	pack_rows(table, pages);
	pack_rules(table, pages + rule_page);
	*ret_n = n;
	return pages;
}
