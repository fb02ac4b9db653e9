// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 8 };

void *vmop_array_grow(void *items, size_t *capacity, size_t n, size_t item_bytes)
{
	if (items && n <= *capacity)
		return items;
	size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
	/* No object is larger than PTRDIFF_MAX, which also bounds the doubling. */
	if (n > (size_t)PTRDIFF_MAX / 2 / item_bytes)
		return NULL;
	while (wanted < n)
		wanted *= 2;
	void *grown = reallocarray(items, wanted, item_bytes);
	if (grown)
		*capacity = wanted;
	return grown;
}
