// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/db.h"

#include <string.h>

static void insertion_sort(struct vmop_db_cell *cells, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct vmop_db_cell cell = cells[i];
		size_t j = i;
		for (; j && cells[j - 1].offset > cell.offset; j--)
			cells[j] = cells[j - 1];
		cells[j] = cell;
	}
}

/* Radix sort by the bytes in which offsets differ, usually two or three. */
void vmop_db_sort_cells(struct vmop_db_cell *cells, struct vmop_db_cell *scratch, size_t n)
{
	if (n <= 32) {
		insertion_sort(cells, n);
		return;
	}
	uint64_t differing = 0;
	for (size_t i = 1; i < n; i++)
		differing |= cells[i].offset ^ cells[0].offset;
	struct vmop_db_cell *from = cells, *to = scratch;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (!(differing >> shift & 0xff))
			continue;
		size_t at[257] = {0};
		for (size_t i = 0; i < n; i++)
			at[(from[i].offset >> shift & 0xff) + 1]++;
		for (size_t byte = 1; byte < 256; byte++)
			at[byte] += at[byte - 1];
		for (size_t i = 0; i < n; i++)
			to[at[from[i].offset >> shift & 0xff]++] = from[i];
		struct vmop_db_cell *sorted = to;
		to = from;
		from = sorted;
	}
	if (from != cells)
		memcpy(cells, from, n * sizeof(*cells));
}
