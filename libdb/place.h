// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places: what chunks have in common interval after interval, interned as rows
 * of the table `place` so that a chunk's row stays small.  A place is a chunk
 * key without task and stack, which are the parts that come and go.
 */
#ifndef VMOP_LIBDB_PLACE_H
#define VMOP_LIBDB_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"
#include "libutil/error.h"

struct vmop_db;
struct vmop_places;

/* For a writer: the places of the file, which is new. */
struct vmop_error *vmop_places_create(struct vmop_places **ret);
void vmop_places_destroy(struct vmop_places *places); /* NULL is allowed */

/* The id of key's place; a new one is written, as part of the open transaction. */
struct vmop_error *vmop_places_intern(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				      uint32_t *ret);
/* What was interned since the last of the two stays (it is in the file now), or goes. */
void vmop_places_commit(struct vmop_places *places);
void vmop_places_rollback(struct vmop_places *places);

/* For a reader: all of them, ascending by id; task and stack are 0. *ret is the caller's. */
struct vmop_place {
	uint32_t id;
	struct vmop_db_chunk_key key;
};
struct vmop_error *vmop_places_read(struct vmop_db *db, struct vmop_place **ret, size_t *ret_n);

/* Index of the place with this id, or SIZE_MAX. */
size_t vmop_places_find(const struct vmop_place *places, size_t n, uint32_t id);

#endif
