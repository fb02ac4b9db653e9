// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of one size, without an allocation on the per-sample path. Code off that path keeps the
 * pool filled. The pool owns the memory of all objects.
 */
#ifndef VMOP_DAEMON_HOST_POOL_H
#define VMOP_DAEMON_HOST_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct vmop_pool_chunk;

struct vmop_pool {
	struct vmop_pool_chunk *chunks;
	void *free; /* each free object begins with a pointer to the next */
	size_t size_bytes;
	size_t n_free, n_used, max;
};

void vmop_pool_init(struct vmop_pool *pool, size_t size_bytes, size_t max);
void vmop_pool_deinit(struct vmop_pool *pool);

/* Allocate until reserve objects are free or max exist. Without memory, fewer are free. */
void vmop_pool_fill(struct vmop_pool *pool, size_t reserve);

/* Return a zeroed object, or NULL if the pool is empty. */
void *vmop_pool_get(struct vmop_pool *pool);
void vmop_pool_put(struct vmop_pool *pool, void *object);

#endif
