// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of vCPUs: what each was doing, who had the CPU while it waited, and its exits.  Rows of
 * an interval; readers get these, or sums over intervals.
 */
#include <stdlib.h>
#include <string.h>

/* Without memory, HASH_ADD leaves an element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include "libdb/hash.h"

#include "libdb/clock.h"
#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/schema.h"

/* ---- writing ----------------------------------------------------------- */

static struct vmop_error *need_interval(struct vmop_db *db)
{
	return db->in_interval
		       ? NULL
		       : vmop_error_new(VMOP_ERROR_CANT, "%s: no interval is open", db->path);
}

/* End a put: see vmop_db_put_done. */
static struct vmop_error *put_done(struct vmop_db *db, struct vmop_error *err)
{
	err = vmop_db_put_done(db, err, 0);
	db->interval_failed |= err != NULL;
	return err;
}

struct vmop_error *vmop_db_put_culprit(struct vmop_db *db, const struct vmop_db_culprit *culprit,
				       uint32_t *ret)
{
	const char *name = culprit->name ? culprit->name : "";
	int64_t kind = culprit->kind, domain = culprit->domain.number, id = 0;
	*ret = 0;
	struct vmop_error *err = need_interval(db);
	if (err)
		return err;
	if (culprit->kind >= VMOP_CULPRIT_N_KINDS)
		return put_done(db, vmop_db_out_of_range(db, "a culprit's kind", culprit->kind));
	err = vmop_db_run_for(db, VMOP_DB_FIND_CULPRIT, &id, "iit", kind, domain, name);
	if (!err && !id) {
		err = vmop_db_run(db, VMOP_DB_PUT_CULPRIT, "iit", kind, domain, name);
		if (!err)
			err = vmop_db_run_for(db, VMOP_DB_FIND_CULPRIT, &id, "iit", kind, domain,
					      name);
	}
	if (!err && id > UINT32_MAX)
		err = vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many culprits", db->path);
	*ret = err ? 0 : (uint32_t)id;
	return put_done(db, err);
}

struct vmop_error *vmop_db_put_wait(struct vmop_db *db, const struct vmop_db_wait *wait)
{
	struct vmop_error *err = need_interval(db);
	if (err)
		return err;
	if (wait->state >= VMOP_WAIT_N_STATES)
		err = vmop_db_out_of_range(db, "a vCPU's state", wait->state);
	else
		err = vmop_db_run(db, VMOP_DB_PUT_WAIT, "iiiiuuu", (int64_t)db->interval,
				  (int64_t)wait->domain.number, (int64_t)wait->vcpu,
				  (int64_t)wait->state, wait->cause, wait->count, wait->time_ns);
	return put_done(db, err);
}

struct vmop_error *vmop_db_put_exit_place(struct vmop_db *db,
					  const struct vmop_db_exit_place *place)
{
	struct vmop_error *err = need_interval(db);
	if (err)
		return err;
	err = put_done(db, vmop_db_run(db, VMOP_DB_PUT_EXIT_PLACE, "iiuiuu", (int64_t)db->interval,
				       (int64_t)place->domain.number, place->cause,
				       (int64_t)place->image.number, place->offset, place->count));
	if (!err && place->image.number)
		vmop_sampled_symbols_mark(&db->sampled, place->image, place->offset);
	return err;
}

/* ---- reading ----------------------------------------------------------- */

struct vmop_error *
vmop_db_each_culprit(struct vmop_db *db,
		     struct vmop_error *(*each)(void *arg, const struct vmop_db_culprit *culprit),
		     void *arg)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	uint32_t last = 0;
	bool row;
	if (db->version < VMOP_SCHEMA_WITH_WAITS)
		return NULL;
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(db, "SELECT id, kind, domain, name FROM culprit ORDER BY id",
				      &stmt);
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		bool corrupt = false;
		const struct vmop_db_culprit culprit = {
			.id = vmop_db_column_u32(stmt, 0, &corrupt),
			.kind = (enum vmop_culprit_kind)vmop_db_column(
				stmt, 1, VMOP_CULPRIT_N_KINDS - 1, &corrupt),
			.domain = {vmop_db_column_u32(stmt, 2, &corrupt)},
			.name = (const char *)sqlite3_column_text(stmt, 3),
		};
		/* A page that is in the tree several times repeats its rows. */
		if (corrupt || !culprit.name || culprit.id <= last)
			return vmop_db_corrupt(db, "a row of the table culprit");
		last = culprit.id;
		err = each(arg, &culprit);
	}
	return err;
}

/* A sum over intervals, by the numbers of the table's key. */
struct sum {
	UT_hash_handle hh;
	uint64_t numbers[4];
	uint64_t count, time_ns;
};

static int compare(const struct sum *a, const struct sum *b)
{
	for (size_t i = 0; i < sizeof(a->numbers) / sizeof(*a->numbers); i++)
		if (a->numbers[i] != b->numbers[i])
			return a->numbers[i] < b->numbers[i] ? -1 : 1;
	return 0;
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct vmop_error *add(struct vmop_db *db, struct sum **sums, const struct sum *row)
{
	struct sum *found;
	HASH_FIND(hh, *sums, row->numbers, sizeof(row->numbers), found);
	if (found) {
		found->count = add_up(found->count, row->count);
		found->time_ns = add_up(found->time_ns, row->time_ns);
		return NULL;
	}
	if (HASH_COUNT(*sums) >= VMOP_DB_WAITS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many waits for one report",
				      db->path);
	found = malloc(sizeof(*found));
	if (!found)
		return &vmop_error_no_memory;
	*found = *row;
	HASH_ADD(hh, *sums, numbers, sizeof(found->numbers), found);
	if (found->hh.tbl)
		return NULL;
	free(found);
	return &vmop_error_no_memory;
}

static void forget(struct sum **sums)
{
	struct sum *sum, *next;
	HASH_ITER (hh, *sums, sum, next) {
		HASH_DELETE(hh, *sums, sum);
		free(sum);
	}
}

/* Return an end of [from_ns, to_ns) as SQLite can compare it; to_ns 0: no end. */
static int64_t bound(uint64_t time_ns)
{
	return (int64_t)(time_ns < INT64_MAX ? time_ns : INT64_MAX);
}

/*
 * Pass the rows with the columns: interval, domain, the rest of the key in its order, count,
 * time_ns. Bind [from_ns, to_ns) to ?1 and ?2.
 */
static struct vmop_error *
each_row(struct vmop_db *db, const char *sql, const char *table, uint64_t from_ns, uint64_t to_ns,
	 struct vmop_error *(*each)(void *arg, sqlite3_stmt *stmt, const struct sum *row),
	 void *arg)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct sum last = {0};
	int64_t last_interval = -1;
	bool is_row;
	if (db->version < VMOP_SCHEMA_WITH_WAITS)
		return NULL;
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(db, sql, &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, bound(vmop_db_file_time(db, from_ns)));
	sqlite3_bind_int64(stmt, 2, to_ns ? bound(vmop_db_file_time(db, to_ns)) : INT64_MAX);
	while (!err && !(err = vmop_db_step(db, stmt, &is_row)) && is_row) {
		bool corrupt = false;
		int64_t interval = sqlite3_column_int64(stmt, 0);
		struct sum row = {.numbers = {vmop_db_column_u32(stmt, 1, &corrupt)}};
		for (int i = 1; i < 4; i++)
			row.numbers[i] = vmop_db_column(stmt, 1 + i, INT64_MAX, &corrupt);
		row.count = vmop_db_column(stmt, 5, INT64_MAX, &corrupt);
		row.time_ns = vmop_db_column(stmt, 6, INT64_MAX, &corrupt);
		/* A page that is in the tree several times repeats its rows. */
		if (corrupt || interval < last_interval ||
		    (interval == last_interval && compare(&row, &last) <= 0))
			return vmop_db_corrupt(db, "a row of the table %s", table);
		last = row;
		last_interval = interval;
		err = each(arg, stmt, &row);
	}
	return err;
}

/* The rows of intervals that overlap [?1, ?2). */
#define IN_TIME                                                                                    \
	" WHERE interval IN (SELECT id FROM interval WHERE start_ns < ?2 AND start_ns > ?1 - "     \
	"len_ns) ORDER BY interval, domain, "

/* The sums of rows, while they are read. */
struct summing {
	struct vmop_db *db;
	struct sum *sums; /* uthash */
};

static struct vmop_error *add_row(void *arg, sqlite3_stmt *stmt, const struct sum *row)
{
	struct summing *summing = arg;
	(void)stmt;
	return add(summing->db, &summing->sums, row);
}

static struct vmop_error *read_sums(struct vmop_db *db, const char *sql, const char *table,
				    uint64_t from_ns, uint64_t to_ns, struct sum **sums)
{
	struct summing summing = {.db = db};
	struct vmop_error *err = each_row(db, sql, table, from_ns, to_ns, add_row, &summing);
	HASH_SORT(summing.sums, compare);
	*sums = summing.sums;
	return err;
}

/* Set *ret to the row of the table wait with these numbers. False: it has none of such a row. */
static bool wait_of(const struct sum *sum, struct vmop_db_wait *ret)
{
	*ret = (struct vmop_db_wait){
		.domain = {(uint32_t)sum->numbers[0]},
		.vcpu = (uint32_t)sum->numbers[1],
		.state = (enum vmop_wait_state)sum->numbers[2],
		.cause = sum->numbers[3],
		.count = sum->count,
		.time_ns = sum->time_ns,
	};
	return sum->numbers[1] <= UINT32_MAX && sum->numbers[2] < VMOP_WAIT_N_STATES;
}

struct vmop_error *vmop_db_each_wait_in(struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
					struct vmop_error *(*each)(void *arg,
								   const struct vmop_db_wait *wait),
					void *arg)
{
	struct sum *sums = NULL, *sum, *next;
	struct vmop_error *err = read_sums(
		db,
		"SELECT interval, domain, vcpu, state, cause, count, time_ns FROM wait" IN_TIME
		"vcpu, state, cause",
		"wait", from_ns, to_ns, &sums);
	HASH_ITER (hh, sums, sum, next) {
		struct vmop_db_wait wait;
		if (!err && !wait_of(sum, &wait))
			err = vmop_db_corrupt(db, "a row of the table wait");
		if (!err)
			err = each(arg, &wait);
	}
	forget(&sums);
	return err;
}

/* The receiver of waits by interval. */
struct interval_waits {
	struct vmop_db *db;
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_wait *wait);
	void *arg;
};

static struct vmop_error *pass_wait(void *arg, sqlite3_stmt *stmt, const struct sum *row)
{
	const struct interval_waits *waits = arg;
	bool corrupt = false;
	const struct vmop_db_interval interval = {
		.id = vmop_db_column_u32(stmt, 0, &corrupt),
		.level = (uint8_t)vmop_db_column(stmt, 7, UINT8_MAX, &corrupt),
		.start_ns = vmop_db_time(waits->db, vmop_db_column(stmt, 8, INT64_MAX, &corrupt)),
		.len_ns = vmop_db_column(stmt, 9, INT64_MAX, &corrupt),
	};
	struct vmop_db_wait wait;
	if (corrupt || !wait_of(row, &wait))
		return vmop_db_corrupt(waits->db, "a row of the table wait");
	return waits->each(waits->arg, &interval, &wait);
}

struct vmop_error *vmop_db_each_interval_wait(
	struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_wait *wait),
	void *arg)
{
	struct interval_waits waits = {.db = db, .each = each, .arg = arg};
	return each_row(
		db,
		"SELECT interval, domain, vcpu, state, cause, count, time_ns, level, "
		"start_ns, len_ns FROM wait JOIN interval ON id = interval WHERE start_ns < "
		"?2 AND start_ns > ?1 - len_ns ORDER BY interval, domain, vcpu, state, "
		"cause",
		"wait", from_ns, to_ns, pass_wait, &waits);
}

struct vmop_error *vmop_db_each_exit_place_in(
	struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_exit_place *place), void *arg)
{
	struct sum *sums = NULL, *sum, *next;
	struct vmop_error *err = read_sums(
		db,
		"SELECT interval, domain, cause, image, offset, count, 0 FROM exit_place" IN_TIME
		"cause, image, offset",
		"exit_place", from_ns, to_ns, &sums);
	HASH_ITER (hh, sums, sum, next) {
		const struct vmop_db_exit_place place = {
			.domain = {(uint32_t)sum->numbers[0]},
			.cause = sum->numbers[1],
			.image = {(uint32_t)sum->numbers[2]},
			.offset = sum->numbers[3],
			.count = sum->count,
		};
		if (!err && sum->numbers[2] > UINT32_MAX)
			err = vmop_db_corrupt(db, "a row of the table exit_place");
		if (!err)
			err = each(arg, &place);
	}
	forget(&sums);
	return err;
}
