// SPDX-License-Identifier: GPL-2.0-or-later
/* From a row of a CFI program to the rule that a table stores. */
#ifndef VMOP_LIBSTACK_CFI_RULE_H
#define VMOP_LIBSTACK_CFI_RULE_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_cfi_row;
struct vmop_cfi_rule;

/* The kind of the rows of an image. */
struct vmop_cfi_row_kind {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	bool has_extra;	  /* VMOP_CFI_EXTRA is known */
};

/*
 * Set *ret, padding included, to the rule of a row: VMOP_CFI_EXPRESSION where the other kinds can't
 * express it. is_signal: the row is of a signal trampoline.
 */
void vmop_cfi_rule_of_row(const struct vmop_cfi_row *row, struct vmop_cfi_row_kind kind,
			  bool is_signal, struct vmop_cfi_rule *ret);

#endif
