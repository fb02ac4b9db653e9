// SPDX-License-Identifier: GPL-2.0-or-later
/* Sort symbols by offset, and those at one offset by the caller's order. Inside libsym only. */
#ifndef VMOP_LIBSYM_SYMBOL_SORT_H
#define VMOP_LIBSYM_SYMBOL_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"

/* A key that is sorted instead of its symbol. */
struct vmop_symbol_key {
	uint64_t offset;
	uint32_t index;
};

/*
 * Sort n keys. The array has room for 2 * n: the second half is working space, and *ret_sorted is
 * one of the halves. Keys with the same offset are ordered by compare(arg, index, index). They keep
 * their order if compare is NULL or finds them equal. VMOP_ERROR_LIMIT if budget runs out.
 */
struct vmop_error *vmop_symbol_keys_sort(struct vmop_symbol_key *keys, size_t n,
					 int (*compare)(const void *arg, uint32_t a, uint32_t b),
					 const void *arg, struct vmop_sym_budget *budget,
					 const char *path, struct vmop_symbol_key **ret_sorted);

#endif
