// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/name-table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libsym/cache/name-cache.h"
#include "libsym/demangle.h"
#include "libutil/cleanup.h"
#include "libutil/hash-seed.h"

enum { FIRST_SLOTS = 1024 };

struct vmop_name {
	const char *shown; /* the text of this or another name; NULL: not computed yet */
	char text[];
};

/* ---- memory ------------------------------------------------------------------ */

/* A report has ten thousands of names: they share blocks, which are freed at once. */
struct vmop_name_block {
	struct vmop_name_block *next;
	size_t used_bytes, len_bytes;
	char bytes[];
};

#define BLOCK_BYTES ((size_t)64 << 10)

/* Return memory for a name of that length, or NULL. */
static struct vmop_name *allocate(struct vmop_name_table *table, size_t text_bytes)
{
	const size_t align = _Alignof(struct vmop_name);
	struct vmop_name_block *block = table->blocks;
	size_t bytes = (sizeof(struct vmop_name) + text_bytes + 1 + align - 1) / align * align;
	if (!block || block->len_bytes - block->used_bytes < bytes) {
		size_t len_bytes = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		block = malloc(sizeof(*block) + len_bytes);
		if (!block)
			return NULL;
		*block = (struct vmop_name_block){.next = table->blocks, .len_bytes = len_bytes};
		table->blocks = block;
	}
	struct vmop_name *name = (void *)(block->bytes + block->used_bytes);
	block->used_bytes += bytes;
	return name;
}

/* ---- names ------------------------------------------------------------------- */

/* Return the slot of a text: the one that has it, or the free one for it. */
static struct vmop_name_slot *find_slot(const struct vmop_name_table *table, uint64_t hash,
					const char *text)
{
	for (size_t at = hash;; at++) {
		struct vmop_name_slot *slot = &table->slots[at & (table->n_slots - 1)];
		if (!slot->name || (slot->hash == hash && !strcmp(slot->name->text, text)))
			return slot;
	}
}

static bool grow(struct vmop_name_table *table)
{
	struct vmop_name_table grown = *table;
	grown.n_slots = table->n_slots ? table->n_slots * 2 : FIRST_SLOTS;
	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	grown.seed = vmop_hash_seed();
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < table->n_slots; i++) {
		const struct vmop_name_slot *slot = &table->slots[i];
		size_t at = slot->hash;
		if (!slot->name)
			continue;
		while (grown.slots[at & (grown.n_slots - 1)].name)
			at++;
		grown.slots[at & (grown.n_slots - 1)] = *slot;
	}
	free(table->slots);
	*table = grown;
	return true;
}

static struct vmop_name *intern(struct vmop_name_table *table, const char *text)
{
	if (table->n * 2 >= table->n_slots && !grow(table))
		return NULL;
	size_t len_bytes = strlen(text);
	uint64_t hash = XXH3_64bits_withSeed(text, len_bytes, table->seed);
	struct vmop_name_slot *slot = find_slot(table, hash, text);
	if (slot->name)
		return slot->name;
	struct vmop_name *name = allocate(table, len_bytes);
	if (!name)
		return NULL;
	name->shown = NULL;
	memcpy(name->text, text, len_bytes + 1);
	*slot = (struct vmop_name_slot){hash, name};
	table->n++;
	return name;
}

/*
 * Return the form of a mangled name that an earlier run kept, or NULL. It needs no place in the
 * table: the cache has each name once.
 */
static const char *find_kept(const struct vmop_name_table *table, const char *mangled)
{
	bool can_be_mangled = mangled[0] == '_' && (mangled[1] == 'Z' || mangled[1] == 'R');
	return can_be_mangled ? vmop_name_cache_find(table->cache, mangled) : NULL;
}

static const char *find_shown(struct vmop_name_table *table, const struct vmop_name *name)
{
	_cleanup_free_ char *demangled = NULL;
	size_t before = VMOP_NAME_TABLE_MAX_WORK - table->work, left = before;
	if (table->demangle == VMOP_DEMANGLE_NONE)
		return name->text;
	bool has_memory = vmop_demangle_name(name->text, table->demangle == VMOP_DEMANGLE_FULL,
					     &left, &demangled);
	table->work += before - left;
	if (!has_memory || !demangled)
		return name->text;
	const struct vmop_name *shown = intern(table, demangled);
	if (shown)
		vmop_name_cache_add(table->cache, name->text, shown->text);
	return shown ? shown->text : name->text;
}

const char *vmop_name_table_show(struct vmop_name_table *table, const char *mangled)
{
	const char *kept = find_kept(table, mangled);
	struct vmop_name *name = kept ? NULL : intern(table, mangled);
	if (kept)
		return kept;
	if (!name)
		return mangled;
	if (!name->shown)
		name->shown = find_shown(table, name);
	return name->shown;
}

void vmop_name_table_deinit(struct vmop_name_table *table)
{
	struct vmop_name_block *next;
	for (struct vmop_name_block *block = table->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(table->slots);
	*table = (struct vmop_name_table){0};
}
