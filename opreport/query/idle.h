// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognise the functions of a kernel or hypervisor in which a CPU is idle.  A report by symbol
 * shows them as one symbol.  The machine decides in which of them a CPU waits, and on an idle
 * machine they would fill the report.
 *
 * A function is idle if it lies between __cpuidle_text_start and __cpuidle_text_end, where the
 * kernel puts functions marked __cpuidle (include/linux/cpu.h).  A list of names covers functions
 * that some kernels place elsewhere.  Interrupt handlers are not idle, although they can run in
 * the idle task.
 */
#ifndef VMOP_OPREPORT_QUERY_IDLE_H
#define VMOP_OPREPORT_QUERY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libsym/symtab.h"

/* The symbol that stands for all idle functions.  Its offset has no meaning. */
extern const struct vmop_symbol vmop_idle_symbol;

/* Offsets within an image, [start, end); empty if the image lacks these symbols. */
struct vmop_idle_range {
	uint64_t start, end;
};

/* Return whether an image of that kind can have idle functions. */
bool vmop_idle_is_possible(enum vmop_image_kind kind);

/* Return the range of __cpuidle text.  Reads all symbols, so call it once for an image. */
struct vmop_idle_range vmop_idle_find_range(const struct vmop_symtab *symtab);

bool vmop_idle_is_function(const struct vmop_idle_range *range, const struct vmop_symbol *symbol);

#endif
