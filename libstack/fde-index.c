// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/fde-index.h"

#include <stdlib.h>

#include "libstack/budget.h"
#include "libstack/cfi.h"
#include "libstack/cursor.h"
#include "libstack/image.h"
#include "libutil/error.h"

/* The search table has a head of four bytes and two pointers, and entries of two times four bytes.
 */
enum { HEAD_MAX_BYTES = 4 + 2 * 8, ENTRY_BYTES = 8 };

void vmop_fde_index_deinit(struct vmop_fde_index *index, struct vmop_cfi_budget *budget)
{
	vmop_cfi_budget_free(budget, index->offsets, index->capacity, sizeof(*index->offsets));
	*index = (struct vmop_fde_index){0};
}

/*
 * Return the offset in the table of its first entry: behind version 1, three encodings, the pointer
 * to .eh_frame, and the number of entries. 0: the table has another form than linkers make.
 */
static size_t find_entries(const struct vmop_cfi_section *table)
{
	const uint8_t *bytes = table->bytes;
	struct vmop_cfi_cursor cursor = {.at = bytes + 4, .end = bytes + table->len_bytes};
	if (table->len_bytes < HEAD_MAX_BYTES || vmop_cfi_has_hole(table, 0, HEAD_MAX_BYTES) ||
	    bytes[0] != 1 || bytes[3] != (VMOP_CFI_PTR_DATA_RELATIVE | VMOP_CFI_PTR_S32))
		return 0;
	vmop_cfi_pointer(&cursor, bytes[1], 0, table->address);
	vmop_cfi_pointer(&cursor, bytes[2], 0, table->address);
	return cursor.is_bad ? 0 : (size_t)(cursor.at - bytes);
}

static int compare_offsets(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;
	return *left < *right ? -1 : *left > *right;
}

/* Add the offsets of the entries: each has a function's address and its FDE's. */
static struct vmop_error *add_offsets(const struct vmop_cfi_section *table,
				      const struct vmop_cfi_section *eh_frame,
				      struct vmop_cfi_budget *budget, struct vmop_fde_index *index)
{
	size_t at = find_entries(table);
	for (; at && table->len_bytes - at >= ENTRY_BYTES; at += ENTRY_BYTES) {
		if (vmop_cfi_has_hole(table, at, at + ENTRY_BYTES))
			continue;
		struct vmop_cfi_cursor cursor = {.at = table->bytes + at + 4,
						 .end = table->bytes + at + ENTRY_BYTES};
		uint64_t offset = vmop_cfi_pointer(
			&cursor, VMOP_CFI_PTR_DATA_RELATIVE | VMOP_CFI_PTR_S32, 0, table->address);
		offset -= eh_frame->address;
		if (offset >= eh_frame->len_bytes || offset > UINT32_MAX)
			continue;
		if (!vmop_cfi_budget_work(budget, ENTRY_BYTES) ||
		    !vmop_cfi_budget_reserve(budget, index->offsets, index->capacity, index->n))
			return vmop_cfi_budget_error(budget);
		index->offsets[index->n++] = (uint32_t)offset;
	}
	if (index->n > 0)
		qsort(index->offsets, index->n, sizeof(*index->offsets), compare_offsets);
	return NULL;
}

struct vmop_error *vmop_fde_index_read(const struct vmop_cfi_image *image,
				       const struct vmop_cfi_section *eh_frame,
				       struct vmop_cfi_budget *budget, struct vmop_fde_index *ret)
{
	struct vmop_cfi_section table;
	*ret = (struct vmop_fde_index){0};
	struct vmop_error *err = vmop_cfi_image_read_search_table(image, budget, &table);
	if (err)
		return err;
	if (table.bytes)
		err = add_offsets(&table, eh_frame, budget, ret);
	vmop_cfi_image_free_cfi(&table, budget);
	return err;
}

bool vmop_fde_index_next(const struct vmop_fde_index *index, size_t offset, size_t *ret)
{
	size_t low = 0, high = index->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (index->offsets[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->n)
		return false;
	*ret = index->offsets[low];
	return true;
}
