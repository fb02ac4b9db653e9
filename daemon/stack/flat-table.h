// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An unwind table in the form in which the kernel's program reads it
 * (hv-interface/bpf/unwind-maps.h).
 *
 * Rules that the program cannot apply become VMOP_UNWIND_COPY. The code of an image's entry point
 * gets the rule VMOP_UNWIND_END, as libstack ends a stack there with or without CFI.
 */
#ifndef VMOP_DAEMON_STACK_FLAT_TABLE_H
#define VMOP_DAEMON_STACK_FLAT_TABLE_H

#include "hv-interface/bpf/unwind-maps.h"
#include "libstack/table.h"
#include "libutil/error.h"

struct vmop_flat_table {
	struct vmop_unwind_table content; /* its arrays are the next three */
	uint32_t *blocks, *rows;
	struct vmop_unwind_rule *rules;
};

/* Convert table. *ret is the caller's. Any thread. The only error is lack of memory. */
struct vmop_error *vmop_flat_table_init(struct vmop_flat_table *ret,
					const struct vmop_cfi_table *table);
void vmop_flat_table_deinit(struct vmop_flat_table *flat);

#endif
