// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays on the heap that grow: a pointer to the items, and a capacity that doubles. */
#ifndef VMOP_LIBUTIL_ARRAY_H
#define VMOP_LIBUTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return items, reallocated so that it has room for at least n of them, and update *capacity; or
 * NULL without memory, and then items and *capacity are as before.  item_bytes is the size of one.
 */
void *vmop_array_grow(void *items, size_t *capacity, size_t n, size_t item_bytes);

/*
 * Make room for n items in all: items is a typed pointer, capacity a size_t, both lvalues.  The
 * value is false without memory, and then nothing has changed.
 */
#define vmop_array_reserve(items, capacity, n)                                                     \
	({                                                                                         \
		void *grown_ = vmop_array_grow((items), &(capacity), (n), sizeof(*(items)));       \
		if (grown_)                                                                        \
			(items) = grown_;                                                          \
		grown_ != NULL;                                                                    \
	})

#endif
