// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/connection.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdb/cells-table.h"
#include "libdb/checkpoint.h"
#include "libdb/vfs.h"

#define BUSY_TIMEOUT_MS 5000

/* The largest blobs are symbols that don't compress, and chunks of VMOP_PACK_MAX_CELLS. */
#define MAX_BLOB_BYTES (600 << 20)

/* Instructions of SQLite's virtual machine between two calls of the progress handler. */
#define WORK_UNIT 10000
/*
 * The allowed instructions: a row has at least 6 bytes and takes about 20 instructions to read.  64
 * for each byte are plenty; every call may use 2e7 (0.1 s).
 */
#define WORK_BASE 2000
#define WORK_PER_BYTE 64

static const char *const statements[VMOP_DB_N_STATEMENTS] = {
	[VMOP_DB_BEGIN] = "BEGIN IMMEDIATE",
	[VMOP_DB_COMMIT] = "COMMIT",
	[VMOP_DB_ROLLBACK] = "ROLLBACK",
	[VMOP_DB_PUT_INFO] = "REPLACE INTO info VALUES(?1, ?2)",
	[VMOP_DB_DROP_INFO] = "DELETE FROM info WHERE name = ?1",
	[VMOP_DB_PUT_EVENT] = "REPLACE INTO event VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[VMOP_DB_PUT_DOMAIN] = "REPLACE INTO domain VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[VMOP_DB_PUT_VCPU] = "REPLACE INTO vcpu VALUES(?1, ?2, ?3)",
	[VMOP_DB_PUT_TASK] = "REPLACE INTO task VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9)",
	[VMOP_DB_END_TASK] = "UPDATE task SET end_time_ns = ?2 WHERE id = ?1",
	[VMOP_DB_FIND_MERGED] = "SELECT id FROM task WHERE merged > 0 AND domain = ?1"
				" AND exe_image = ?2 AND comm = ?3 AND cgroup IS ?4",
	[VMOP_DB_NEXT_TASK] = "SELECT ifnull(max(id), 0) + 1 FROM task",
	[VMOP_DB_PUT_MERGED] = "INSERT INTO task VALUES(?1, ?2, 0, 0, 0, 0, ?6, ?4, ?3, ?5)",
	[VMOP_DB_COUNT_MERGED] = "UPDATE task SET merged = merged + ?2 WHERE id = ?1",
	[VMOP_DB_PUT_IMAGE] = "REPLACE INTO image VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[VMOP_DB_PUT_SYMBOLS] = "REPLACE INTO symbols VALUES(?1, ?2, ?3)",
	[VMOP_DB_PUT_CODE] = "REPLACE INTO code VALUES(?1, ?2, ?3, ?4, ?5)",
	[VMOP_DB_PUT_INTERVAL] = "INSERT INTO interval VALUES(?1, ?2, ?3, ?4)",
	[VMOP_DB_PUT_PLACE] = "INSERT INTO place VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[VMOP_DB_PUT_CHUNK] = "INSERT INTO chunk(id, task, place, stack, samples, weight, cells)"
			      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[VMOP_DB_PUT_STACK_NODES] = "INSERT INTO stack_nodes VALUES(?1, ?2, ?3)",
	[VMOP_DB_PUT_LOSS] = "INSERT INTO loss VALUES(?1, ?2, ?3, ?4, ?5)"
			     " ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS,
	[VMOP_DB_PUT_WAIT] = "INSERT INTO wait VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
			     " ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS
			     ", time_ns = " VMOP_DB_SUM_OF_TIMES,
	[VMOP_DB_PUT_EXIT_PLACE] = "INSERT INTO exit_place VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
				   " ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS,
	[VMOP_DB_PUT_CULPRIT] = "INSERT INTO culprit(kind, domain, name) VALUES(?1, ?2, ?3)"
				" ON CONFLICT DO NOTHING",
	[VMOP_DB_FIND_CULPRIT] =
		"SELECT id FROM culprit WHERE kind = ?1 AND domain = ?2 AND name = ?3",
};

static int count_work(void *arg)
{
	struct vmop_db *db = arg;
	return ++db->work > db->max_work;
}

/* Protect against hostile files, as sqlite.org/security.html recommends. */
static void harden(struct vmop_db *db)
{
	sqlite3 *sqlite = db->sqlite;
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH, MAX_BLOB_BYTES);
	sqlite3_limit(sqlite, SQLITE_LIMIT_SQL_LENGTH, 100000);
	sqlite3_limit(sqlite, SQLITE_LIMIT_COLUMN, 100);
	sqlite3_limit(sqlite, SQLITE_LIMIT_EXPR_DEPTH, 50);
	sqlite3_limit(sqlite, SQLITE_LIMIT_COMPOUND_SELECT, 3);
	sqlite3_limit(sqlite, SQLITE_LIMIT_VDBE_OP, 25000);
	sqlite3_limit(sqlite, SQLITE_LIMIT_FUNCTION_ARG, 8);
	sqlite3_limit(sqlite, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(sqlite, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50);
	sqlite3_limit(sqlite, SQLITE_LIMIT_VARIABLE_NUMBER, 100);
	sqlite3_limit(sqlite, SQLITE_LIMIT_TRIGGER_DEPTH, 5);
	db->max_work = UINT64_MAX;
	sqlite3_progress_handler(sqlite, WORK_UNIT, count_work, db);
}

struct vmop_error *vmop_db_attach(struct vmop_db *db, const char *uri, int flags)
{
	int rc = vmop_vfs_register();
	/* One thread a connection (db.h), so no mutexes. */
	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2(uri, &db->sqlite,
				     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI |
					     SQLITE_OPEN_EXRESCODE,
				     VMOP_VFS);
	if (rc == SQLITE_OK) {
		harden(db);
		sqlite3_busy_timeout(db->sqlite, BUSY_TIMEOUT_MS);
		rc = sqlite3_exec(db->sqlite, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK)
		rc = vmop_cells_table_register(db->sqlite);
	if (rc == SQLITE_OK)
		return NULL;
	struct vmop_error *err = vmop_db_sqlite_error(db, rc);
	vmop_db_detach(db);
	return err;
}

struct vmop_error *vmop_db_connect(const char *path, const char *uri, int fd, int flags,
				   struct vmop_db **ret)
{
	struct vmop_db *db = calloc(1, sizeof(*db));
	if (!db) {
		close(fd);
		return &vmop_error_no_memory;
	}
	db->fd = fd;
	db->wal_fd = -1;
	db->path = strdup(path);
	struct vmop_error *err = db->path ? vmop_db_attach(db, uri, flags) : &vmop_error_no_memory;
	if (err) {
		vmop_db_disconnect(db);
		return err;
	}
	*ret = db;
	return NULL;
}

void vmop_db_detach(struct vmop_db *db)
{
	vmop_checkpoints_end(vmop_steal(&db->checkpoints));
	for (size_t i = 0; i < VMOP_DB_N_STATEMENTS; i++) {
		sqlite3_finalize(db->statements[i]);
		db->statements[i] = NULL;
	}
	sqlite3_close(db->sqlite);
	db->sqlite = NULL;
	db->has_visit_function = false;
}

void vmop_db_disconnect(struct vmop_db *db)
{
	vmop_db_detach(db);
	close(db->fd);
	vmop_cleanup_close(&db->wal_fd);
	free(db->left_out);
	free(db->first_rejected);
	vmop_sampled_symbols_deinit(&db->sampled);
	free(db->scratch.all);
	free(db->packed);
	free(db->path);
	free(db);
}

/* Return the errno that SQLite saved for its file or journal; the global one is often overwritten.
 */
static int errno_of_file(struct vmop_db *db, int which)
{
	sqlite3_file *file = NULL;
	int os_errno = 0;
	if (db->sqlite && sqlite3_file_control(db->sqlite, "main", which, &file) == SQLITE_OK &&
	    file && file->pMethods)
		file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &os_errno);
	return os_errno;
}

static struct vmop_error *error_of_os(struct vmop_db *db)
{
	int os_errno = errno_of_file(db, SQLITE_FCNTL_JOURNAL_POINTER);
	if (!os_errno)
		os_errno = errno_of_file(db, SQLITE_FCNTL_FILE_POINTER);
	if (!os_errno && db->sqlite)
		os_errno = sqlite3_system_errno(db->sqlite);
	return vmop_error_os(os_errno ? os_errno : EIO, "%s", db->path);
}

/* Return whether os_errno of a read means a broken disk rather than a damaged file. */
static bool is_disk_error(int os_errno)
{
	return os_errno == EIO || os_errno == ENXIO || os_errno == ERANGE;
}

struct vmop_error *vmop_db_sqlite_error(struct vmop_db *db, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return &vmop_error_no_memory;
	case SQLITE_FULL:
		return vmop_error_os(ENOSPC, "%s", db->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL: /* a lock that does not go away keeps the WAL from being read */
		return vmop_error_new(VMOP_ERROR_BUSY, "%s: locked by another program", db->path);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not writable", db->path);
	case SQLITE_CANTOPEN:
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: it or its -wal file can't be opened (%s)", db->path,
				      strerror(sqlite3_system_errno(db->sqlite)));
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_NOMEM)
			return &vmop_error_no_memory;
		if (rc == SQLITE_IOERR_SHORT_READ)
			return vmop_db_corrupt(db, "it ends early");
		return error_of_os(db);
	case SQLITE_INTERRUPT:
		return vmop_db_corrupt(db, "more rows than a file of its size can have");
	case SQLITE_TOOBIG:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: a row can't be stored: %s", db->path,
				      sqlite3_errmsg(db->sqlite));
	case SQLITE_CORRUPT:
		/* SQLite reports an unreadable disk as a damaged file. */
		if (is_disk_error(errno_of_file(db, SQLITE_FCNTL_FILE_POINTER)) ||
		    is_disk_error(errno_of_file(db, SQLITE_FCNTL_JOURNAL_POINTER)))
			return error_of_os(db);
		return vmop_db_corrupt(db, "%s", sqlite3_errmsg(db->sqlite));
	case SQLITE_NOTADB:
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: not a session file of vmop",
				      db->path);
	default:
		return vmop_db_corrupt(db, "%s", sqlite3_errmsg(db->sqlite));
	}
}

struct vmop_error *vmop_db_corrupt(struct vmop_db *db, const char *format, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&what, format, args);
	va_end(args);
	if (len < 0) {
		what = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: corrupt: %s", db->path, what);
}

struct vmop_error *vmop_db_out_of_range(const struct vmop_db *db, const char *what, long long value)
{
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: %s can't be %lld", db->path, what, value);
}

struct vmop_error *vmop_db_put_done(struct vmop_db *db, struct vmop_error *err, uint64_t n_samples)
{
	if (!err || !db->drops_rejected || err->code != VMOP_ERROR_LIMIT)
		return err;
	/* If SQLite has rolled back the interval, no later put can succeed. */
	if (db->in_interval && sqlite3_get_autocommit(db->sqlite))
		return err;
	db->rejected.facts += !n_samples;
	db->rejected.samples += n_samples;
	if (!db->first_rejected)
		db->first_rejected = strdup(err->message);
	vmop_error_destroy(err);
	return NULL;
}

struct vmop_error *vmop_db_unpacked(struct vmop_db *db, enum vmop_unpack_error error)
{
	switch (error) {
	case VMOP_UNPACK_OK:
		return NULL;
	case VMOP_UNPACK_NO_MEMORY:
		return &vmop_error_no_memory;
	case VMOP_UNPACK_LIMIT:
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many distinct addresses",
				      db->path);
	default:
		return vmop_db_corrupt(db, "a chunk's cells");
	}
}

/* Add the size of the file behind SQLite's descriptor: the right one, even if it was renamed. */
static int add_size(struct vmop_db *db, int which, uint64_t *size_bytes)
{
	sqlite3_file *file = NULL;
	sqlite3_int64 bytes = 0;
	int rc = sqlite3_file_control(db->sqlite, "main", which, &file);
	if (rc == SQLITE_OK && file && file->pMethods)
		rc = file->pMethods->xFileSize(file, &bytes);
	if (bytes > 0)
		*size_bytes += (uint64_t)bytes;
	return rc;
}

struct vmop_error *vmop_db_measure(struct vmop_db *db, uint64_t *ret)
{
	*ret = 0;
	int rc = add_size(db, SQLITE_FCNTL_FILE_POINTER, ret);
	if (rc == SQLITE_OK)
		rc = add_size(db, SQLITE_FCNTL_JOURNAL_POINTER, ret);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

struct vmop_error *vmop_db_allow_work(struct vmop_db *db)
{
	uint64_t size_bytes;
	struct vmop_error *err = vmop_db_measure(db, &size_bytes);
	if (err)
		return err;
	db->work = 0;
	db->max_work = WORK_BASE + size_bytes / WORK_UNIT * WORK_PER_BYTE;
	return NULL;
}

struct vmop_error *vmop_db_prepare(struct vmop_db *db, const char *sql, sqlite3_stmt **ret)
{
	int rc = sqlite3_prepare_v2(db->sqlite, sql, -1, ret, NULL);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

struct vmop_error *vmop_db_step(struct vmop_db *db, sqlite3_stmt *stmt, bool *ret_row)
{
	int rc = sqlite3_step(stmt);
	*ret_row = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? NULL : vmop_db_sqlite_error(db, rc);
}

uint64_t vmop_db_column(sqlite3_stmt *stmt, int column, uint64_t max, bool *corrupt)
{
	int64_t value = sqlite3_column_int64(stmt, column);
	if (value >= 0 && (uint64_t)value <= max)
		return (uint64_t)value;
	*corrupt = true;
	return 0;
}

static int bind_all(sqlite3_stmt *stmt, const char *types, va_list args)
{
	int rc = SQLITE_OK;
	for (int i = 1; rc == SQLITE_OK && types[i - 1]; i++) {
		if (types[i - 1] == 'i') {
			rc = sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
		} else if (types[i - 1] == 'u') {
			uint64_t value = va_arg(args, uint64_t);
			rc = sqlite3_bind_int64(stmt, i,
						value > INT64_MAX ? INT64_MAX : (int64_t)value);
		} else if (types[i - 1] == 't') {
			rc = sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1,
					       SQLITE_STATIC);
		} else {
			const void *blob = va_arg(args, const void *);
			size_t len = va_arg(args, size_t);
			rc = sqlite3_bind_blob64(stmt, i, len ? blob : NULL, len, SQLITE_STATIC);
		}
	}
	return rc;
}

static struct vmop_error *run(struct vmop_db *db, enum vmop_db_statement statement, int64_t *ret,
			      const char *types, va_list args)
{
	sqlite3_stmt **stmt = &db->statements[statement];
	int rc = SQLITE_OK;
	if (!*stmt)
		rc = sqlite3_prepare_v3(db->sqlite, statements[statement], -1,
					SQLITE_PREPARE_PERSISTENT, stmt, NULL);
	if (rc == SQLITE_OK)
		rc = bind_all(*stmt, types, args);
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(*stmt);
		*ret = rc == SQLITE_ROW ? sqlite3_column_int64(*stmt, 0) : 0;
		if (rc == SQLITE_DONE || rc == SQLITE_ROW)
			rc = SQLITE_OK;
	}
	struct vmop_error *err = rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
	sqlite3_reset(*stmt); /* returns the step's error again; NULL is allowed */
	return err;
}

struct vmop_error *vmop_db_run(struct vmop_db *db, enum vmop_db_statement statement,
			       const char *types, ...)
{
	va_list args;
	int64_t ignored;
	va_start(args, types);
	struct vmop_error *err = run(db, statement, &ignored, types, args);
	va_end(args);
	return err;
}

struct vmop_error *vmop_db_run_for(struct vmop_db *db, enum vmop_db_statement statement,
				   int64_t *ret, const char *types, ...)
{
	va_list args;
	*ret = 0;
	va_start(args, types);
	struct vmop_error *err = run(db, statement, ret, types, args);
	va_end(args);
	return err;
}
