// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind tables made of rules that a test writes down, behind libstack/table.h. A program that
 * links rules.c does not link libstack/table.c.
 */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_RULES_H
#define VMOP_TESTS_UNIT_LIBSTACK_RULES_H

#include "libstack/table.h"

struct rule_row {
	uint64_t offset; /* the rule is that of the instructions from here to the next row */
	struct vmop_cfi_rule rule;
};

struct vmop_cfi_table {
	const struct rule_row *rows; /* by offset */
	size_t n_rows;
	uint64_t entry_start, entry_end;
	bool ends_with_zero, is_partial;
	const struct vmop_cfi_entry *entry; /* of every function; may be NULL */
};

#endif
