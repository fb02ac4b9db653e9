// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/pool.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS_A_CHUNK 64

struct vmop_pool_chunk {
	struct vmop_pool_chunk *next;
	max_align_t objects[];
};

void vmop_pool_init(struct vmop_pool *pool, size_t size_bytes, size_t max)
{
	size_t align = _Alignof(max_align_t);
	*pool = (struct vmop_pool){
		.size_bytes = (size_bytes + align - 1) / align * align,
		.max = max,
	};
}

void vmop_pool_deinit(struct vmop_pool *pool)
{
	while (pool->chunks) {
		struct vmop_pool_chunk *chunk = pool->chunks;
		pool->chunks = chunk->next;
		free(chunk);
	}
}

static void release(struct vmop_pool *pool, void *object)
{
	memcpy(object, &pool->free, sizeof(pool->free));
	pool->free = object;
	pool->n_free++;
}

void vmop_pool_fill(struct vmop_pool *pool, size_t reserve)
{
	while (pool->n_free < reserve && pool->n_free + pool->n_used < pool->max) {
		struct vmop_pool_chunk *chunk =
			malloc(sizeof(*chunk) + OBJECTS_A_CHUNK * pool->size_bytes);
		if (!chunk)
			return;
		chunk->next = pool->chunks;
		pool->chunks = chunk;
		for (size_t i = 0; i < OBJECTS_A_CHUNK; i++)
			release(pool, (char *)chunk->objects + i * pool->size_bytes);
	}
}

void *vmop_pool_get(struct vmop_pool *pool)
{
	void *object = pool->free;
	if (!object)
		return NULL;
	memcpy(&pool->free, object, sizeof(pool->free));
	pool->n_free--;
	pool->n_used++;
	memset(object, 0, pool->size_bytes);
	return object;
}

void vmop_pool_put(struct vmop_pool *pool, void *object)
{
	pool->n_used--;
	release(pool, object);
}
