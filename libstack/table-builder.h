// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts rows, in the order of their offsets, into a table. */
#ifndef VMOP_LIBSTACK_TABLE_BUILDER_H
#define VMOP_LIBSTACK_TABLE_BUILDER_H

#include "libstack/rule-set.h"
#include "libstack/table-layout.h"

struct vmop_cfi_budget;
struct vmop_cfi_record;
struct vmop_cfi_section;
struct vmop_error;

/* Private. */
struct vmop_cfi_builder {
	struct vmop_cfi_budget *budget;
	struct vmop_cfi_row_kind kind;
	struct vmop_cfi_rule_set rules;
	uint32_t *rows, *blocks;
	size_t n_rows, rows_capacity, n_blocks, blocks_capacity;
	uint64_t first_block;
	/* The last row, which is stored when the next one begins behind it. */
	bool has_pending;
	uint64_t pending_offset;
	uint32_t pending_rule, last_rule;
	struct vmop_cfi_kept_entry *entries;
	size_t n_entries, entries_capacity;
	uint8_t *entry_bytes;
	size_t n_entry_bytes, entry_bytes_capacity;
	size_t n_expression_rows;
};

/* budget is used up to the builder's end. All rows are of one kind. */
void vmop_cfi_builder_init(struct vmop_cfi_builder *builder, struct vmop_cfi_row_kind kind,
			   struct vmop_cfi_budget *budget);
void vmop_cfi_builder_deinit(struct vmop_cfi_builder *builder);

/*
 * Let the rule of a row hold from an offset on. Offsets never decrease; a rule at the same offset
 * replaces the one before. is_signal: the row is of a signal trampoline. Set *ret_kind to the
 * rule's kind. False: the budget refused memory.
 */
bool vmop_cfi_builder_add(struct vmop_cfi_builder *builder, uint64_t offset,
			  const struct vmop_cfi_row *row, bool is_signal,
			  enum vmop_cfi_kind *ret_kind);

/* Let no rule hold from an offset on. */
bool vmop_cfi_builder_add_none(struct vmop_cfi_builder *builder, uint64_t offset);

/*
 * Keep the records of a function. Functions come in the order of their offsets. The rest of *entry
 * is set by the caller. Nothing is kept of records of more than 64 KiB. False: the budget refused
 * memory.
 */
bool vmop_cfi_builder_keep(struct vmop_cfi_builder *builder, const struct vmop_cfi_section *section,
			   const struct vmop_cfi_record *cie, const struct vmop_cfi_record *fde,
			   const struct vmop_cfi_kept_entry *entry);

/*
 * Move everything into *ret, which the caller frees with vmop_cfi_table_destroy(). The table's
 * facts and entry point are unset. VMOP_ERROR_LIMIT, VMOP_ERROR_NOT_FOUND without rows, or out of
 * memory.
 */
struct vmop_error *vmop_cfi_builder_finish(struct vmop_cfi_builder *builder,
					   struct vmop_cfi_table **ret);

#endif
