// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorts symbols by offset, and those at one offset by a caller's order.  Inside libsym only. */
#ifndef VMOP_LIBSYM_SYMBOL_SORT_H
#define VMOP_LIBSYM_SYMBOL_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"

/* What is sorted in a symbol's stead. */
struct vmop_symbol_key {
	uint64_t offset;
	uint32_t index;
};

/*
 * Sorts n keys, for which there is room for 2 * n: the second half is worked in, and *ret_sorted is
 * one of the halves.  Keys of one offset are ordered by compare, or stay as they are where that is
 * NULL or finds them equal.  compare gets arg and two indices.
 */
struct vmop_error *vmop_symbol_keys_sort(struct vmop_symbol_key *keys, size_t n,
					 int (*compare)(const void *arg, uint32_t a, uint32_t b),
					 const void *arg, struct vmop_sym_budget *budget,
					 const char *path, struct vmop_symbol_key **ret_sorted);

#endif
