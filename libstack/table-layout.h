// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a table lies in memory. A row is a number of 3 bytes: the low 10 bits of the offset at which
 * its rule begins to hold, above 14 bits of the rule's index. It has 4 bytes, and 22 bits of index,
 * in an image with more rules. The rows are in the order of their offsets. blocks[] has the first
 * row of each KiB, so that the upper bits of an offset need not be stored, and a look-up searches
 * the rows of one block. A rule holds up to the next row.
 */
#ifndef VMOP_LIBSTACK_TABLE_LAYOUT_H
#define VMOP_LIBSTACK_TABLE_LAYOUT_H

#include <string.h>

#include "libstack/table.h"

enum {
	VMOP_CFI_BLOCK_BITS = 10,
	/* For rows of 4 bytes, as during the build. */
	VMOP_CFI_RULE_BITS = 32 - VMOP_CFI_BLOCK_BITS,
	VMOP_CFI_MAX_RULES = 1 << VMOP_CFI_RULE_BITS,
	/* For rows of 3 bytes. */
	VMOP_CFI_SHORT_RULE_BITS = 24 - VMOP_CFI_BLOCK_BITS,
	VMOP_CFI_MAX_SHORT_RULES = 1 << VMOP_CFI_SHORT_RULE_BITS,
};

/* A function with rows of kind VMOP_CFI_EXPRESSION. Its bytes lie in entry_bytes. */
struct vmop_cfi_kept_entry {
	uint64_t start, end; /* offsets in the file */
	uint32_t cie, cie_bytes, fde, fde_bytes;
	uint64_t cie_address, fde_address;
	uint64_t function_address, function_bytes;
	uint64_t address_minus_offset;
	bool is_debug_frame;
};

struct vmop_cfi_table {
	uint8_t *rows; /* 4 bytes can be read from the beginning of each */
	size_t n_rows, rows_bytes;
	uint8_t row_bytes, rule_bits;
	uint64_t first_block; /* offset >> VMOP_CFI_BLOCK_BITS of the first row */
	size_t n_blocks;
	uint32_t *blocks; /* n_blocks + 1 */
	struct vmop_cfi_rule *rules;
	size_t n_rules;
	struct vmop_cfi_kept_entry *entries; /* sorted by start, disjoint */
	size_t n_entries;
	uint8_t *entry_bytes;
	size_t n_entry_bytes;
	uint64_t entry_point, entry_point_end; /* offsets; equal: no entry point */
	uint32_t serial;
	bool ends_with_zero, is_partial;
	uint16_t machine;
	size_t text_bytes, n_expression_rows;
};

/* Return a row: the offset in its block, above rule_bits of the rule's index. */
static inline uint32_t vmop_cfi_table_row(const struct vmop_cfi_table *table, size_t index)
{
	uint32_t row;
	memcpy(&row, table->rows + index * table->row_bytes, sizeof(row));
	return row & (UINT32_MAX >> (32 - 8 * table->row_bytes));
}

#endif
