// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed tables: a look-up in the pages, written as the BPF program's, finds what a search through
 * the table's rows finds.
 */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/pages.h"

enum {
	BLOCK_BYTES = 1 << VMOP_UNWIND_BLOCK_BITS,
	RULE_MASK = VMOP_BPF_NO_RULE,
	N_BLOCKS = 1200, /* three pages of directory */
	N_RULES = 300,	 /* three pages of rules */
	FIRST_BLOCK = 7,
};

/* Return the rule at an offset by the pages, or RULE_MASK; -1: outside of the table. */
static int64_t find_in_pages(const union vmop_bpf_page *pages, uint64_t offset)
{
	uint64_t block = offset / BLOCK_BYTES - pages->words[VMOP_BPF_FIRST_BLOCK];
	if (block >= pages->words[VMOP_BPF_N_BLOCKS])
		return -1;
	uint64_t word = VMOP_BPF_TABLE_WORDS + block;
	uint64_t entry = pages[word / VMOP_BPF_PAGE_WORDS].words[word % VMOP_BPF_PAGE_WORDS];
	const union vmop_bpf_page *page = &pages[entry & ((1 << VMOP_BPF_DIR_PAGE_BITS) - 1)];
	uint64_t row = entry >> VMOP_BPF_DIR_ROW_SHIFT & (VMOP_BPF_PAGE_ROWS - 1);
	uint64_t n = entry >> VMOP_BPF_DIR_COUNT_SHIFT & ((1 << VMOP_BPF_DIR_COUNT_BITS) - 1);
	int64_t rule = (int64_t)(entry >> VMOP_BPF_DIR_RULE_SHIFT);
	assert_true(n == 0 || row + n <= VMOP_BPF_PAGE_ROWS);
	for (uint64_t i = 0; i < n; i++) {
		if (page->rows[row + i] >> VMOP_UNWIND_RULE_BITS <= offset % BLOCK_BYTES)
			rule = page->rows[row + i] & RULE_MASK;
	}
	return rule;
}

/* The table of a text in which each block has a number of rows, whose rules are i % N_RULES. */
struct made {
	struct vmop_unwind_table table;
	uint32_t blocks[N_BLOCKS + 1];
	uint32_t *rows;
	struct vmop_unwind_rule rules[N_RULES];
};

static void make(struct made *made, uint32_t (*rows_in)(uint32_t block))
{
	*made = (struct made){0};
	made->rows = calloc((size_t)N_BLOCKS * BLOCK_BYTES, sizeof(*made->rows));
	assert_non_null(made->rows);
	uint32_t n = 0;
	for (uint32_t i = 0; i < N_BLOCKS; i++) {
		uint32_t n_rows = rows_in(i);
		for (uint32_t j = 0; j < n_rows; j++, n++)
			made->rows[n] =
				(j * BLOCK_BYTES / n_rows) << VMOP_UNWIND_RULE_BITS | n % N_RULES;
		made->blocks[i + 1] = n;
	}
	for (uint32_t i = 0; i < N_RULES; i++)
		made->rules[i] = (struct vmop_unwind_rule){.kind = VMOP_UNWIND_REGISTER,
							   .cfa_offset = (int32_t)i};
	made->table = (struct vmop_unwind_table){
		.first_block = FIRST_BLOCK,
		.n_blocks = N_BLOCKS,
		.n_rows = n,
		.n_rules = N_RULES,
		.blocks = made->blocks,
		.rows = made->rows,
		.rules = made->rules,
	};
}

static uint32_t some(uint32_t block)
{
	return block % 7 == 0 ? 0 : block * 37 % 90;
}

static uint32_t full(uint32_t block)
{
	return block % 3 ? BLOCK_BYTES : 1;
}

static uint32_t none(uint32_t block)
{
	(void)block;
	return 0;
}

static void check(uint32_t (*rows_in)(uint32_t block))
{
	struct made made;
	size_t n_pages;
	make(&made, rows_in);
	union vmop_bpf_page *pages = vmop_bpf_pages_pack(&made.table, &n_pages);
	assert_non_null(pages);
	uint32_t next = 0;
	int64_t rule = RULE_MASK;
	for (uint64_t at = 0; at < (uint64_t)N_BLOCKS * BLOCK_BYTES; at++) {
		uint32_t block = (uint32_t)(at / BLOCK_BYTES);
		while (next < made.blocks[block + 1] &&
		       made.rows[next] >> VMOP_UNWIND_RULE_BITS <= at % BLOCK_BYTES)
			rule = made.rows[next++] & RULE_MASK;
		assert_int_equal(find_in_pages(pages, FIRST_BLOCK * BLOCK_BYTES + at), rule);
	}
	assert_int_equal(find_in_pages(pages, FIRST_BLOCK * BLOCK_BYTES - 1), -1);
	assert_int_equal(find_in_pages(pages, (uint64_t)(FIRST_BLOCK + N_BLOCKS) * BLOCK_BYTES),
			 -1);
	size_t rule_page = pages->words[VMOP_BPF_RULE_PAGE];
	assert_int_equal(rule_page + 3, n_pages);
	for (uint32_t i = 0; i < N_RULES; i++)
		assert_int_equal(pages[rule_page + i / VMOP_BPF_PAGE_RULES]
					 .rules[i % VMOP_BPF_PAGE_RULES]
					 .rule.cfa_offset,
				 i);
	free(pages);
	free(made.rows);
}

static void pages_have_the_tables_rules(void **state)
{
	(void)state;
	check(some);
	check(full);
	check(none);
}

static void impossible_tables_are_refused(void **state)
{
	(void)state;
	struct made made;
	size_t n_pages;
	make(&made, some);
	made.blocks[5] = made.blocks[7] + 1; /* out of order */
	assert_null(vmop_bpf_pages_pack(&made.table, &n_pages));
	free(made.rows);
	make(&made, full);
	made.blocks[2]++; /* more rows in a block than it has bytes */
	assert_null(vmop_bpf_pages_pack(&made.table, &n_pages));
	made.blocks[2]--;
	made.table.n_rows--; /* a block's rows are outside of the table */
	assert_null(vmop_bpf_pages_pack(&made.table, &n_pages));
	made.table.n_rows++;
	made.table.n_rules = VMOP_BPF_NO_RULE;
	assert_null(vmop_bpf_pages_pack(&made.table, &n_pages));
	free(made.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_have_the_tables_rules),
		cmocka_unit_test(impossible_tables_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
