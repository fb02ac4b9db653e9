// SPDX-License-Identifier: GPL-2.0-or-later
#include "rules.h"

void vmop_cfi_table_find(const struct vmop_cfi_table *table, uint64_t offset,
			 struct vmop_cfi_rule *ret)
{
	*ret = (struct vmop_cfi_rule){.kind = VMOP_CFI_NONE};
	for (size_t i = 0; i < table->n_rows && table->rows[i].offset <= offset; i++)
		*ret = table->rows[i].rule;
}

bool vmop_cfi_table_is_entry(const struct vmop_cfi_table *table, uint64_t offset)
{
	return offset >= table->entry_start && offset < table->entry_end;
}

uint32_t vmop_cfi_table_serial(const struct vmop_cfi_table *table)
{
	(void)table;
	return 0;
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
	(void)offset;
	if (!table->entry)
		return false;
	*ret = *table->entry;
	return true;
}
