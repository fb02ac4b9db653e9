// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/flat-table.h"

#include <stdlib.h>

#define OFFSET_BITS VMOP_UNWIND_BLOCK_BITS
#define BLOCK_BYTES (UINT64_C(1) << OFFSET_BITS)
#define RULE_MASK ((UINT32_C(1) << VMOP_UNWIND_RULE_BITS) - 1)
/* Blocks between a table's and its entry point: the file is untrusted. */
#define ENTRY_MAX_BLOCKS 65536

_Static_assert(OFFSET_BITS == VMOP_CFI_ROW_OFFSET_BITS, "both forms have the same blocks");
_Static_assert(OFFSET_BITS + VMOP_UNWIND_RULE_BITS == 32, "a row has 32 bits");
_Static_assert((int)VMOP_UNWIND_REGISTER == VMOP_CFI_REGISTER &&
		       (int)VMOP_UNWIND_DEREF == VMOP_CFI_DEREF &&
		       (int)VMOP_UNWIND_PLT == VMOP_CFI_PLT &&
		       (int)VMOP_UNWIND_SIGNAL == VMOP_CFI_SIGNAL &&
		       (int)VMOP_UNWIND_END == VMOP_CFI_END,
	       "kinds of rules have the same numbers");
_Static_assert((int)VMOP_UNWIND_SAME == VMOP_CFI_SAME &&
		       (int)VMOP_UNWIND_AT_CFA == VMOP_CFI_AT_CFA &&
		       (int)VMOP_UNWIND_AT_FP == VMOP_CFI_AT_FP &&
		       (int)VMOP_UNWIND_LOST == VMOP_CFI_LOST,
	       "places of saved registers have the same numbers");

/* The rows of a table as they are appended. */
struct flattening {
	struct vmop_flat_table *flat;
	size_t n_blocks; /* of which the first row is known */
	uint32_t rule;	 /* of the last row */
};

static void convert_rule(const struct vmop_cfi_rule *from, struct vmop_unwind_rule *ret)
{
	*ret = (struct vmop_unwind_rule){.kind = VMOP_UNWIND_COPY};
	if (from->kind < VMOP_CFI_REGISTER || from->kind > VMOP_CFI_END)
		return;
	*ret = (struct vmop_unwind_rule){
		.kind = from->kind,
		.cfa_register = from->cfa_register,
		.fp_saved = from->fp_saved,
		.ra_saved = from->ra_saved,
		.cfa_offset = from->cfa_offset,
		.cfa_addend = from->cfa_addend,
		.fp_offset = from->fp_offset,
		.ra_offset = from->ra_offset,
		.ra_is_signed = from->ra_is_signed,
	};
}

/* Begin the blocks up to the one of offset. */
static void begin_blocks(struct flattening *flattening, uint64_t offset)
{
	struct vmop_unwind_table *content = &flattening->flat->content;
	uint64_t block = (offset >> OFFSET_BITS) - content->first_block;
	while (flattening->n_blocks <= block)
		flattening->flat->blocks[flattening->n_blocks++] = (uint32_t)content->n_rows;
}

static void append(struct flattening *flattening, uint64_t offset, uint32_t rule)
{
	struct vmop_unwind_table *content = &flattening->flat->content;
	begin_blocks(flattening, offset);
	uint32_t low = (uint32_t)(offset & (BLOCK_BYTES - 1));
	flattening->flat->rows[content->n_rows++] = low << VMOP_UNWIND_RULE_BITS | rule;
	flattening->rule = rule;
}

/*
 * Append the table's rows, with those of the entry point in place of its own. rule is the index of
 * VMOP_UNWIND_END.
 */
static void append_rows(struct flattening *flattening, const struct vmop_cfi_table *table,
			const struct vmop_cfi_content *from, uint32_t end_rule)
{
	uint64_t start = from->entry_start, end = from->entry_end;
	bool has_entered = start >= end, has_left = has_entered;
	uint32_t rule = 0; /* that the table has at the present row */
	for (size_t block = 0; block < from->n_blocks; block++) {
		for (size_t i = from->blocks[block]; i < from->blocks[block + 1]; i++) {
			uint32_t row = vmop_cfi_table_content_row(table, i);
			uint64_t offset = ((from->first_block + block) << OFFSET_BITS) +
					  (row >> VMOP_UNWIND_RULE_BITS);
			if (!has_entered && offset >= start) {
				append(flattening, start, end_rule);
				has_entered = true;
			}
			if (has_entered && !has_left && offset >= end) {
				if (offset > end)
					append(flattening, end, rule);
				has_left = true;
			}
			rule = row & RULE_MASK;
			if (has_left || !has_entered)
				append(flattening, offset, rule);
		}
	}
	if (!has_entered)
		append(flattening, start, end_rule);
	if (!has_left)
		append(flattening, end, rule);
}

/*
 * Set the blocks that the flat table has. The entry point can lie outside the table's, and is left
 * out if it is far away.
 */
static void set_blocks(struct vmop_cfi_content *from, struct vmop_unwind_table *ret)
{
	uint64_t first = from->first_block, end = first + from->n_blocks;
	uint64_t entry_first = from->entry_start >> OFFSET_BITS;
	uint64_t entry_end = (from->entry_end >> OFFSET_BITS) + 1;
	if (from->n_blocks && first < entry_first)
		entry_first = first;
	if (from->n_blocks && end > entry_end)
		entry_end = end;
	if (from->entry_start < from->entry_end && from->n_rules <= RULE_MASK &&
	    entry_end - entry_first <= from->n_blocks + ENTRY_MAX_BLOCKS) {
		first = entry_first;
		end = entry_end;
	} else {
		from->entry_end = from->entry_start;
	}
	ret->first_block = first;
	ret->n_blocks = end - first;
}

struct vmop_error *vmop_flat_table_init(struct vmop_flat_table *ret,
					const struct vmop_cfi_table *table)
{
	struct vmop_cfi_content from;
	struct flattening flattening = {.flat = ret};
	vmop_cfi_table_content(table, &from);
	*ret = (struct vmop_flat_table){.content.n_rules = from.n_rules + 1};
	set_blocks(&from, &ret->content);
	ret->blocks = calloc(ret->content.n_blocks + 1, sizeof(*ret->blocks));
	ret->rows = calloc(from.n_rows + 2, sizeof(*ret->rows)); /* and those of the entry point */
	ret->rules = calloc(from.n_rules + 1, sizeof(*ret->rules));
	if (!ret->blocks || !ret->rows || !ret->rules) {
		vmop_flat_table_deinit(ret);
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < from.n_rules; i++)
		convert_rule(&from.rules[i], &ret->rules[i]);
	ret->rules[from.n_rules] = (struct vmop_unwind_rule){.kind = VMOP_UNWIND_END};
	append_rows(&flattening, table, &from, (uint32_t)from.n_rules);
	begin_blocks(&flattening, (ret->content.first_block + ret->content.n_blocks)
					  << OFFSET_BITS);
	ret->content.blocks = ret->blocks;
	ret->content.rows = ret->rows;
	ret->content.rules = ret->rules;
	return NULL;
}

void vmop_flat_table_deinit(struct vmop_flat_table *flat)
{
	free(flat->blocks);
	free(flat->rows);
	free(flat->rules);
	*flat = (struct vmop_flat_table){0};
}
