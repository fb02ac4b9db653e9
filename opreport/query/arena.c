// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/arena.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
	arena->used_bytes += len_bytes;
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

const char *vmop_arena_vformat(struct vmop_arena *arena, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = len < 0 ? NULL : vmop_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, format, args);
	return text;
}

const char *vmop_arena_format(struct vmop_arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *text = vmop_arena_vformat(arena, format, args);
	va_end(args);
	return text;
}

const char *vmop_arena_name(struct vmop_arena *arena, const char *text)
{
	if (!text)
		return "";
	size_t max_bytes = arena->used_bytes < VMOP_ARENA_NAMES_BYTES ? VMOP_NAME_MAX_BYTES
								      : VMOP_NAME_SHORT_BYTES;
	size_t len = strnlen(text, max_bytes + 1);
	if (len <= max_bytes)
		return vmop_arena_text(arena, text);
	len = max_bytes;
	while (len > max_bytes - 3 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--; /* do not cut a character of UTF-8 */
	size_t text_len = strlen(text);
	char rest[64];
	size_t rest_len = (size_t)snprintf(rest, sizeof(rest), "...[%zu bytes, %016" PRIx64 "]",
					   text_len, (uint64_t)XXH3_64bits(text, text_len));
	char *copy = vmop_arena_alloc(arena, len + rest_len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	memcpy(copy + len, rest, rest_len + 1);
	return copy;
}

void vmop_arena_deinit(struct vmop_arena *arena)
{
	for (struct vmop_arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct vmop_arena){0};
}
