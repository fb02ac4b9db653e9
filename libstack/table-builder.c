// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/table-builder.h"

#include <stdlib.h>
#include <string.h>

#include "libstack/budget.h"
#include "libstack/cfi.h"
#include "libutil/error.h"

enum { MAX_KEPT_RECORD_BYTES = 64 << 10 };

void vmop_cfi_builder_init(struct vmop_cfi_builder *builder, struct vmop_cfi_row_kind kind,
			   struct vmop_cfi_budget *budget)
{
	*builder = (struct vmop_cfi_builder){.budget = budget, .kind = kind};
}

void vmop_cfi_builder_deinit(struct vmop_cfi_builder *builder)
{
	vmop_cfi_rule_set_deinit(&builder->rules, builder->budget);
	vmop_cfi_budget_free(builder->budget, builder->rows, builder->rows_capacity,
			     sizeof(*builder->rows));
	vmop_cfi_budget_free(builder->budget, builder->blocks, builder->blocks_capacity,
			     sizeof(*builder->blocks));
	vmop_cfi_budget_free(builder->budget, builder->entries, builder->entries_capacity,
			     sizeof(*builder->entries));
	vmop_cfi_budget_free(builder->budget, builder->entry_bytes, builder->entry_bytes_capacity,
			     1);
	*builder = (struct vmop_cfi_builder){.budget = builder->budget};
}

/* Extend blocks[] up to the block of an offset; its first row is the next one. */
static bool extend_blocks(struct vmop_cfi_builder *builder, uint64_t offset)
{
	uint64_t block = offset >> VMOP_CFI_BLOCK_BITS;
	if (builder->n_rows == 0)
		builder->first_block = block;
	size_t wanted = (size_t)(block - builder->first_block) + 1;
	if (wanted <= builder->n_blocks)
		return true;
	if (wanted > builder->blocks_capacity) {
		size_t capacity = wanted + wanted / 2 + 64;
		uint32_t *grown =
			vmop_cfi_budget_resize(builder->budget, builder->blocks,
					       builder->blocks_capacity, capacity, sizeof(*grown));
		if (!grown)
			return false;
		builder->blocks = grown;
		builder->blocks_capacity = capacity;
	}
	while (builder->n_blocks < wanted)
		builder->blocks[builder->n_blocks++] = (uint32_t)builder->n_rows;
	return true;
}

static inline bool begin_blocks(struct vmop_cfi_builder *builder, uint64_t offset)
{
	uint64_t block = offset >> VMOP_CFI_BLOCK_BITS;
	return block - builder->first_block < builder->n_blocks || extend_blocks(builder, offset);
}

/* Store the pending row, unless the row before it has the same rule. */
static bool store_pending(struct vmop_cfi_builder *builder)
{
	if (!builder->has_pending ||
	    (builder->n_rows && builder->last_rule == builder->pending_rule))
		return true;
	if (builder->n_rows == UINT32_MAX ||
	    !vmop_cfi_budget_reserve(builder->budget, builder->rows, builder->rows_capacity,
				     builder->n_rows) ||
	    !begin_blocks(builder, builder->pending_offset)) {
		builder->budget->is_over_bytes = true;
		return false;
	}
	builder->rows[builder->n_rows++] =
		(uint32_t)builder->pending_offset << VMOP_CFI_RULE_BITS | builder->pending_rule;
	builder->last_rule = builder->pending_rule;
	builder->n_expression_rows +=
		builder->rules.rules[builder->pending_rule].kind == VMOP_CFI_EXPRESSION;
	return true;
}

/* Let the rule of an index hold from an offset on. */
static bool add_index(struct vmop_cfi_builder *builder, uint64_t offset, uint32_t index)
{
	if (index >= VMOP_CFI_MAX_RULES) {
		builder->budget->is_over_bytes = true;
		return false;
	}
	if (offset != builder->pending_offset && !store_pending(builder))
		return false;
	builder->has_pending = true;
	builder->pending_offset = offset;
	builder->pending_rule = index;
	return true;
}

bool vmop_cfi_builder_add(struct vmop_cfi_builder *builder, uint64_t offset,
			  const struct vmop_cfi_row *row, bool is_signal,
			  enum vmop_cfi_kind *ret_kind)
{
	uint32_t index;
	if (!vmop_cfi_rule_set_index_of_row(&builder->rules, row, builder->kind, is_signal,
					    builder->budget, &index))
		return false;
	*ret_kind = builder->rules.rules[index].kind;
	return add_index(builder, offset, index);
}

bool vmop_cfi_builder_add_none(struct vmop_cfi_builder *builder, uint64_t offset)
{
	uint32_t index;
	struct vmop_cfi_rule none;
	memset(&none, 0, sizeof(none));
	return vmop_cfi_rule_set_index(&builder->rules, &none, builder->budget, &index) &&
	       add_index(builder, offset, index);
}

static bool copy_record(struct vmop_cfi_builder *builder, const struct vmop_cfi_section *section,
			const struct vmop_cfi_record *record, uint32_t *ret)
{
	size_t wanted = builder->n_entry_bytes + record->len_bytes;
	if (wanted > UINT32_MAX)
		return false;
	if (wanted > builder->entry_bytes_capacity) {
		size_t capacity = wanted + wanted / 2;
		uint8_t *grown = vmop_cfi_budget_resize(builder->budget, builder->entry_bytes,
							builder->entry_bytes_capacity, capacity, 1);
		if (!grown)
			return false;
		builder->entry_bytes = grown;
		builder->entry_bytes_capacity = capacity;
	}
	*ret = (uint32_t)builder->n_entry_bytes;
	memcpy(builder->entry_bytes + *ret, section->bytes + record->offset, record->len_bytes);
	builder->n_entry_bytes = wanted;
	return true;
}

bool vmop_cfi_builder_keep(struct vmop_cfi_builder *builder, const struct vmop_cfi_section *section,
			   const struct vmop_cfi_record *cie, const struct vmop_cfi_record *fde,
			   const struct vmop_cfi_kept_entry *entry)
{
	struct vmop_cfi_kept_entry kept = *entry;
	const struct vmop_cfi_kept_entry *last =
		builder->n_entries ? &builder->entries[builder->n_entries - 1] : NULL;
	if (cie->len_bytes > MAX_KEPT_RECORD_BYTES || fde->len_bytes > MAX_KEPT_RECORD_BYTES)
		return true;
	kept.is_debug_frame = section->is_debug_frame;
	kept.cie_address = section->address + cie->offset;
	kept.fde_address = section->address + fde->offset;
	kept.cie_bytes = (uint32_t)cie->len_bytes;
	kept.fde_bytes = (uint32_t)fde->len_bytes;
	if (last && last->cie_address == kept.cie_address &&
	    last->is_debug_frame == kept.is_debug_frame)
		kept.cie = last->cie;
	else if (!copy_record(builder, section, cie, &kept.cie))
		return false;
	if (!copy_record(builder, section, fde, &kept.fde) ||
	    !vmop_cfi_budget_reserve(builder->budget, builder->entries, builder->entries_capacity,
				     builder->n_entries))
		return false;
	builder->entries[builder->n_entries++] = kept;
	return true;
}

/* Add the end of the last block to blocks[]. */
static bool close_blocks(struct vmop_cfi_builder *builder)
{
	uint64_t end = (builder->first_block + builder->n_blocks) << VMOP_CFI_BLOCK_BITS;
	return begin_blocks(builder, end);
}

static void *shrink(struct vmop_cfi_builder *builder, void *items, size_t capacity, size_t n,
		    size_t item_bytes)
{
	void *shrunk = items && n < capacity ? vmop_cfi_budget_resize(builder->budget, items,
								      capacity, n, item_bytes)
					     : NULL;
	return shrunk ? shrunk : items;
}

/* Shorten the rows in place, and return their bytes. A row is read before it is overwritten. */
static size_t shorten_rows(struct vmop_cfi_builder *builder)
{
	uint8_t *at = (uint8_t *)builder->rows;
	for (size_t i = 0; i < builder->n_rows; i++, at += 3) {
		uint32_t row;
		memcpy(&row, (uint8_t *)builder->rows + i * sizeof(row), sizeof(row));
		row = row >> VMOP_CFI_RULE_BITS << VMOP_CFI_SHORT_RULE_BITS |
		      (row & (VMOP_CFI_MAX_SHORT_RULES - 1));
		memcpy(at, &row, sizeof(row));
	}
	return 3 * builder->n_rows + 1;
}

static void move_rows(struct vmop_cfi_builder *builder, struct vmop_cfi_table *table)
{
	bool is_short = builder->rules.n <= VMOP_CFI_MAX_SHORT_RULES;
	size_t capacity_bytes = builder->rows_capacity * sizeof(*builder->rows);
	table->row_bytes = is_short ? 3 : 4;
	table->rule_bits = is_short ? VMOP_CFI_SHORT_RULE_BITS : VMOP_CFI_RULE_BITS;
	table->n_rows = builder->n_rows;
	table->rows_bytes =
		is_short ? shorten_rows(builder) : builder->n_rows * sizeof(*builder->rows);
	table->rows = shrink(builder, builder->rows, capacity_bytes, table->rows_bytes, 1);
}

static void move(struct vmop_cfi_builder *builder, struct vmop_cfi_table *table)
{
	vmop_cfi_rule_set_finish(&builder->rules, builder->budget);
	move_rows(builder, table);
	table->blocks = shrink(builder, builder->blocks, builder->blocks_capacity,
			       builder->n_blocks, sizeof(*table->blocks));
	table->n_blocks = builder->n_blocks - 1;
	table->first_block = builder->first_block;
	table->rules = builder->rules.rules;
	table->n_rules = builder->rules.n;
	table->entries = shrink(builder, builder->entries, builder->entries_capacity,
				builder->n_entries, sizeof(*table->entries));
	table->n_entries = builder->n_entries;
	table->entry_bytes = shrink(builder, builder->entry_bytes, builder->entry_bytes_capacity,
				    builder->n_entry_bytes, 1);
	table->n_entry_bytes = builder->n_entry_bytes;
	table->n_expression_rows = builder->n_expression_rows;
	*builder = (struct vmop_cfi_builder){.budget = builder->budget};
}

struct vmop_error *vmop_cfi_builder_finish(struct vmop_cfi_builder *builder,
					   struct vmop_cfi_table **ret)
{
	if (!builder->has_pending)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "has no call frame information");
	if (!store_pending(builder) || !close_blocks(builder))
		return vmop_cfi_budget_error(builder->budget);
	struct vmop_cfi_table *table = calloc(1, sizeof(*table));
	if (!table)
		return &vmop_error_no_memory;
	move(builder, table);
	*ret = table;
	return NULL;
}
