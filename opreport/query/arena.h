// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings and small tables that live as long as one report: cut from large blocks, freed together.
 */
#ifndef VMOP_OPREPORT_QUERY_ARENA_H
#define VMOP_OPREPORT_QUERY_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct vmop_arena_block;

struct vmop_arena {
	struct vmop_arena_block *blocks; /* {0} is an empty arena */
	size_t left_bytes;		 /* free, in the first block */
	size_t used_bytes;		 /* in all blocks */
};

/* Return len_bytes zeroed bytes, aligned for any type, or NULL without memory. */
void *vmop_arena_alloc(struct vmop_arena *arena, size_t len_bytes);
/* Return a copy of text, "" if text is NULL, or NULL without memory. */
const char *vmop_arena_text(struct vmop_arena *arena, const char *text);
/* Return a text made as by printf(3), or NULL without memory. */
const char *vmop_arena_format(struct vmop_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *vmop_arena_vformat(struct vmop_arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/*
 * Return a copy of a name from a session file, which does not bound it, or NULL without memory.  A
 * name longer than VMOP_NAME_MAX_BYTES becomes "BEGINNING...[LENGTH bytes, HASH]", which is still
 * unique.  Once the arena holds VMOP_ARENA_NAMES_BYTES, the bound is VMOP_NAME_SHORT_BYTES.
 */
#define VMOP_NAME_MAX_BYTES 4096
#define VMOP_NAME_SHORT_BYTES 64
#define VMOP_ARENA_NAMES_BYTES ((size_t)128 << 20)
const char *vmop_arena_name(struct vmop_arena *arena, const char *text);

void vmop_arena_deinit(struct vmop_arena *arena);

#endif
