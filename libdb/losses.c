// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading losses, summed over intervals. */
#include <stdlib.h>
#include <string.h>

/* Without memory, HASH_ADD leaves an element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include "libdb/hash.h"

#include "libdb/clock.h"
#include "libdb/connection.h"
#include "libdb/db.h"

struct loss {
	UT_hash_handle hh;
	uint64_t count;
	size_t key_bytes;
	uint32_t key[]; /* domain, event, and the name with its NUL */
};

enum { NUMBERS_BYTES = 2 * sizeof(uint32_t) };

static const char *name_of(const struct loss *loss)
{
	return (const char *)&loss->key[2];
}

static int compare(const struct loss *a, const struct loss *b)
{
	int order = strcmp(name_of(a), name_of(b));
	if (!order)
		order = (a->key[0] > b->key[0]) - (a->key[0] < b->key[0]);
	return order ? order : (a->key[1] > b->key[1]) - (a->key[1] < b->key[1]);
}

static struct vmop_error *add(struct loss **losses, const struct vmop_db_loss *row)
{
	size_t key_bytes = NUMBERS_BYTES + strlen(row->name) + 1;
	struct loss *new = calloc(1, sizeof(*new) + key_bytes), *found;
	if (!new)
		return &vmop_error_no_memory;
	new->key[0] = row->domain.number;
	new->key[1] = row->event.number;
	strcpy((char *)&new->key[2], row->name);
	new->key_bytes = key_bytes;
	HASH_FIND(hh, *losses, new->key, key_bytes, found);
	if (found) {
		free(new);
	} else {
		found = new;
		HASH_ADD_KEYPTR(hh, *losses, new->key, key_bytes, new);
		if (!new->hh.tbl) {
			free(new);
			return &vmop_error_no_memory;
		}
	}
	if (__builtin_add_overflow(found->count, row->count, &found->count))
		found->count = UINT64_MAX;
	return NULL;
}

/* Return whether row is above the previous row in the order of the table's key. See ascends() in
 * facts.c. */
static bool is_above(sqlite3_stmt *stmt, struct vmop_db_loss *last, int64_t *last_interval,
		     char **last_name, const struct vmop_db_loss *row)
{
	int64_t interval = sqlite3_column_int64(stmt, 0);
	int order = (interval > *last_interval) - (interval < *last_interval);
	if (!order && *last_name)
		order = strcmp(row->name, *last_name);
	if (!order)
		order = (row->domain.number > last->domain.number) -
			(row->domain.number < last->domain.number);
	if (!order)
		order = (row->event.number > last->event.number) -
			(row->event.number < last->event.number);
	bool is_first = !*last_name;
	if (is_first || strcmp(row->name, *last_name) != 0) {
		free(*last_name);
		*last_name = strdup(row->name);
	}
	*last = *row;
	*last_interval = interval;
	return is_first || order > 0;
}

static struct vmop_error *read_rows(struct vmop_db *db, sqlite3_stmt *stmt, struct loss **losses)
{
	_cleanup_free_ char *last_name = NULL;
	struct vmop_db_loss last = {0};
	int64_t last_interval = 0;
	struct vmop_error *err = NULL;
	bool row;
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		bool corrupt = false;
		const struct vmop_db_loss loss = {
			.name = (const char *)sqlite3_column_text(stmt, 1),
			.domain = {vmop_db_column_u32(stmt, 2, &corrupt)},
			.event = {vmop_db_column_u32(stmt, 3, &corrupt)},
			.count = vmop_db_column(stmt, 4, INT64_MAX, &corrupt),
		};
		if (corrupt || !loss.name ||
		    !is_above(stmt, &last, &last_interval, &last_name, &loss))
			return vmop_db_corrupt(db, "a row of the table loss");
		err = last_name ? add(losses, &loss) : &vmop_error_no_memory;
	}
	return err;
}

struct vmop_error *vmop_db_each_loss_in(struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
					struct vmop_error *(*each)(void *arg,
								   const struct vmop_db_loss *loss),
					void *arg)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct loss *losses = NULL, *loss, *next;
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(db,
				      "SELECT interval, name, domain, event, count FROM loss"
				      " WHERE (?1 = 0 AND ?2 = 0) OR interval = 0 OR interval IN"
				      " (SELECT id FROM interval WHERE start_ns < ?2"
				      " AND start_ns > ?1 - len_ns)"
				      " ORDER BY interval, name, domain, event",
				      &stmt);
	if (!err) {
		from_ns = vmop_db_file_time(db, from_ns);
		to_ns = vmop_db_file_time(db, to_ns);
		sqlite3_bind_int64(stmt, 1, (int64_t)(from_ns < INT64_MAX ? from_ns : INT64_MAX));
		if (from_ns && !to_ns)
			to_ns = INT64_MAX;
		sqlite3_bind_int64(stmt, 2, (int64_t)(to_ns < INT64_MAX ? to_ns : INT64_MAX));
	}
	if (!err)
		err = read_rows(db, stmt, &losses);
	HASH_SORT(losses, compare);
	HASH_ITER (hh, losses, loss, next) {
		const struct vmop_db_loss row = {
			name_of(loss), {loss->key[0]}, {loss->key[1]}, loss->count};
		if (!err)
			err = each(arg, &row);
		HASH_DELETE(hh, losses, loss);
		free(loss);
	}
	return err;
}

struct vmop_error *
vmop_db_each_loss(struct vmop_db *db,
		  struct vmop_error *(*each)(void *arg, const struct vmop_db_loss *loss), void *arg)
{
	return vmop_db_each_loss_in(db, 0, 0, each, arg);
}
