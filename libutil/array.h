// SPDX-License-Identifier: GPL-2.0-or-later
/* Growable arrays on the heap: a pointer to the items and a capacity that doubles. */
#ifndef VMOP_LIBUTIL_ARRAY_H
#define VMOP_LIBUTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reallocate items to hold at least n items of item_bytes each and update *capacity. Return the
 * array; the caller frees it with free(). NULL: out of memory, and items and *capacity are
 * unchanged.
 */
void *vmop_array_grow(void *items, size_t *capacity, size_t n, size_t item_bytes);

/*
 * Make room for n items in total. items is a typed pointer, capacity a size_t; both are lvalues.
 * Evaluates to false if memory runs out, in which case nothing has changed.
 */
#define vmop_array_reserve(items, capacity, n)                                                     \
	({                                                                                         \
		void *grown_ = vmop_array_grow((items), &(capacity), (n), sizeof(*(items)));       \
		if (grown_)                                                                        \
			(items) = grown_;                                                          \
		grown_ != NULL;                                                                    \
	})

#endif
