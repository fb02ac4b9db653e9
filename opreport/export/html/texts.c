// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/texts.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/escape.h"
#include "libutil/hash-seed.h"

/* FNV-1a, with a seed: names are hostile. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = vmop_hash_seed();
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* Return the bucket of the text, or the empty one where it belongs. */
static uint32_t *bucket_of(const struct vmop_page_texts *texts, const char *text)
{
	size_t mask = texts->n_buckets - 1, at = hash_of(text) & mask;
	while (texts->buckets[at] && strcmp(texts->items[texts->buckets[at] - 1], text) != 0)
		at = (at + 1) & mask;
	return &texts->buckets[at];
}

static struct vmop_error *grow(struct vmop_page_texts *texts)
{
	size_t n_buckets = texts->n_buckets ? 2 * texts->n_buckets : 1024;
	uint32_t *buckets = calloc(n_buckets, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	free(texts->buckets);
	texts->buckets = buckets;
	texts->n_buckets = n_buckets;
	for (size_t i = 0; i < texts->n; i++)
		*bucket_of(texts, texts->items[i]) = (uint32_t)i + 1;
	return NULL;
}

struct vmop_error *vmop_page_texts_add(struct vmop_page_texts *texts, const char *text,
				       uint32_t *ret)
{
	char escaped[VMOP_PAGE_TEXTS_LEN_MAX + 4];
	struct vmop_error *err = NULL;
	if (!vmop_escape_into(escaped, VMOP_PAGE_TEXTS_LEN_MAX + 1, text, VMOP_CHARSET_UTF8))
		strcat(escaped, "...");
	if (2 * texts->n >= texts->n_buckets)
		err = grow(texts);
	if (err)
		return err;
	uint32_t *bucket = bucket_of(texts, escaped);
	if (*bucket) {
		*ret = *bucket - 1;
		return NULL;
	}
	const char *kept = vmop_arena_text(&texts->arena, escaped);
	if (!kept || !vmop_array_reserve(texts->items, texts->capacity, texts->n + 1))
		return &vmop_error_no_memory;
	*ret = (uint32_t)texts->n;
	texts->items[texts->n++] = kept;
	texts->bytes += strlen(kept) + 3;
	*bucket = (uint32_t)texts->n;
	return NULL;
}

void vmop_page_texts_write(const struct vmop_page_texts *texts, struct vmop_json_writer *writer)
{
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < texts->n; i++)
		vmop_json_writer_escaped_text(writer, texts->items[i]);
	vmop_json_writer_end(writer, ']');
}

void vmop_page_texts_deinit(struct vmop_page_texts *texts)
{
	vmop_arena_deinit(&texts->arena);
	free(texts->items);
	free(texts->buckets);
	*texts = (struct vmop_page_texts){0};
}
