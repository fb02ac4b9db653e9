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

bool vmop_cfi_table_entry(const struct vmop_cfi_table *table, uint64_t offset,
			  struct vmop_cfi_entry *ret)
{
	(void)offset;
	if (!table->entry)
		return false;
	*ret = *table->entry;
	return true;
}
