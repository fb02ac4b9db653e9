// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/table.h"

#include <stdlib.h>

#include "libstack/table-layout.h"

void vmop_cfi_table_destroy(struct vmop_cfi_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->blocks);
	free(table->rules);
	free(table->entries);
	free(table->entry_bytes);
	free(table);
}

/* Return how many of the rows in [first, end) are at most limit. */
static size_t count_up_to(const struct vmop_cfi_table *table, size_t first, size_t end,
			  uint32_t limit)
{
	size_t base = first, n = end - first;
	while (n > 1) {
		size_t half = n / 2;
		base = vmop_cfi_table_row(table, base + half - 1) <= limit ? base + half : base;
		n -= half;
	}
	return base - first + (n == 1 && vmop_cfi_table_row(table, base) <= limit);
}

void vmop_cfi_table_find(const struct vmop_cfi_table *table, uint64_t offset,
			 struct vmop_cfi_rule *ret)
{
	uint64_t block = (offset >> VMOP_CFI_BLOCK_BITS) - table->first_block;
	uint32_t rule = 0;
	if (block < table->n_blocks) {
		size_t first = table->blocks[block], end = table->blocks[block + 1];
		uint32_t rule_mask = (UINT32_C(1) << table->rule_bits) - 1;
		uint32_t low_bits = offset & ((1 << VMOP_CFI_BLOCK_BITS) - 1);
		size_t n = first +
			   count_up_to(table, first, end, low_bits << table->rule_bits | rule_mask);
		/* A rule that began in an earlier block can still hold. */
		if (n > 0)
			rule = vmop_cfi_table_row(table, n - 1) & rule_mask;
	}
	*ret = table->rules[rule];
}

bool vmop_cfi_table_is_entry(const struct vmop_cfi_table *table, uint64_t offset)
{
	return offset >= table->entry_point && offset < table->entry_point_end;
}

uint32_t vmop_cfi_table_serial(const struct vmop_cfi_table *table)
{
	return table->serial;
}

bool vmop_cfi_table_ends_with_zero(const struct vmop_cfi_table *table)
{
	return table->ends_with_zero;
}

bool vmop_cfi_table_is_partial(const struct vmop_cfi_table *table)
{
	return table->is_partial;
}

bool vmop_cfi_table_entry(const struct vmop_cfi_table *table, uint64_t offset,
			  struct vmop_cfi_entry *ret)
{
	size_t low = 0, high = table->n_entries;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->entries[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == table->n_entries || offset < table->entries[low].start)
		return false;
	const struct vmop_cfi_kept_entry *kept = &table->entries[low];
	*ret = (struct vmop_cfi_entry){
		.cie = table->entry_bytes + kept->cie,
		.fde = table->entry_bytes + kept->fde,
		.cie_bytes = kept->cie_bytes,
		.fde_bytes = kept->fde_bytes,
		.cie_address = kept->cie_address,
		.fde_address = kept->fde_address,
		.function_address = kept->function_address,
		.function_bytes = kept->function_bytes,
		.address_minus_offset = kept->address_minus_offset,
		.is_debug_frame = kept->is_debug_frame,
	};
	return true;
}

_Static_assert((int)VMOP_CFI_ROW_OFFSET_BITS == (int)VMOP_CFI_BLOCK_BITS,
	       "a table has the blocks of its content");

void vmop_cfi_table_content(const struct vmop_cfi_table *table, struct vmop_cfi_content *ret)
{
	*ret = (struct vmop_cfi_content){
		.first_block = table->first_block,
		.n_blocks = table->n_blocks,
		.n_rows = table->n_rows,
		.n_rules = table->n_rules,
		.blocks = table->blocks,
		.rules = table->rules,
		.entry_start = table->entry_point,
		.entry_end = table->entry_point_end,
	};
}

uint32_t vmop_cfi_table_content_row(const struct vmop_cfi_table *table, size_t index)
{
	uint32_t row = vmop_cfi_table_row(table, index);
	uint32_t rule = row & ((UINT32_C(1) << table->rule_bits) - 1);
	return row >> table->rule_bits << VMOP_CFI_RULE_BITS | rule;
}

void vmop_cfi_table_facts(const struct vmop_cfi_table *table, struct vmop_cfi_facts *ret)
{
	*ret = (struct vmop_cfi_facts){
		.machine = table->machine,
		.table_bytes = sizeof(*table) + table->rows_bytes +
			       (table->n_blocks + 1) * sizeof(*table->blocks) +
			       table->n_rules * sizeof(*table->rules) +
			       table->n_entries * sizeof(*table->entries) + table->n_entry_bytes,
		.text_bytes = table->text_bytes,
		.n_rows = table->n_rows,
		.n_rules = table->n_rules,
		.n_expression_rows = table->n_expression_rows,
	};
}
