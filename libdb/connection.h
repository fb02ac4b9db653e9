// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection to one session file that the files of libdb share.  It protects SQLite from
 * hostile files, runs statements, and translates SQLite's errors.
 */
#ifndef VMOP_LIBDB_CONNECTION_H
#define VMOP_LIBDB_CONNECTION_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libdb/pack.h"
#include "libdb/symbols/sampled-symbols.h"
#include "libdb/types.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

/* The sum of two losses in an upsert, limited to SQL's greatest integer: no row may exceed it. */
#define VMOP_DB_SUM_OF_COUNTS                                                                      \
	"CASE WHEN count > 9223372036854775807 - excluded.count THEN 9223372036854775807"          \
	" ELSE count + excluded.count END"

/* The same of the time of waits. */
#define VMOP_DB_SUM_OF_TIMES                                                                       \
	"CASE WHEN time_ns > 9223372036854775807 - excluded.time_ns THEN 9223372036854775807"      \
	" ELSE time_ns + excluded.time_ns END"

/* The statements that a writer prepares once. */
enum vmop_db_statement {
	VMOP_DB_BEGIN,
	VMOP_DB_COMMIT,
	VMOP_DB_ROLLBACK,
	VMOP_DB_PUT_INFO,
	VMOP_DB_DROP_INFO,
	VMOP_DB_PUT_EVENT,
	VMOP_DB_PUT_DOMAIN,
	VMOP_DB_PUT_VCPU,
	VMOP_DB_PUT_TASK,
	VMOP_DB_END_TASK,
	VMOP_DB_FIND_MERGED,
	VMOP_DB_NEXT_TASK,
	VMOP_DB_PUT_MERGED,
	VMOP_DB_COUNT_MERGED,
	VMOP_DB_PUT_IMAGE,
	VMOP_DB_PUT_SYMBOLS,
	VMOP_DB_PUT_CODE,
	VMOP_DB_PUT_INTERVAL,
	VMOP_DB_PUT_PLACE,
	VMOP_DB_PUT_CHUNK,
	VMOP_DB_PUT_STACK_NODES,
	VMOP_DB_PUT_LOSS,
	VMOP_DB_PUT_WAIT,
	VMOP_DB_PUT_EXIT_PLACE,
	VMOP_DB_PUT_CULPRIT,
	VMOP_DB_FIND_CULPRIT,
	VMOP_DB_N_STATEMENTS,
};

/* A moment, before which no chunk has a task with a higher id: roll-up.c. */
struct vmop_db_sweep_mark {
	uint64_t time_ns;
	uint32_t task, interval; /* ids */
};

struct vmop_checkpoints; /* checkpoint.h */
struct vmop_places;	 /* place.h */
struct vmop_visit;	 /* filter.c */

struct vmop_db {
	char *path;
	int fd;		/* O_PATH; the directory or file with which SQLite's file names begin */
	int wal_fd;	/* a copy of another user's WAL; -1: none */
	char *left_out; /* see vmop_db_left_out */
	sqlite3 *sqlite;
	int version; /* of the schema */
	bool is_writer;
	sqlite3_stmt *statements[VMOP_DB_N_STATEMENTS];

	/* Work of one call, counted by the progress handler: see vmop_db_allow_work. */
	uint64_t work, max_work;

	/* Facts of a reader's file from before the snapshot: see vmop_db_snapshot_file. */
	struct statx snapshot_file;
	bool has_snapshot_file;

	struct vmop_visit *visit; /* the walk over chunks in progress */
	bool has_visit_function;

	struct vmop_db_clock clock; /* of a reader; see vmop_db_set_clock */

	/* Writing. */
	struct vmop_checkpoints *checkpoints; /* NULL: SQLite's own */
	bool is_renamed;		      /* since SQLite opened it */
	bool in_interval, interval_failed;
	uint32_t interval; /* id of the open interval, otherwise of the last one */
	uint32_t n_chunks; /* of the open interval */
	/* Ids of nodes of stacks. A rollback restores the one from before the interval. */
	uint32_t last_stack_node, last_stack_node_before_interval;
	struct vmop_db_written written;
	struct vmop_places *places;
	struct vmop_sampled_symbols sampled;
	uint32_t ended_tasks;  /* merged by roll-ups since their rows were last deleted */
	bool has_no_summaries; /* no further one is made: summary.c */
	struct vmop_db_sweep_mark sweep_marks[2]; /* the older one first */
	struct vmop_cells scratch;		  /* decoded cells */
	uint8_t *packed;
	size_t packed_capacity;

	/* See vmop_db_drop_rejected. A rollback restores the counts from before the interval. */
	bool drops_rejected;
	struct vmop_db_rejected rejected, rejected_before_interval;
	char *first_rejected;
};

/*
 * Connect to the file that uri names by the descriptor fd (vfs.h).  flags are SQLITE_OPEN_*.
 * Messages contain path.  Takes over fd, and closes it after an error.
 */
struct vmop_error *vmop_db_connect(const char *path, const char *uri, int fd, int flags,
				   struct vmop_db **ret);

/* Open uri for a db without an SQLite connection. After an error it still has none. */
struct vmop_error *vmop_db_attach(struct vmop_db *db, const char *uri, int flags);

/* Close the SQLite connection and its statements; db stays. */
void vmop_db_detach(struct vmop_db *db);

/* Close the SQLite connection, and free db except its places. */
void vmop_db_disconnect(struct vmop_db *db);

/*
 * Translate the SQLite result code rc into an error that names the path: VMOP_ERROR_CORRUPT, a full
 * disk (VMOP_ERROR_OS with ENOSPC), no permission, ...
 */
struct vmop_error *vmop_db_sqlite_error(struct vmop_db *db, int rc);

/* Return a VMOP_ERROR_CORRUPT that names the path and the damage. */
struct vmop_error *vmop_db_corrupt(struct vmop_db *db, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Translate the result of unpacking a chunk's cells; NULL for success. */
struct vmop_error *vmop_db_unpacked(struct vmop_db *db, enum vmop_unpack_error error);

/*
 * Set *ret to the present size of the file and its WAL or journal on disk. */
struct vmop_error *vmop_db_measure(struct vmop_db *db, uint64_t *ret);

/*
 * Limit the work of the call that begins, by the file's size with a wide margin.  Each public
 * function that reads calls this first: pages of a corrupt file can point at themselves, and SQLite
 * would never return.
 */
struct vmop_error *vmop_db_allow_work(struct vmop_db *db);

/* Prepare a statement for a walk.  The caller finalizes it: _cleanup_(vmop_db_finalize). */
struct vmop_error *vmop_db_prepare(struct vmop_db *db, const char *sql, sqlite3_stmt **ret);
static inline void vmop_db_finalize(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

/* Step stmt.  *ret_row is true if there is a row. */
struct vmop_error *vmop_db_step(struct vmop_db *db, sqlite3_stmt *stmt, bool *ret_row);

/* Return a column that must lie in [0, max]; otherwise set *corrupt and return 0. */
uint64_t vmop_db_column(sqlite3_stmt *stmt, int column, uint64_t max, bool *corrupt);
static inline uint32_t vmop_db_column_u32(sqlite3_stmt *stmt, int column, bool *corrupt)
{
	return (uint32_t)vmop_db_column(stmt, column, UINT32_MAX, corrupt);
}

/*
 * Run a prepared statement with the arguments as its parameters.  types has a letter for each:
 * 'i' int64_t, 'u' uint64_t (at most INT64_MAX is stored), 't' const char * (NULL is NULL),
 * 'b' const void * and size_t (0 bytes: NULL).
 */
struct vmop_error *vmop_db_run(struct vmop_db *db, enum vmop_db_statement statement,
			       const char *types, ...);

/* Do the same, and set *ret to the integer in the first column of the first row; 0 if no row. */
struct vmop_error *vmop_db_run_for(struct vmop_db *db, enum vmop_db_statement statement,
				   int64_t *ret, const char *types, ...);

/*
 * Return the result of a put that ended with err.  If err rejects the row and db drops such rows,
 * count it as n_samples samples, or as one fact if n_samples is 0, and return NULL.
 */
struct vmop_error *vmop_db_put_done(struct vmop_db *db, struct vmop_error *err, uint64_t n_samples);

/* Return a VMOP_ERROR_LIMIT: readers would refuse this value of `what`. */
struct vmop_error *vmop_db_out_of_range(const struct vmop_db *db, const char *what,
					long long value);

/* A row of the table chunk: the number-th of its interval, from 0. */
struct vmop_db_chunk_row {
	uint32_t interval, number;
	uint32_t place;
	struct vmop_task_row_id task;
	/* One of the two, and the other is NULL. */
	const struct vmop_db_cell *cells;
	const struct vmop_db_stack_cell *stack_cells;
	size_t n_cells;
	/* Results. */
	uint64_t samples;
	size_t len_bytes; /* of the packed cells */
};
/* Write the rows of images with newly marked symbols, as part of the open interval. */
struct vmop_error *vmop_db_put_sampled_symbols(struct vmop_db *db);

/* Insert valid nodes as one row, packed at a level of zstd, as part of the open transaction. */
struct vmop_error *vmop_db_insert_stack_nodes(struct vmop_db *db,
					      const struct vmop_db_stack_node *nodes, size_t n,
					      int level);

/* Insert a chunk, as part of the open transaction. */
struct vmop_error *vmop_db_insert_chunk(struct vmop_db *db, struct vmop_db_chunk_row *row);

#endif
