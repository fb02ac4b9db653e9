// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognise functions of a kernel, or of a hypervisor, that a CPU is idle in.  A report by symbol
 * shows them as one, since which of them a CPU waits in is a matter of the machine and of no
 * interest; on an idle machine it would be all there is to see.
 *
 * A function is one of them when it lies between __cpuidle_text_start and __cpuidle_text_end, where
 * the kernel puts what it marks __cpuidle (include/linux/cpu.h), or when its name is in a list:
 * kernels have moved some of them elsewhere.  Interrupts that a CPU takes while it is idle are none
 * of it, although they are samples of the idle task.
 */
#ifndef VMOP_OPREPORT_QUERY_IDLE_H
#define VMOP_OPREPORT_QUERY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libsym/symtab.h"

/* Stands for all of them.  Its offset means nothing. */
extern const struct vmop_symbol vmop_idle_symbol;

/* Offsets within an image, [start, end); empty where the image has no such symbols. */
struct vmop_idle_range {
	uint64_t start, end;
};

/* Whether an image of that kind can have idle functions. */
bool vmop_idle_is_possible(enum vmop_image_kind kind);

/* Walks over all symbols: once an image is enough. */
struct vmop_idle_range vmop_idle_find_range(const struct vmop_symtab *symtab);

bool vmop_idle_is_function(const struct vmop_idle_range *range, const struct vmop_symbol *symbol);

#endif
