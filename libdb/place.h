// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places: the chunk keys without task and stack.  Chunks have the same places in interval after
 * interval, so places are interned as rows of the table `place`, and a chunk's row stays small.
 */
#ifndef VMOP_LIBDB_PLACE_H
#define VMOP_LIBDB_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"
#include "libutil/error.h"

struct vmop_db;
struct vmop_places;

/* Create the places of a new file, for its writer.  The caller owns *ret. */
struct vmop_error *vmop_places_create(struct vmop_places **ret);
void vmop_places_destroy(struct vmop_places *places); /* NULL is allowed */

/* Set *ret to the id of key's place.  Writes a new place as part of the open transaction. */
struct vmop_error *vmop_places_intern(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				      uint32_t *ret);
/* Keep or forget the places that were interned since the last call of either function. */
void vmop_places_commit(struct vmop_places *places);
void vmop_places_rollback(struct vmop_places *places);

struct vmop_place {
	uint32_t id;
	struct vmop_db_chunk_key key; /* task and stack are 0 */
};
/* Read all places, ascending by id, for a reader.  The caller frees *ret. */
struct vmop_error *vmop_places_read(struct vmop_db *db, struct vmop_place **ret, size_t *ret_n);

/* Return the index of the place with this id, or SIZE_MAX. */
size_t vmop_places_find(const struct vmop_place *places, size_t n, uint32_t id);

#endif
