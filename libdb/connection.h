// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A connection to one session file, as the files of libdb share it: how it is
 * set up against hostile files, how statements are run, what SQLite's errors
 * become.
 */
#ifndef VMOP_LIBDB_CONNECTION_H
#define VMOP_LIBDB_CONNECTION_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "libdb/pack.h"
#include "libdb/types.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

/* In an upsert of losses: a sum that is no 64-bit integer any more would be rejected as a row. */
#define VMOP_DB_SUM_OF_COUNTS                                                                      \
	"CASE WHEN count > 9223372036854775807 - excluded.count THEN 9223372036854775807"          \
	" ELSE count + excluded.count END"

/* The statements that a writer keeps prepared. */
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
	VMOP_DB_PUT_INTERVAL,
	VMOP_DB_PUT_PLACE,
	VMOP_DB_PUT_CHUNK,
	VMOP_DB_PUT_LOSS,
	VMOP_DB_N_STATEMENTS,
};

struct vmop_places; /* place.h */
struct vmop_visit;  /* filter.c */

struct vmop_db {
	char *path;
	int fd;		/* O_PATH, of the directory or file that SQLite's names begin with */
	int wal_fd;	/* of the copy of another user's WAL; -1: none */
	char *left_out; /* what of the session is not read, and why; NULL: nothing */
	sqlite3 *sqlite;
	int version; /* of the file's schema */
	bool is_writer;
	sqlite3_stmt *statements[VMOP_DB_N_STATEMENTS];

	/* Work allowed to one call, in the progress handler's units; see below. */
	uint64_t work, max_work;

	struct vmop_visit *visit; /* the walk over chunks that goes on */
	bool has_visit_function;

	/* Writing. */
	bool in_interval, interval_failed;
	uint32_t interval; /* id of the open interval, or of the last one */
	uint32_t n_chunks; /* of the open interval */
	struct vmop_db_written written;
	struct vmop_places *places;
	uint32_t ended_tasks;	   /* merged by roll-up since rows of tasks were last swept */
	struct vmop_cells scratch; /* decoded cells */
	uint8_t *packed;
	size_t packed_capacity;

	/* See vmop_db_drop_rejected. A rollback takes back what the open interval added. */
	bool drops_rejected;
	struct vmop_db_rejected rejected, rejected_before_interval;
	char *first_rejected;
};

/*
 * flags are SQLITE_OPEN_*; on an error nothing is left open. path is for messages; uri names the
 * file by the descriptor fd (vfs.h), which becomes the connection's.
 */
struct vmop_error *vmop_db_connect(const char *path, const char *uri, int fd, int flags,
				   struct vmop_db **ret);

/* Opens uri for a db that has no SQLite connection. On an error it has none afterwards either. */
struct vmop_error *vmop_db_attach(struct vmop_db *db, const char *uri, int flags);

/* Closes the SQLite connection, and everything prepared on it; db stays. */
void vmop_db_detach(struct vmop_db *db);

/* Detach, and free db.  Its places must have been destroyed. */
void vmop_db_disconnect(struct vmop_db *db);

/*
 * What SQLite's last error on db (or rc, where it was made by hand) means for a user:
 * VMOP_ERROR_CORRUPT, a full disk (VMOP_ERROR_OS with ENOSPC), no permission, ...
 * Names the path.
 */
struct vmop_error *vmop_db_sqlite_error(struct vmop_db *db, int rc);

/* VMOP_ERROR_CORRUPT that names the path and what in it is wrong. */
struct vmop_error *vmop_db_corrupt(struct vmop_db *db, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What unpacking a chunk's cells came to, as an error; NULL: it went well. */
struct vmop_error *vmop_db_unpacked(struct vmop_db *db, enum vmop_unpack_error error);

/*
 * Set *ret to the present size of the file and its WAL or journal on disk. */
struct vmop_error *vmop_db_measure(struct vmop_db *db, uint64_t *ret);

/*
 * To be called by each public function that reads: a corrupt file (pages that
 * point at themselves) could else keep SQLite walking for ever.  What a file of
 * this size can need at most is allowed, with a wide margin.
 */
struct vmop_error *vmop_db_allow_work(struct vmop_db *db);

/* A fresh statement for a walk; finalized by _cleanup_(vmop_db_finalize). */
struct vmop_error *vmop_db_prepare(struct vmop_db *db, const char *sql, sqlite3_stmt **ret);
static inline void vmop_db_finalize(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

/* *ret_row: there is one. */
struct vmop_error *vmop_db_step(struct vmop_db *db, sqlite3_stmt *stmt, bool *ret_row);

/* A column that must lie in [0, max]; else *corrupt is set and 0 returned. */
uint64_t vmop_db_column(sqlite3_stmt *stmt, int column, uint64_t max, bool *corrupt);
static inline uint32_t vmop_db_column_u32(sqlite3_stmt *stmt, int column, bool *corrupt)
{
	return (uint32_t)vmop_db_column(stmt, column, UINT32_MAX, corrupt);
}

/*
 * Runs one of the kept statements with its parameters bound from the list, as types says:
 * 'i' int64_t, 'u' uint64_t (what does not fit becomes INT64_MAX), 't' const char *
 * (NULL is NULL), 'b' const void * and size_t (0 bytes: NULL).
 */
struct vmop_error *vmop_db_run(struct vmop_db *db, enum vmop_db_statement statement,
			       const char *types, ...);

/*
 * The same, and sets *ret to the integer in the first column of the statement's first row, or to
 * 0 where there is no row.
 */
struct vmop_error *vmop_db_run_for(struct vmop_db *db, enum vmop_db_statement statement,
				   int64_t *ret, const char *types, ...);

/*
 * Ends a put that came to err.  Where the row was rejected for what it holds and db drops such
 * rows, counts it, as so many samples or (0) as a fact, and returns NULL; else returns err.
 */
struct vmop_error *vmop_db_put_done(struct vmop_db *db, struct vmop_error *err, uint64_t n_samples);

/* VMOP_ERROR_LIMIT: a number that no reader would take back. */
struct vmop_error *vmop_db_out_of_range(const struct vmop_db *db, const char *what,
					long long value);

/*
 * A chunk's row, the number-th of interval: what put_chunk and rolling up share.
 * Within a transaction.
 */
struct vmop_db_chunk_row {
	uint32_t interval, number;
	uint32_t place, task, stack;
	const struct vmop_db_cell *cells;
	size_t n_cells;
	/* Set by insert_chunk. */
	uint64_t samples;
	size_t len_bytes; /* of the packed cells */
};
struct vmop_error *vmop_db_insert_chunk(struct vmop_db *db, struct vmop_db_chunk_row *row);

#endif
