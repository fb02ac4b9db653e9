// SPDX-License-Identifier: GPL-2.0-or-later
/* A session file's life: made, opened, finished, recovered. */
#include "libdb/db.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libdb/connection.h"
#include "libdb/place.h"
#include "libdb/schema.h"

/*
 * Measured with an hour of 1 s intervals of 13 chunks each (2.4 MB in the end): what is written
 * altogether is 17, 24, 39, 70, 131 MB with pages of 1, 2, 4, 8, 16 KiB; reading takes the same
 * time with all of them but 1 KiB.  4 KiB (11 KB/s) is the block of file systems.
 * The WAL goes back to the file every 4 MB, some eight minutes of that load.
 */
#define PRAGMAS_OF_NEW_FILE "PRAGMA page_size=4096"
#define PRAGMAS_OF_WRITER                                                                      \
	"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=1000;"                            \
	"PRAGMA journal_size_limit=8388608; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY"

/*
 * path as an SQLite URI (sqlite.org/uri.html), so that no character of it means
 * anything, and query ("immutable=1") behind it.
 */
static struct vmop_error *uri_of(const char *path, const char *query, char **ret)
{
	char *uri = malloc(strlen("file:./?") + 3 * strlen(path) + strlen(query) + 1);
	if (!uri)
		return &vmop_error_no_memory;
	char *p = stpcpy(uri, path[0] == '/' ? "file://" : "file:./");
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/._-", *path))
			*p++ = *path;
		else
			p += sprintf(p, "%%%02x", (unsigned char)*path);
	}
	sprintf(p, "?%s", query);
	*ret = uri;
	return NULL;
}

static struct vmop_error *connect_path(const char *path, const char *query, int flags,
				       struct vmop_db **ret)
{
	_cleanup_free_ char *uri = NULL;
	struct vmop_error *err = uri_of(path, query, &uri);
	return err ? err : vmop_db_connect(path, uri, flags, ret);
}

static struct vmop_error *exec(struct vmop_db *db, const char *sql)
{
	int rc = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

/* Runs a pragma that answers with the mode it set, and compares that. */
static struct vmop_error *set_journal_mode(struct vmop_db *db, const char *mode)
{
	_cleanup_free_ char *sql = NULL;
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	if (asprintf(&sql, "PRAGMA journal_mode=%s", mode) < 0) {
		sql = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = vmop_db_prepare(db, sql, &stmt);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	if (!err && (!row || strcmp((const char *)sqlite3_column_text(stmt, 0), mode) != 0))
		err = vmop_db_sqlite_error(db, SQLITE_BUSY);
	return err;
}

static struct vmop_error *lay_down(struct vmop_db *db)
{
	struct vmop_error *err = exec(db, PRAGMAS_OF_NEW_FILE "; BEGIN");
	if (err)
		return err;
	int rc = vmop_schema_create(db->sqlite);
	if (rc != SQLITE_OK)
		return vmop_db_sqlite_error(db, rc);
	/* Only now, so that a file in WAL mode always has its schema. */
	err = exec(db, "COMMIT");
	if (!err)
		err = set_journal_mode(db, "wal");
	if (!err)
		err = exec(db, PRAGMAS_OF_WRITER);
	return err ? err : vmop_places_create(&db->places);
}

struct vmop_error *vmop_db_create(const char *path, struct vmop_db **ret)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
	if (fd < 0)
		return vmop_error_os(errno, "%s", path);
	close(fd);
	struct vmop_db *db = NULL;
	struct vmop_error *err = connect_path(path, "", SQLITE_OPEN_READWRITE, &db);
	if (!err) {
		db->is_writer = true;
		db->version = VMOP_DB_SCHEMA_VERSION;
		err = lay_down(db);
	}
	if (err) {
		vmop_db_close(db);
		unlink(path);
		return err;
	}
	*ret = db;
	return NULL;
}

/* Everything into the one file, whatever it takes; readers may have to go first. */
static struct vmop_error *leave_wal(struct vmop_db *db)
{
	struct vmop_error *err = exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	return err ? err : set_journal_mode(db, "delete");
}

/* SQLite won't change the mode while a statement of ours is there. */
static void finalize_statements(struct vmop_db *db)
{
	for (size_t i = 0; i < VMOP_DB_N_STATEMENTS; i++) {
		sqlite3_finalize(db->statements[i]);
		db->statements[i] = NULL;
	}
}

struct vmop_error *vmop_db_finish(struct vmop_db *db)
{
	vmop_db_rollback(db);
	finalize_statements(db);
	struct vmop_error *err = leave_wal(db);
	vmop_db_close(db);
	return err;
}

struct vmop_error *vmop_db_suspend(struct vmop_db *db)
{
	vmop_db_rollback(db);
	finalize_statements(db);
	struct vmop_error *err = leave_wal(db);
	if (err && err->code != VMOP_ERROR_BUSY)
		return err;
	vmop_error_destroy(err); /* the WAL goes along with the file */
	vmop_db_detach(db);
	return NULL;
}

struct vmop_error *vmop_db_resume(struct vmop_db *db, const char *path)
{
	_cleanup_free_ char *uri = NULL;
	char *own = strdup(path);
	if (!own)
		return &vmop_error_no_memory;
	free(db->path);
	db->path = own;
	struct vmop_error *err = uri_of(path, "", &uri);
	if (!err)
		err = vmop_db_attach(db, uri, SQLITE_OPEN_READWRITE);
	if (err)
		return err;
	err = set_journal_mode(db, "wal");
	if (!err)
		err = exec(db, PRAGMAS_OF_WRITER);
	if (err)
		vmop_db_detach(db);
	return err;
}

struct vmop_error *vmop_db_abandon(struct vmop_db *db)
{
	vmop_db_rollback(db);
	finalize_statements(db);
	struct vmop_error *err = exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	vmop_db_close(db);
	return err;
}

/* SQLite would wait for a FIFO's writer, and its own messages are vague. */
static struct vmop_error *check_file(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: not a session file of vmop", path);
	return NULL;
}

/* The checks that come with opening. *ret_rc as vmop_schema_check's. */
static struct vmop_error *check_schema(struct vmop_db *db, int *ret_rc)
{
	struct vmop_error *err = vmop_db_allow_work(db);
	return err ? err : vmop_schema_check(db->sqlite, db->path, &db->version, ret_rc);
}

static bool is_absent(const char *path, const char *suffix)
{
	_cleanup_free_ char *beside = NULL;
	struct stat st;
	if (asprintf(&beside, "%s%s", path, suffix) < 0) {
		beside = NULL;
		return false;
	}
	return stat(beside, &st) < 0 ? errno == ENOENT : st.st_size == 0;
}

/*
 * A file in WAL mode whose -shm is not there, and where a reader may not make it: a copy of a
 * live or a killed session's file.  Nobody writes it (a writer has the -shm open), so
 * it can be read all the same, if SQLite is told so: as one that never changes
 * when there is no WAL either, else without locks, its index of the WAL in memory.
 */
static const char *query_without_shm(struct vmop_db *db, int rc)
{
	if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
		return NULL;
	const char *file = sqlite3_db_filename(db->sqlite, "main");
	if (!file || !is_absent(file, "-shm"))
		return NULL;
	return is_absent(file, "-wal") ? "immutable=1" : "vfs=unix-none";
}

static struct vmop_error *open_without_shm(const char *path, const char *query,
					   struct vmop_db **ret, int *ret_rc)
{
	struct vmop_error *err = connect_path(path, query, SQLITE_OPEN_READONLY, ret);
	if (!err)
		err = exec(*ret, "PRAGMA locking_mode=EXCLUSIVE");
	return err ? err : check_schema(*ret, ret_rc);
}

struct vmop_error *vmop_db_open(const char *path, struct vmop_db **ret)
{
	struct vmop_error *err = check_file(path);
	if (err)
		return err;
	struct vmop_db *db = NULL;
	int rc = SQLITE_OK;
	err = connect_path(path, "", SQLITE_OPEN_READONLY, &db);
	if (!err)
		err = check_schema(db, &rc);
	const char *query = err ? NULL : query_without_shm(db, rc);
	if (query) {
		vmop_db_close(db);
		db = NULL;
		err = open_without_shm(path, query, &db, &rc);
	}
	if (!err && rc != SQLITE_OK)
		err = vmop_db_sqlite_error(db, rc);
	if (!err)
		err = exec(db, "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY");
	if (err) {
		vmop_db_close(db);
		return err;
	}
	*ret = db;
	return NULL;
}

struct vmop_error *vmop_db_recover(const char *path)
{
	struct vmop_error *err = check_file(path);
	if (err)
		return err;
	struct vmop_db *db = NULL;
	int rc = SQLITE_OK;
	err = connect_path(path, "", SQLITE_OPEN_READWRITE, &db);
	if (!err)
		err = check_schema(db, &rc);
	if (!err && rc != SQLITE_OK)
		err = vmop_db_sqlite_error(db, rc);
	if (!err)
		err = leave_wal(db);
	vmop_db_close(db);
	return err;
}

struct vmop_error *vmop_db_begin_snapshot(struct vmop_db *db)
{
	struct vmop_error *err = exec(db, "BEGIN");
	/* The moment is that of the first read. */
	return err ? err : exec(db, "SELECT 1 FROM sqlite_schema");
}

/* The descriptors that SQLite holds are asked, so a file that was renamed is still the one. */
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

struct vmop_error *vmop_db_size_bytes(struct vmop_db *db, uint64_t *ret)
{
	*ret = 0;
	int rc = add_size(db, SQLITE_FCNTL_FILE_POINTER, ret);
	if (rc == SQLITE_OK)
		rc = add_size(db, SQLITE_FCNTL_JOURNAL_POINTER, ret);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}
