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

/* ---- with stacks ---------------------------------------------------------- */

/* Keys of the passes: first the offset's bytes, then the stack's. */
#define OFFSET_BITS 64
#define KEY_BITS (OFFSET_BITS + 32)

static bool is_above(const struct vmop_db_stack_cell *a, const struct vmop_db_stack_cell *b)
{
	if (a->stack.number != b->stack.number)
		return a->stack.number > b->stack.number;
	return a->cell.offset > b->cell.offset;
}

static void insertion_sort_stacks(struct vmop_db_stack_cell *cells, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct vmop_db_stack_cell cell = cells[i];
		size_t j = i;
		for (; j && is_above(&cells[j - 1], &cell); j--)
			cells[j] = cells[j - 1];
		cells[j] = cell;
	}
}

static inline uint8_t key_byte(const struct vmop_db_stack_cell *cell, unsigned shift)
{
	return (uint8_t)(shift < OFFSET_BITS ? cell->cell.offset >> shift
					     : cell->stack.number >> (shift - OFFSET_BITS));
}

/* Sort by one byte of the key; the order of equal ones stays. */
static void radix_pass(const struct vmop_db_stack_cell *from, struct vmop_db_stack_cell *to,
		       size_t n, unsigned shift)
{
	size_t at[257] = {0};
	for (size_t i = 0; i < n; i++)
		at[key_byte(&from[i], shift) + 1]++;
	for (size_t byte = 1; byte < 256; byte++)
		at[byte] += at[byte - 1];
	for (size_t i = 0; i < n; i++)
		to[at[key_byte(&from[i], shift)]++] = from[i];
}

void vmop_db_sort_stack_cells(struct vmop_db_stack_cell *cells, struct vmop_db_stack_cell *scratch,
			      size_t n)
{
	if (n <= 32) {
		insertion_sort_stacks(cells, n);
		return;
	}
	struct vmop_db_stack_cell differing = {0}, *from = cells, *to = scratch;
	for (size_t i = 1; i < n; i++) {
		differing.stack.number |= cells[i].stack.number ^ cells[0].stack.number;
		differing.cell.offset |= cells[i].cell.offset ^ cells[0].cell.offset;
	}
	for (unsigned shift = 0; shift < KEY_BITS; shift += 8) {
		if (!key_byte(&differing, shift))
			continue;
		radix_pass(from, to, n, shift);
		struct vmop_db_stack_cell *sorted = to;
		to = from;
		from = sorted;
	}
	if (from != cells)
		memcpy(cells, from, n * sizeof(*cells));
}
