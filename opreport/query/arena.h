// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strings and small tables that live as long as one report: given out of large
 * blocks, never freed one by one.
 */
#ifndef VMOP_OPREPORT_QUERY_ARENA_H
#define VMOP_OPREPORT_QUERY_ARENA_H

#include <stddef.h>

struct vmop_arena_block;

struct vmop_arena {
	struct vmop_arena_block *blocks; /* {0} is an empty arena */
	size_t left_bytes;		 /* in the first of them */
	size_t used_bytes;		 /* in all */
};

/* Zeroed and aligned for any type; NULL when memory runs out. */
void *vmop_arena_alloc(struct vmop_arena *arena, size_t len_bytes);
/* NULL when memory runs out; text NULL gives "". */
const char *vmop_arena_text(struct vmop_arena *arena, const char *text);
/*
 * The same of a name that a session file holds and that has no bound there: one of more than
 * VMOP_NAME_MAX_BYTES becomes "BEGINNING...[LENGTH bytes, HASH]", which is as good for telling
 * names apart.  Where the arena has VMOP_ARENA_NAMES_BYTES already, VMOP_NAME_SHORT_BYTES are the
 * bound.
 */
#define VMOP_NAME_MAX_BYTES 4096
#define VMOP_NAME_SHORT_BYTES 64
#define VMOP_ARENA_NAMES_BYTES ((size_t)128 << 20)
const char *vmop_arena_name(struct vmop_arena *arena, const char *text);

void vmop_arena_deinit(struct vmop_arena *arena);

#endif
