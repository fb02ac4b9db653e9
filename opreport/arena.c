// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct vmop_arena_block {
	struct vmop_arena_block *next;
	size_t len_bytes;
	alignas(max_align_t) unsigned char data[];
};

void *vmop_arena_alloc(struct vmop_arena *arena, size_t len_bytes)
{
	const size_t align = alignof(max_align_t);
	if (len_bytes > SIZE_MAX / 2)
		return NULL;
	len_bytes = (len_bytes + align - 1) / align * align;
	if (!arena->blocks || arena->left_bytes < len_bytes) {
		size_t want = len_bytes > BLOCK_BYTES ? len_bytes : BLOCK_BYTES;
		struct vmop_arena_block *block = calloc(1, sizeof(*block) + want);
		if (!block)
			return NULL;
		block->next = arena->blocks;
		block->len_bytes = want;
		arena->blocks = block;
		arena->left_bytes = want;
	}
	void *at = arena->blocks->data + arena->blocks->len_bytes - arena->left_bytes;
	arena->left_bytes -= len_bytes;
	return at;
}

const char *vmop_arena_text(struct vmop_arena *arena, const char *text)
{
	if (!text || !*text)
		return "";
	size_t len_bytes = strlen(text) + 1;
	char *copy = vmop_arena_alloc(arena, len_bytes);
	return copy ? memcpy(copy, text, len_bytes) : NULL;
}

void vmop_arena_deinit(struct vmop_arena *arena)
{
	for (struct vmop_arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct vmop_arena){0};
}
