// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/place.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "libdb/connection.h"
#include "libutil/array.h"

struct interned {
	struct vmop_db_chunk_key key; /* padding zeroed: hashed and compared as bytes */
	uint32_t id;
	UT_hash_handle hh;
};

struct vmop_places {
	struct interned *all;
	uint32_t last_id, last_committed_id;
};

struct vmop_error *vmop_places_create(struct vmop_places **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

/* Forget the places with ids above last_id. */
static void forget_above(struct vmop_places *places, uint32_t last_id)
{
	struct interned *interned, *next;
	HASH_ITER (hh, places->all, interned, next) {
		if (interned->id <= last_id)
			continue;
		HASH_DEL(places->all, interned);
		free(interned);
	}
}

void vmop_places_destroy(struct vmop_places *places)
{
	if (!places)
		return;
	forget_above(places, 0);
	free(places);
}

void vmop_places_commit(struct vmop_places *places)
{
	places->last_committed_id = places->last_id;
}

void vmop_places_rollback(struct vmop_places *places)
{
	if (places->last_id == places->last_committed_id)
		return;
	forget_above(places, places->last_committed_id);
	places->last_id = places->last_committed_id;
}

struct vmop_db_chunk_key vmop_db_place_of(const struct vmop_db_chunk_key *key)
{
	struct vmop_db_chunk_key place;
	memset(&place, 0, sizeof(place));
	place.event = key->event;
	place.domain = key->domain;
	place.billed = key->billed;
	place.bill = key->bill;
	place.mode = key->mode;
	place.certainty = key->certainty;
	place.vcpu = key->vcpu;
	place.cpu = key->cpu;
	place.image = key->image;
	return place;
}

/* Refuse a place that read_place would report as damage. */
static struct vmop_error *check_place(const struct vmop_db *db, const struct vmop_db_chunk_key *key)
{
	if (key->bill > VMOP_BILL_VMM)
		return vmop_db_out_of_range(db, "a bill", key->bill);
	if (key->mode > VMOP_MODE_USER)
		return vmop_db_out_of_range(db, "a mode", key->mode);
	if (key->certainty > VMOP_CERTAIN_AMBIGUOUS)
		return vmop_db_out_of_range(db, "a certainty", key->certainty);
	if (key->vcpu < -1 || key->cpu < -1)
		return vmop_db_out_of_range(db, "a CPU", key->vcpu < -1 ? key->vcpu : key->cpu);
	return NULL;
}

struct vmop_error *vmop_places_intern(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				      uint32_t *ret)
{
	struct vmop_places *places = db->places;
	struct vmop_db_chunk_key place = vmop_db_place_of(key);
	struct interned *interned;
	HASH_FIND(hh, places->all, &place, sizeof(place), interned);
	if (interned) {
		*ret = interned->id;
		return NULL;
	}
	struct vmop_error *err = check_place(db, key);
	if (err)
		return err;
	interned = malloc(sizeof(*interned));
	if (!interned)
		return &vmop_error_no_memory;
	uint32_t id = places->last_id + 1;
	err = vmop_db_run(db, VMOP_DB_PUT_PLACE, "iiiiiiiiii", (int64_t)id,
			  (int64_t)key->event.number, (int64_t)key->domain.number,
			  (int64_t)key->billed.number, (int64_t)key->bill, (int64_t)key->mode,
			  (int64_t)key->certainty, (int64_t)key->vcpu, (int64_t)key->cpu,
			  (int64_t)key->image.number);
	if (err) {
		free(interned);
		return err;
	}
	interned->key = place;
	interned->id = places->last_id = *ret = id;
	HASH_ADD(hh, places->all, key, sizeof(interned->key), interned);
	return NULL;
}

static int32_t column_cpu(sqlite3_stmt *stmt, int column, bool *corrupt)
{
	if (sqlite3_column_int64(stmt, column) == -1)
		return -1;
	return (int32_t)vmop_db_column(stmt, column, INT32_MAX, corrupt);
}

static bool read_place(sqlite3_stmt *stmt, struct vmop_place *ret)
{
	bool corrupt = false;
	ret->id = vmop_db_column_u32(stmt, 0, &corrupt);
	ret->key = (struct vmop_db_chunk_key){
		.event = {vmop_db_column_u32(stmt, 1, &corrupt)},
		.domain = {vmop_db_column_u32(stmt, 2, &corrupt)},
		.billed = {vmop_db_column_u32(stmt, 3, &corrupt)},
		.bill = (uint8_t)vmop_db_column(stmt, 4, VMOP_BILL_VMM, &corrupt),
		.mode = (uint8_t)vmop_db_column(stmt, 5, VMOP_MODE_USER, &corrupt),
		.certainty = (uint8_t)vmop_db_column(stmt, 6, VMOP_CERTAIN_AMBIGUOUS, &corrupt),
		.vcpu = column_cpu(stmt, 7, &corrupt),
		.cpu = column_cpu(stmt, 8, &corrupt),
		.image = {vmop_db_column_u32(stmt, 9, &corrupt)},
	};
	return !corrupt;
}

struct vmop_error *vmop_places_read(struct vmop_db *db, struct vmop_place **ret, size_t *ret_n)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_error *err = vmop_db_prepare(
		db,
		"SELECT id, event, domain, billed, bill, mode, certainty, vcpu, cpu, image"
		" FROM place ORDER BY id",
		&stmt);
	_cleanup_free_ struct vmop_place *all = NULL;
	size_t n = 0, capacity = 0;
	bool row;
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		if (!vmop_array_reserve(all, capacity, n + 1))
			return &vmop_error_no_memory;
		if (!read_place(stmt, &all[n]) || (n > 0 && all[n].id <= all[n - 1].id))
			return vmop_db_corrupt(db, "a row of the table place");
		n++;
	}
	if (err)
		return err;
	*ret = vmop_steal(&all);
	*ret_n = n;
	return NULL;
}

size_t vmop_places_find(const struct vmop_place *places, size_t n, uint32_t id)
{
	/* Ids begin at 1, and places are never removed: an undamaged file needs no search. */
	if (id >= 1 && id <= n && places[id - 1].id == id)
		return id - 1;
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (places[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && places[low].id == id ? low : SIZE_MAX;
}
