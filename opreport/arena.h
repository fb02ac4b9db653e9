// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strings and small tables that live as long as one report: given out of large
 * blocks, never freed one by one.
 */
#ifndef VMOP_OPREPORT_ARENA_H
#define VMOP_OPREPORT_ARENA_H

#include <stddef.h>

struct vmop_arena_block;

struct vmop_arena {
	struct vmop_arena_block *blocks; /* {0} is an empty arena */
	size_t left_bytes;		 /* in the first of them */
};

/* Zeroed and aligned for any type; NULL when memory runs out. */
void *vmop_arena_alloc(struct vmop_arena *arena, size_t len_bytes);
/* NULL when memory runs out; text NULL gives "". */
const char *vmop_arena_text(struct vmop_arena *arena, const char *text);
void vmop_arena_deinit(struct vmop_arena *arena);

#endif
