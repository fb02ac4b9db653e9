// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks by libunwind from the same captured bytes, to compare libstack's with: CFI comes straight
 * from the files, and not from libstack's tables.
 */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_REFERENCE_H
#define VMOP_TESTS_UNIT_LIBSTACK_REFERENCE_H

#include "processes.h"

struct reference;

struct reference *reference_create(void); /* NULL: this build has no libunwind */
void reference_destroy(struct reference *reference);

/* Unwind into addresses[0..max) and return their number. */
size_t reference_unwind(struct reference *reference, const struct process *process,
			const struct sampled *stack, uint64_t *addresses, size_t max);

#endif
