// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frames of code that was looked up lately, by image and offset.  A cache of bounded size: a
 * new entry can replace another one.  A session has far fewer places of code than stacks, and a
 * look-up of symbol and frame takes ten times as long as one here.
 */
#ifndef VMOP_OPREPORT_STACKS_CODE_MEMO_H
#define VMOP_OPREPORT_STACKS_CODE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_CODE_MEMO_MAX_ENTRIES ((size_t)1 << 20) /* of 16 bytes */

struct vmop_code_memo_entry {
	uint64_t offset;
	uint32_t image; /* a number of the owner's choice */
	uint32_t frame; /* number + 1; 0: empty */
};

/* A zeroed memo is empty. */
struct vmop_code_memo {
	struct vmop_code_memo_entry *entries; /* n_entries, a power of two; NULL: empty */
	size_t n_entries;
	size_t n_put; /* since it grew */
};

static inline struct vmop_code_memo_entry *vmop_code_memo_entry(const struct vmop_code_memo *memo,
								uint32_t image, uint64_t offset)
{
	uint64_t hash = (offset ^ (uint64_t)image << 40) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return &memo->entries[(size_t)(hash >> 40) & (memo->n_entries - 1)];
}

/* Set *ret to the frame of the code; false: not known. */
static inline bool vmop_code_memo_find(const struct vmop_code_memo *memo, uint32_t image,
				       uint64_t offset, uint32_t *ret)
{
	if (!memo->entries)
		return false;
	const struct vmop_code_memo_entry *entry = vmop_code_memo_entry(memo, image, offset);
	*ret = entry->frame - 1;
	return entry->frame && entry->offset == offset && entry->image == image;
}

/* Store the frame, a number below UINT32_MAX, of code. */
struct vmop_error *vmop_code_memo_put(struct vmop_code_memo *memo, uint32_t image, uint64_t offset,
				      uint32_t frame);

/* Forget all code; frees the memory. */
void vmop_code_memo_deinit(struct vmop_code_memo *memo);

#endif
