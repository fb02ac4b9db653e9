// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing an interval: chunks and losses in one transaction. */
#include <stdlib.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/place.h"
#include "libdb/schema.h"
#include "libdb/stacks/cells.h"

/* Estimate of a chunk row's bytes without its cells: header, id and columns. */
#define CHUNK_ROW_BYTES 24

static struct vmop_error *not_open(struct vmop_db *db)
{
	return vmop_error_new(VMOP_ERROR_CANT, "%s: no interval is open", db->path);
}

struct vmop_error *vmop_db_begin_interval(struct vmop_db *db, uint64_t start_ns, uint64_t len_ns)
{
	if (!db->is_writer || db->in_interval)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", db->path,
				      db->is_writer ? "an interval is open already"
						    : "opened for reading");
	if (db->interval >= VMOP_SCHEMA_INTERVAL_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many intervals", db->path);
	struct vmop_error *err = vmop_db_run(db, VMOP_DB_BEGIN, "");
	if (err)
		return err;
	db->in_interval = true;
	db->interval_failed = false;
	db->rejected_before_interval = db->rejected;
	db->last_stack_node_before_interval = db->last_stack_node;
	db->n_chunks = 0;
	db->interval++;
	err = vmop_db_run(db, VMOP_DB_PUT_INTERVAL, "iiuu", (int64_t)db->interval, (int64_t)0,
			  start_ns, len_ns);
	if (err)
		vmop_db_rollback(db);
	return err;
}

void vmop_db_rollback(struct vmop_db *db)
{
	if (!db->in_interval)
		return;
	/* SQLite rolls back when the disk is full. */
	if (!sqlite3_get_autocommit(db->sqlite))
		vmop_error_destroy(vmop_db_run(db, VMOP_DB_ROLLBACK, ""));
	vmop_places_rollback(db->places);
	db->rejected = db->rejected_before_interval;
	db->last_stack_node = db->last_stack_node_before_interval;
	db->in_interval = false;
	db->interval--;
}

struct vmop_error *vmop_db_commit(struct vmop_db *db)
{
	if (!db->in_interval)
		return not_open(db);
	struct vmop_error *err = vmop_db_put_sampled_symbols(db);
	if (!err && (db->interval_failed || sqlite3_get_autocommit(db->sqlite)))
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "%s: the interval could not be written and is dropped",
				     db->path);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_COMMIT, "");
	if (err) {
		vmop_db_rollback(db);
		return err;
	}
	vmop_places_commit(db->places);
	vmop_sampled_symbols_commit(&db->sampled);
	db->in_interval = false;
	return NULL;
}

struct vmop_db_written vmop_db_written(const struct vmop_db *db)
{
	return db->written;
}

/* Make db->packed hold at least so many bytes. */
static bool make_room(struct vmop_db *db, size_t bytes)
{
	if (bytes <= db->packed_capacity)
		return true;
	void *grown = realloc(db->packed, bytes);
	if (!grown)
		return false;
	db->packed = grown;
	db->packed_capacity = bytes;
	return true;
}

/* Pack the row's cells into db->packed. row->len_bytes is 0 if they are invalid. */
static struct vmop_error *pack(struct vmop_db *db, struct vmop_db_chunk_row *row)
{
	size_t n = row->n_cells;
	row->len_bytes = 0;
	if (n < 1 || n > VMOP_PACK_MAX_CELLS)
		return NULL;
	if (!make_room(db, row->stack_cells ? vmop_pack_stacks_bound_bytes(n)
					    : vmop_pack_bound_bytes(n)))
		return &vmop_error_no_memory;
	row->len_bytes = row->stack_cells ? vmop_pack_stacks(row->stack_cells, n, db->packed)
					  : vmop_pack(row->cells, n, db->packed);
	return NULL;
}

static const struct vmop_db_cell *cell_of(const struct vmop_db_chunk_row *row, size_t i)
{
	return row->stack_cells ? &row->stack_cells[i].cell : &row->cells[i];
}

/* A sum beyond SQL's integers is stored as the greatest integer. */
struct vmop_error *vmop_db_insert_chunk(struct vmop_db *db, struct vmop_db_chunk_row *row)
{
	if (row->number >= VMOP_SCHEMA_CHUNKS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: an interval of more than %d chunks",
				      db->path, VMOP_SCHEMA_CHUNKS_MAX);
	uint64_t samples = 0, weight = 0;
	for (size_t i = 0; i < row->n_cells; i++) {
		const struct vmop_db_cell *cell = cell_of(row, i);
		if (__builtin_add_overflow(samples, cell->samples, &samples))
			samples = UINT64_MAX;
		if (__builtin_add_overflow(weight, cell->weight_events, &weight))
			weight = UINT64_MAX;
	}
	struct vmop_error *err = pack(db, row);
	row->samples = samples;
	if (err)
		return err;
	if (!row->len_bytes)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "%s: a chunk's cells are not ascending, or too many",
				      db->path);
	int64_t id = (int64_t)row->interval << VMOP_SCHEMA_CHUNK_BITS | row->number;
	return vmop_db_run(db, VMOP_DB_PUT_CHUNK, "iiiiuub", id, (int64_t)row->task.number,
			   (int64_t)row->place, (int64_t)(row->stack_cells != NULL), samples,
			   weight, (const void *)db->packed, row->len_bytes);
}

static uint64_t count_samples(const struct vmop_db_chunk_row *row)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < row->n_cells; i++)
		sum += cell_of(row, i)->samples;
	return sum ? sum : 1;
}

static void mark_symbols(const struct vmop_db *db, struct vmop_image_id image,
			 const struct vmop_db_chunk_row *row)
{
	for (size_t i = 0; i < row->n_cells; i++)
		vmop_sampled_symbols_mark(&db->sampled, image, cell_of(row, i)->offset);
}

/* Store the row as the next one of the open interval. */
static struct vmop_error *put_row(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				  struct vmop_db_chunk_row *row)
{
	row->interval = db->interval;
	row->number = db->n_chunks;
	row->task = key->task;
	struct vmop_error *err = vmop_places_intern(db, key, &row->place);
	if (!err)
		err = vmop_db_insert_chunk(db, row);
	if (!err) {
		mark_symbols(db, key->image, row);
		db->n_chunks++;
		db->written.bytes += row->len_bytes + CHUNK_ROW_BYTES;
		db->written.samples += row->samples;
		return NULL;
	}
	err = vmop_db_put_done(db, err, count_samples(row));
	db->interval_failed |= err != NULL;
	return err;
}

struct vmop_error *vmop_db_put_chunk(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				     const struct vmop_db_cell *cells, size_t n)
{
	if (!db->in_interval)
		return not_open(db);
	struct vmop_db_chunk_row row = {.cells = cells, .n_cells = n};
	return put_row(db, key, &row);
}

struct vmop_error *vmop_db_put_stacks_chunk(struct vmop_db *db, const struct vmop_db_chunk_key *key,
					    const struct vmop_db_stack_cell *cells, size_t n)
{
	if (!db->in_interval)
		return not_open(db);
	struct vmop_db_chunk_row row = {.stack_cells = cells, .n_cells = n};
	/* The cells ascend: the last stack is the greatest, or packing refuses them. */
	if (n && cells[n - 1].stack.number > db->last_stack_node) {
		struct vmop_error *err =
			vmop_db_out_of_range(db, "a cell's stack", cells[n - 1].stack.number);
		err = vmop_db_put_done(db, err, count_samples(&row));
		db->interval_failed |= err != NULL;
		return err;
	}
	return put_row(db, key, &row);
}

struct vmop_error *vmop_db_put_loss(struct vmop_db *db, const struct vmop_db_loss *loss)
{
	/* Interval 0 is the whole session. */
	int64_t interval = db->in_interval ? (int64_t)db->interval : 0;
	struct vmop_error *err =
		vmop_db_run(db, VMOP_DB_PUT_LOSS, "itiiu", interval, loss->name,
			    (int64_t)loss->domain.number, (int64_t)loss->event.number, loss->count);
	err = vmop_db_put_done(db, err, 0);
	if (err && db->in_interval)
		db->interval_failed = true;
	return err;
}
