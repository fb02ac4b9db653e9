// SPDX-License-Identifier: GPL-2.0-or-later
/* Creating, opening, finishing and recovering a session file. */
#include "libdb/db.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libdb/checkpoint.h"
#include "libdb/connection.h"
#include "libdb/file-set.h"
#include "libdb/place.h"
#include "libdb/schema.h"
#include "libdb/vfs.h"
#include "libutil/clock.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"

/*
 * Measured with an hour of 1 s intervals of 13 chunks each (a file of 2.4 MB): with pages of 1, 2,
 * 4, 8, 16 KiB, SQLite writes 17, 24, 39, 70, 131 MB in all.  Reading takes the same time with all
 * sizes except 1 KiB.  4 KiB (11 KB/s) is the block size of file systems.  A
 * checkpoint comes every 4 MB, about eight minutes of that load.
 *
 * Rolling up frees pages.  Later intervals use them, and vmop_db_finish cuts off the rest.
 */
#define PRAGMAS_OF_NEW_FILE "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL"
/*
 * While the journal is not a WAL: a journal that is deleted stays deleted after a power cut. With
 * one, readers without the right to write could not read the file, and a roll-back would undo the
 * change of the mode.
 */
#define PRAGMA_WITHOUT_WAL "PRAGMA synchronous=EXTRA"
#define PRAGMAS_OF_WRITER                                                                          \
	"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=1000;"                               \
	"PRAGMA journal_size_limit=8388608; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY"

/* Free pages that are cut off at the end of a session: 64 MiB. */
#define FREE_PAGES_MAX "16384"

/* Between two attempts to remove a WAL that a reader uses. */
#define WAL_POLL_NS (10 * 1000 * 1000)

/* A file that is replaced each time that it is opened is an error. */
#define OPEN_ATTEMPTS 10

/* The largest WAL of another user that is read. A daemon's has about 4 MB. */
#define MAX_WAL_COPY_BYTES (64 << 20)

/*
 * Set *ret to an SQLite URI (sqlite.org/uri.html) with the query `query`.  It names the file behind
 * fd or, unless name is "", the file `name` in the directory behind fd.  name is escaped.
 */
static struct vmop_error *uri_of(int fd, const char *name, const char *query, char **ret)
{
	static const char format[] = "file:///proc/self/fd/%d";
	char *uri = malloc(sizeof(format) + 16 + 3 * strlen(name) + strlen(query));
	if (!uri)
		return &vmop_error_no_memory;
	char *p = uri + sprintf(uri, format, fd);
	if (*name)
		*p++ = '/';
	for (; *name; name++) {
		if (isalnum((unsigned char)*name) || strchr("._-", *name))
			*p++ = *name;
		else
			p += sprintf(p, "%%%02x", (unsigned char)*name);
	}
	sprintf(p, "?%s", query);
	*ret = uri;
	return NULL;
}

/* A session file to open. */
struct target {
	const struct vmop_dir *dir;
	const char *name; /* in dir */
	const char *path; /* for messages */
};

/* Connect to the file `name` in the directory fd or, if name is "", to the file fd. */
static struct vmop_error *connect_at(int fd, const char *name, const char *path, const char *query,
				     int flags, struct vmop_db **ret)
{
	_cleanup_free_ char *uri = NULL;
	int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own_fd < 0)
		return vmop_error_os(errno, "%s", path);
	struct vmop_error *err = uri_of(own_fd, name, query, &uri);
	if (!err)
		return vmop_db_connect(path, uri, own_fd, flags, ret);
	close(own_fd);
	return err;
}

void vmop_db_close(struct vmop_db *db)
{
	if (!db)
		return;
	vmop_places_destroy(db->places);
	vmop_db_disconnect(db);
}

static struct vmop_error *connect_target(const struct target *target, const char *query, int flags,
					 struct vmop_db **ret)
{
	return connect_at(target->dir->fd, target->name, target->path, query, flags, ret);
}

static struct vmop_error *exec(struct vmop_db *db, const char *sql)
{
	int rc = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

/* Set the journal mode, and check the mode that the pragma returns. */
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
	struct vmop_error *err = exec(db, PRAGMAS_OF_NEW_FILE "; " PRAGMA_WITHOUT_WAL "; BEGIN");
	if (err)
		return err;
	int rc = vmop_schema_create(db->sqlite);
	if (rc != SQLITE_OK)
		return vmop_db_sqlite_error(db, rc);
	/* WAL mode comes last, so that a file in WAL mode always has its schema. */
	err = exec(db, "COMMIT");
	if (!err)
		err = set_journal_mode(db, "wal");
	if (!err)
		err = exec(db, PRAGMAS_OF_WRITER);
	return err ? err : vmop_places_create(&db->places);
}

/* Create an empty file that only its owner can open; SQLite makes the files beside it likewise. */
static struct vmop_error *make_file(const struct target *target)
{
	_cleanup_(vmop_file_set_deinit) struct vmop_file_set set;
	struct vmop_error *err = vmop_file_set_init(&set, target->dir, target->name, target->path);
	if (err)
		return err;
	/* SQLite reads and deletes a -wal or -journal that is there without its file. */
	if (set.not_regular)
		return vmop_file_set_check(&set, target->path);
	_cleanup_close_ int fd = openat(target->dir->fd, target->name,
					O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return vmop_error_os(errno, "%s", target->path);
	if (fchmod(fd, 0600) == 0) /* whatever the umask is */
		return NULL;
	err = vmop_error_os(errno, "%s", target->path);
	unlinkat(target->dir->fd, target->name, 0);
	return err;
}

/*
 * Set the mode of the target's file whose name ends in suffix. Closing a descriptor of it would
 * drop SQLite's locks (fcntl(2)), unless it is one of O_PATH.
 */
static struct vmop_error *open_to_readers(const struct target *target, const char *suffix,
					  mode_t mode)
{
	_cleanup_free_ char *name = NULL;
	char by_fd[sizeof("/proc/self/fd/") + 16];
	struct stat st;
	if (asprintf(&name, "%s%s", target->name, suffix) < 0) {
		name = NULL;
		return &vmop_error_no_memory;
	}
	_cleanup_close_ int fd = openat(target->dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s%s", target->path, suffix);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return vmop_error_new(VMOP_ERROR_CANT, "%s%s: replaced by another user",
				      target->path, suffix);
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	return chmod(by_fd, mode) == 0 ? NULL : vmop_error_os(errno, "%s%s", target->path, suffix);
}

/*
 * Give the new file its mode. Only its owner could open it until now: a read lock of another user,
 * for which read permission is enough, would have kept SQLite from writing it (vfs.h).
 */
static struct vmop_error *open_all_to_readers(const struct target *target, mode_t mode)
{
	struct vmop_error *err = NULL;
	if (mode == 0600)
		return NULL;
	err = open_to_readers(target, "-shm", mode);
	if (!err)
		err = open_to_readers(target, "-wal", mode);
	return err ? err : open_to_readers(target, "", mode);
}

/*
 * Write the WAL and read it once. This makes the -shm, takes the writer's locks, and sets the first
 * read mark: with none, read locks of another user on all five would keep SQLite from setting one,
 * and so from reading. Setting the version to its own value changes nothing.
 */
static struct vmop_error *use_wal(struct vmop_db *db)
{
	char sql[128];
	snprintf(sql, sizeof(sql),
		 "BEGIN IMMEDIATE; PRAGMA user_version=%d; COMMIT; SELECT 1 FROM sqlite_schema",
		 (int)VMOP_DB_SCHEMA_VERSION);
	return exec(db, sql);
}

struct vmop_error *vmop_db_create_at(const struct vmop_dir *dir, const char *name, const char *path,
				     mode_t mode, struct vmop_db **ret)
{
	const struct target target = {.dir = dir, .name = name, .path = path};
	struct vmop_error *err = make_file(&target);
	if (err)
		return err;
	struct vmop_db *db = NULL;
	if (vmop_vfs_keep_writer_locks() != SQLITE_OK)
		err = vmop_error_new(VMOP_ERROR_CANT, "%s: SQLite's locks cannot be kept", path);
	if (!err)
		err = connect_target(&target, "", SQLITE_OPEN_READWRITE, &db);
	if (!err) {
		db->is_writer = true;
		db->version = VMOP_DB_SCHEMA_VERSION;
		err = lay_down(db);
	}
	if (!err)
		err = use_wal(db);
	if (!err)
		err = open_all_to_readers(&target, mode);
	if (err) {
		vmop_db_close(db);
		unlinkat(dir->fd, name, 0);
		return err;
	}
	*ret = db;
	return NULL;
}

struct vmop_error *vmop_db_create(const char *path, struct vmop_db **ret)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_OF_FILE, &dir);
	return err ? err : vmop_db_create_at(&dir, dir.file, path, 0644, ret);
}

/*
 * Set the journal mode that has no WAL. SQLite does not wait for readers there, so that it is tried
 * again for wait_ms.
 */
static struct vmop_error *remove_wal(struct vmop_db *db, unsigned wait_ms)
{
	const struct timespec pause = {.tv_nsec = WAL_POLL_NS};
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + wait_ms * VMOP_NS_PER_MS;
	for (;;) {
		struct vmop_error *err = set_journal_mode(db, "delete");
		if (!err || err->code != VMOP_ERROR_BUSY ||
		    vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return err;
		vmop_error_destroy(err);
		nanosleep(&pause, NULL);
	}
}

/*
 * Move the WAL's content into the file, and remove the WAL. While a reader uses it this is tried
 * for wait_ms; then the file gets what it can get without a wait, and VMOP_ERROR_BUSY is returned.
 * The order keeps the time short in which no reader can begin: most pages are moved before it.
 */
static struct vmop_error *leave_wal(struct vmop_db *db, unsigned wait_ms)
{
	struct vmop_error *err = exec(db, PRAGMA_WITHOUT_WAL "; PRAGMA wal_checkpoint(PASSIVE)");
	if (!err)
		err = remove_wal(db, wait_ms);
	if (err && err->code == VMOP_ERROR_BUSY) {
		sqlite3_busy_timeout(db->sqlite, 0);
		vmop_error_destroy(exec(db, "PRAGMA wal_checkpoint(TRUNCATE)"));
	}
	return err;
}

/*
 * End the checkpoints and finalize the prepared statements: SQLite can't change the journal mode
 * with them.
 */
static void come_to_rest(struct vmop_db *db)
{
	vmop_checkpoints_end(vmop_steal(&db->checkpoints));
	for (size_t i = 0; i < VMOP_DB_N_STATEMENTS; i++) {
		sqlite3_finalize(db->statements[i]);
		db->statements[i] = NULL;
	}
}

/* Make the file as small as it can be at little cost. It is complete without that. */
static void shrink(struct vmop_db *db)
{
	vmop_error_destroy(vmop_db_merge_stack_nodes(db));
	vmop_error_destroy(exec(db, "PRAGMA incremental_vacuum(" FREE_PAGES_MAX ")"));
}

/*
 * Open a file that was renamed again, by its present name: SQLite deletes the WAL by the name under
 * which it was opened. Nothing is moved or deleted by closing it.
 */
static struct vmop_error *reopen(struct vmop_db *db)
{
	_cleanup_free_ char *uri = NULL;
	struct vmop_error *err = uri_of(db->fd, strrchr(db->path, '/') + 1, "", &uri);
	if (err)
		return err;
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	vmop_db_detach(db);
	err = vmop_db_attach(db, uri, SQLITE_OPEN_READWRITE);
	return err ? err : exec(db, PRAGMAS_OF_WRITER);
}

struct vmop_error *vmop_db_finish(struct vmop_db *db)
{
	return vmop_db_finish_within(db, VMOP_DB_END_WAIT_MS);
}

struct vmop_error *vmop_db_finish_within(struct vmop_db *db, unsigned wait_ms)
{
	struct vmop_error *err = NULL;
	vmop_db_rollback(db);
	if (db->is_renamed) {
		come_to_rest(db);
		err = reopen(db);
	}
	if (!err) {
		shrink(db);
		come_to_rest(db);
		err = leave_wal(db, wait_ms);
	}
	vmop_db_close(db);
	return err;
}

void vmop_db_renamed(struct vmop_db *db, char *path)
{
	free(db->path);
	db->path = path;
	db->is_renamed = true;
}

void vmop_db_checkpoint_beside(struct vmop_db *db)
{
	if (!db->checkpoints)
		db->checkpoints = vmop_checkpoints_begin(db->sqlite);
}

bool vmop_db_is_checkpointing(const struct vmop_db *db)
{
	return db->checkpoints && vmop_checkpoints_is_busy(db->checkpoints);
}

bool vmop_db_hold_checkpoints(struct vmop_db *db)
{
	return !db->checkpoints || vmop_checkpoints_hold(db->checkpoints);
}

void vmop_db_release_checkpoints(struct vmop_db *db)
{
	if (db->checkpoints)
		vmop_checkpoints_release(db->checkpoints);
}

/* A page of the WAL, with its header (sqlite.org/fileformat2.html#the_write_ahead_log). */
#define FRAME_BYTES (4096 + 24)

uint64_t vmop_db_wal_bytes(const struct vmop_db *db)
{
	return db->checkpoints ? (uint64_t)vmop_checkpoints_frames(db->checkpoints) * FRAME_BYTES
			       : 0;
}

struct vmop_error *vmop_db_checkpoint_failure(struct vmop_db *db)
{
	int os_errno = 0;
	int rc = db->checkpoints ? vmop_checkpoints_failure(db->checkpoints, &os_errno) : SQLITE_OK;
	if (rc == SQLITE_OK)
		return NULL;
	if ((rc & 0xff) == SQLITE_IOERR && os_errno)
		return vmop_error_os(os_errno, "%s", db->path);
	return vmop_db_sqlite_error(db, rc);
}

struct vmop_error *vmop_db_abandon(struct vmop_db *db)
{
	vmop_db_rollback(db);
	come_to_rest(db);
	sqlite3_busy_timeout(db->sqlite, VMOP_DB_END_WAIT_MS);
	struct vmop_error *err = exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	vmop_db_close(db);
	return err;
}

/* Check the schema of a file that was opened. *ret_rc is as for vmop_schema_check. */
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
 * Return the URI query to read a file in WAL mode without a -shm, which the reader may not create;
 * NULL for other errors rc.  Such a file is a copy of a live or killed session's file.  No process
 * writes it, for a writer has the -shm open.  Without a WAL it is immutable.  Otherwise SQLite
 * reads it without locks, with the index of the WAL in memory.
 */
static const char *query_without_shm(struct vmop_db *db, int rc)
{
	if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
		return NULL;
	const char *file = sqlite3_db_filename(db->sqlite, "main");
	if (!file || !is_absent(file, "-shm"))
		return NULL;
	return is_absent(file, "-wal") ? "immutable=1" : "vfs=" VMOP_VFS_WITHOUT_LOCKS;
}

/* Open a file without locks: it is immutable, or no process writes it and its WAL. */
static struct vmop_error *open_unlocked(int fd, const char *name, const char *path,
					const char *query, struct vmop_db **ret, int *ret_rc)
{
	struct vmop_error *err = connect_at(fd, name, path, query, SQLITE_OPEN_READONLY, ret);
	if (!err)
		err = exec(*ret, "PRAGMA locking_mode=EXCLUSIVE");
	return err ? err : check_schema(*ret, ret_rc);
}

static struct vmop_error *open_own(const struct target *target, struct vmop_db **ret, int *ret_rc)
{
	struct vmop_error *err = connect_target(target, "", SQLITE_OPEN_READONLY, ret);
	if (!err)
		err = check_schema(*ret, ret_rc);
	const char *query = err ? NULL : query_without_shm(*ret, *ret_rc);
	if (!query)
		return err;
	vmop_db_close(vmop_steal(ret));
	return open_unlocked(target->dir->fd, target->name, target->path, query, ret, ret_rc);
}

/*
 * Copy the WAL beside a file into memory: its owner may still write it, and the reader takes none
 * of the owner's locks. *ret_fd is the copy, or -1 if the WAL has another owner or is too large.
 */
static struct vmop_error *copy_wal(const struct target *target, const struct vmop_file_set *set,
				   int *ret_fd)
{
	_cleanup_free_ char *name = NULL, *data = NULL;
	struct stat file, wal;
	size_t len_bytes;
	if (asprintf(&name, "%s-wal", target->name) < 0)
		return &vmop_error_no_memory;
	_cleanup_close_ int fd = -1;
	struct vmop_error *err =
		vmop_open_regular_at(target->dir->fd, name, O_RDONLY, target->path, &fd);
	bool is_owners = !err && fstat(set->fd, &file) == 0 && fstat(fd, &wal) == 0 &&
			 file.st_uid == wal.st_uid && wal.st_size <= MAX_WAL_COPY_BYTES;
	vmop_error_destroy(err);
	if (!is_owners)
		return NULL;
	err = vmop_io_read_fd(fd, target->path, MAX_WAL_COPY_BYTES, &data, &len_bytes);
	if (err && err->code == VMOP_ERROR_LIMIT) { /* it grew */
		vmop_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	_cleanup_close_ int copy = memfd_create("vmop-wal", MFD_CLOEXEC);
	if (copy < 0 || vmop_io_write_full(copy, data, len_bytes) < 0)
		return vmop_error_os(errno, "%s-wal", target->path);
	*ret_fd = vmop_steal_fd(&copy);
	return NULL;
}

/* Store the line about a part that is not read because another user can change it. */
static struct vmop_error *note_left_out(struct vmop_db *db, const char *suffix, const char *what)
{
	if (asprintf(&db->left_out, "%s%s: not read, because another user can change it: %s",
		     db->path, suffix, what) >= 0)
		return NULL;
	db->left_out = NULL;
	return &vmop_error_no_memory;
}

/*
 * Open a file that another user can change, by its descriptor and without locks, with a copy of its
 * WAL.  SQLite opens, creates, deletes and writes no file beside it.
 */
static struct vmop_error *open_foreign(const struct target *target, const struct vmop_file_set *set,
				       struct vmop_db **ret, int *ret_rc)
{
	_cleanup_close_ int wal = -1;
	char query[32] = "immutable=1";
	struct vmop_error *err = set->has_wal ? copy_wal(target, set, &wal) : NULL;
	if (err)
		return err;
	if (wal >= 0)
		snprintf(query, sizeof(query), "wal=%d", wal);
	err = open_unlocked(set->fd, "", target->path, query, ret, ret_rc);
	if (err)
		return err;
	(*ret)->wal_fd = vmop_steal_fd(&wal);
	if (set->has_wal && (*ret)->wal_fd < 0)
		return note_left_out(*ret, "-wal", "the session's latest part is missing");
	return set->has_journal ? note_left_out(*ret, "-journal",
						"an unfinished transaction is not rolled back")
				: NULL;
}

/* Name those who may read the file. */
static struct vmop_error *unreadable(const struct target *target, const struct vmop_file_set *set,
				     int os_errno)
{
	struct stat st;
	if (os_errno != EACCES || fstat(set->fd, &st) < 0)
		return vmop_error_os(os_errno, "%s", target->path);
	const struct group *group = st.st_mode & S_IRGRP ? getgrgid(st.st_gid) : NULL;
	return vmop_error_os(os_errno, "%s: only its owner%s%s may read it", target->path,
			     group ? " and members of the group " : "",
			     group ? group->gr_name : "");
}

static struct vmop_error *open_target(const struct target *target, struct vmop_db **ret,
				      int *ret_rc)
{
	_cleanup_(vmop_file_set_deinit) struct vmop_file_set set;
	struct vmop_error *err = vmop_file_set_init(&set, target->dir, target->name, target->path);
	if (err)
		return err;
	if (set.fd < 0)
		return vmop_error_os(ENOENT, "%s", target->path);
	if (faccessat(target->dir->fd, target->name, R_OK, AT_EACCESS) < 0)
		return unreadable(target, &set, errno);
	if (!set.is_trusted)
		return open_foreign(target, &set, ret, ret_rc);
	err = vmop_file_set_check(&set, target->path);
	return err ? err : open_own(target, ret, ret_rc);
}

static struct vmop_error *open_once(const struct target *target, struct vmop_db **ret)
{
	struct vmop_db *db = NULL;
	int rc = SQLITE_OK;
	struct vmop_error *err = open_target(target, &db, &rc);
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

/* Return the inode that a target's name leads to, 0 if it leads to none. */
static ino_t inode_of(const struct target *target)
{
	struct stat st;
	return fstatat(target->dir->fd, target->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino
										     : 0;
}

/*
 * SQLite opens the file and its WAL one after the other, by name. If a rotation puts another file
 * in the place in between, they do not belong together, and are opened again.
 */
struct vmop_error *vmop_db_open_at(const struct vmop_dir *dir, const char *name, const char *path,
				   struct vmop_db **ret)
{
	const struct target target = {.dir = dir, .name = name, .path = path};
	for (int i = 1;; i++) {
		struct vmop_db *db = NULL;
		ino_t inode = inode_of(&target);
		struct vmop_error *err = open_once(&target, &db);
		if (i < OPEN_ATTEMPTS && inode_of(&target) != inode) {
			vmop_error_destroy(err);
			vmop_db_close(db);
			continue;
		}
		*ret = db;
		return err;
	}
}

struct vmop_error *vmop_db_open(const char *path, struct vmop_db **ret)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_OF_FILE, &dir);
	return err ? err : vmop_db_open_at(&dir, dir.file, path, ret);
}

const char *vmop_db_left_out(const struct vmop_db *db)
{
	return db->left_out;
}

struct vmop_error *vmop_db_recover_at(const struct vmop_dir *dir, const char *name,
				      const char *path, unsigned wait_ms)
{
	const struct target target = {.dir = dir, .name = name, .path = path};
	_cleanup_(vmop_file_set_deinit) struct vmop_file_set set;
	struct vmop_error *err = vmop_file_set_init(&set, dir, name, path);
	if (!err && set.fd < 0)
		err = vmop_error_os(ENOENT, "%s", path);
	if (!err)
		err = vmop_file_set_check(&set, path);
	if (err)
		return err;
	struct vmop_db *db = NULL;
	int rc = SQLITE_OK;
	err = connect_target(&target, "", SQLITE_OPEN_READWRITE, &db);
	if (!err) {
		sqlite3_busy_timeout(db->sqlite, (int)wait_ms);
		err = check_schema(db, &rc);
	}
	if (!err && rc != SQLITE_OK)
		err = vmop_db_sqlite_error(db, rc);
	if (!err)
		err = leave_wal(db, wait_ms);
	vmop_db_close(db);
	return err;
}

struct vmop_error *vmop_db_recover(const char *path)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_SAFE | VMOP_DIR_OF_FILE, &dir);
	return err ? err : vmop_db_recover_at(&dir, dir.file, path, VMOP_DB_END_WAIT_MS);
}

const struct statx *vmop_db_snapshot_file(const struct vmop_db *db)
{
	return db->has_snapshot_file ? &db->snapshot_file : NULL;
}

struct vmop_error *vmop_db_begin_snapshot(struct vmop_db *db)
{
	/* A file that another user can change is named by its descriptor, which is a link. */
	const char *name = sqlite3_db_filename(db->sqlite, "main");
	db->has_snapshot_file = !db->is_writer && name &&
				statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW,
				      STATX_BASIC_STATS | STATX_BTIME, &db->snapshot_file) == 0 &&
				S_ISREG(db->snapshot_file.stx_mode);
	struct vmop_error *err = exec(db, "BEGIN");
	/* The snapshot begins with the first read. */
	return err ? err : exec(db, "SELECT 1 FROM sqlite_schema");
}

/* Pages of a copy between two calls of its caller's function. */
#define COPY_STEP_PAGES 1024

/* Copy the pages of db into a new file.  One read transaction holds the moment of the copy. */
static struct vmop_error *copy_pages(struct vmop_db *db, struct vmop_db *to,
				     bool (*goes_on)(void *arg, double share), void *arg)
{
	struct vmop_error *err = NULL;
	bool begins = sqlite3_get_autocommit(db->sqlite);
	if (begins)
		err = vmop_db_begin_snapshot(db);
	if (err)
		return err;
	int rc = SQLITE_OK;
	sqlite3_backup *backup = sqlite3_backup_init(to->sqlite, "main", db->sqlite, "main");
	if (!backup)
		err = vmop_db_sqlite_error(to, sqlite3_extended_errcode(to->sqlite));
	while (!err && (rc = sqlite3_backup_step(backup, COPY_STEP_PAGES)) == SQLITE_OK) {
		double all = sqlite3_backup_pagecount(backup);
		if (goes_on && !goes_on(arg, 1 - sqlite3_backup_remaining(backup) / all))
			err = vmop_error_new(VMOP_ERROR_BUSY, "%s: interrupted", to->path);
	}
	if (!err && rc != SQLITE_DONE) /* of the source's pages, or of the copy's disk */
		err = vmop_db_sqlite_error((rc & 0xff) == SQLITE_FULL ? to : db, rc);
	sqlite3_backup_finish(backup);
	if (begins)
		vmop_error_destroy(exec(db, "ROLLBACK"));
	return err;
}

struct vmop_error *vmop_db_copy_at(struct vmop_db *db, const struct vmop_dir *dir, const char *name,
				   const char *path, uint64_t max_bytes,
				   bool (*goes_on)(void *arg, double share), void *arg)
{
	const struct target target = {.dir = dir, .name = name, .path = path};
	struct vmop_db *to = NULL;
	uint64_t size_bytes;
	struct vmop_error *err = vmop_db_measure(db, &size_bytes);
	if (!err && size_bytes > max_bytes)
		err = vmop_error_new(VMOP_ERROR_LIMIT, "%s: larger than the bound", db->path);
	if (!err)
		err = make_file(&target);
	if (err)
		return err;
	err = connect_target(&target, "", SQLITE_OPEN_READWRITE, &to);
	/* Nothing of the file exists yet that a crash could damage. */
	if (!err)
		err = exec(to, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");
	if (!err)
		err = copy_pages(db, to, goes_on, arg);
	/* The copy's header still names the WAL that a session has while it is written. */
	if (!err)
		err = set_journal_mode(to, "delete");
	vmop_db_close(to);
	if (err)
		unlinkat(dir->fd, name, 0);
	return err;
}

void vmop_db_drop_rejected(struct vmop_db *db)
{
	db->drops_rejected = true;
}

void vmop_db_rejected(const struct vmop_db *db, struct vmop_db_rejected *ret)
{
	*ret = db->rejected;
	ret->first = db->first_rejected;
}

struct vmop_error *vmop_db_size_bytes(struct vmop_db *db, uint64_t *ret)
{
	return vmop_db_measure(db, ret);
}
