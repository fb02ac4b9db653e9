// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/stacked-chunk.h"

#include <stdlib.h>

#include "daemon/profile/aggregate.h"
#include "libutil/array.h"

void vmop_stacked_chunk_deinit(struct vmop_stacked_chunk *chunk)
{
	free(chunk->cells);
	*chunk = (struct vmop_stacked_chunk){0};
}

struct vmop_error *vmop_stacked_chunk_put(struct vmop_stacked_chunk *chunk, struct vmop_db *db)
{
	size_t n = chunk->n;
	chunk->n = 0;
	return n ? vmop_db_put_stacks_chunk(db, &chunk->key, chunk->cells, n) : NULL;
}

struct vmop_error *vmop_stacked_chunk_add(struct vmop_stacked_chunk *chunk, struct vmop_db *db,
					  const struct vmop_sample_key *key,
					  const struct vmop_db_chunk_key *row,
					  const struct vmop_db_cell *cells, size_t n)
{
	struct vmop_error *err = NULL;
	if (chunk->n && vmop_aggregate_compare_places(&chunk->first, key))
		err = vmop_stacked_chunk_put(chunk, db);
	if (!err && !vmop_array_reserve(chunk->cells, chunk->capacity, chunk->n + n))
		err = &vmop_error_no_memory;
	if (err)
		return err;
	if (!chunk->n) {
		chunk->first = *key;
		chunk->key = *row;
	}
	for (size_t i = 0; i < n; i++)
		chunk->cells[chunk->n++] =
			(struct vmop_db_stack_cell){.stack = key->stack, .cell = cells[i]};
	return NULL;
}
