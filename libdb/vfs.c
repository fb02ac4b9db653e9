// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/io.h"

#define BY_DESCRIPTOR "/proc/self/fd/"

/* A restricted VFS, and the VFS of SQLite that it calls. */
struct narrowed {
	sqlite3_vfs vfs;
	sqlite3_vfs *base;
};

static sqlite3_vfs *base_of(sqlite3_vfs *vfs)
{
	return ((struct narrowed *)vfs)->base;
}

/* Return the part of name after "/proc/self/fd/N", or NULL if name has another prefix. */
static const char *behind_descriptor(const char *name)
{
	if (!name || strncmp(name, BY_DESCRIPTOR, strlen(BY_DESCRIPTOR)) != 0)
		return NULL;
	const char *number = name + strlen(BY_DESCRIPTOR);
	size_t digits = strspn(number, "0123456789");
	return digits ? number + digits : NULL;
}

/* Return whether name is "/proc/self/fd/N/NAME": a file in a directory. */
static bool is_in_dir(const char *name)
{
	const char *rest = behind_descriptor(name);
	return rest && *rest == '/' && rest[1] && !strchr(rest + 1, '/');
}

/* Return whether name is "/proc/self/fd/N" and suffix, which SQLite appends for files beside it. */
static bool is_file(const char *name, const char *suffix)
{
	const char *rest = behind_descriptor(name);
	return rest && !strcmp(rest, suffix);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);
	return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

/* ---- a file that other users can change: read by descriptor ------------------------- */

struct read_file {
	sqlite3_file file;
	int fd;
	int os_errno; /* of the last call that failed */
};

static int read_close(sqlite3_file *file)
{
	close(((struct read_file *)file)->fd);
	return SQLITE_OK;
}

static int read_at(sqlite3_file *file, void *buf, int len_bytes, sqlite3_int64 offset)
{
	struct read_file *self = (struct read_file *)file;
	ssize_t n = vmop_io_pread_full(self->fd, buf, (size_t)len_bytes, (uint64_t)offset);
	if (n < 0) {
		self->os_errno = errno;
		return SQLITE_IOERR_READ;
	}
	memset((char *)buf + n, 0, (size_t)(len_bytes - n));
	return n == len_bytes ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int read_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct read_file *self = (struct read_file *)file;
	struct stat st;
	if (fstat(self->fd, &st) < 0) {
		self->os_errno = errno;
		return SQLITE_IOERR_FSTAT;
	}
	*ret = st.st_size;
	return SQLITE_OK;
}

static int read_control(sqlite3_file *file, int op, void *arg)
{
	if (op != SQLITE_FCNTL_LAST_ERRNO)
		return SQLITE_NOTFOUND;
	*(int *)arg = ((struct read_file *)file)->os_errno;
	return SQLITE_OK;
}

static int read_write(sqlite3_file *file, const void *data, int len_bytes, sqlite3_int64 offset)
{
	(void)file, (void)data, (void)len_bytes, (void)offset;
	return SQLITE_READONLY;
}

static int read_truncate(sqlite3_file *file, sqlite3_int64 size_bytes)
{
	(void)file, (void)size_bytes;
	return SQLITE_READONLY;
}

/* Syncing, locking and unlocking do nothing. */
static int read_no_op(sqlite3_file *file, int how)
{
	(void)file, (void)how;
	return SQLITE_OK;
}

static int read_is_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int read_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int read_characteristics(sqlite3_file *file)
{
	(void)file;
	return 0;
}

/* Version 1 has no shared memory, so SQLite keeps the index of a WAL on the heap. */
static const sqlite3_io_methods read_methods = {
	.iVersion = 1,
	.xClose = read_close,
	.xRead = read_at,
	.xWrite = read_write,
	.xTruncate = read_truncate,
	.xSync = read_no_op,
	.xFileSize = read_size,
	.xLock = read_no_op,
	.xUnlock = read_no_op,
	.xCheckReservedLock = read_is_reserved,
	.xFileControl = read_control,
	.xSectorSize = read_sector,
	.xDeviceCharacteristics = read_characteristics,
};

/* Open the file of fd again. It is a regular file (file-set.h), so opening does not block. */
static int open_to_read(int fd, sqlite3_file *file, int flags, int *ret_flags)
{
	struct read_file *self = (struct read_file *)file;
	char name[sizeof(BY_DESCRIPTOR) + 16];
	snprintf(name, sizeof(name), BY_DESCRIPTOR "%d", fd);
	self->fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (self->fd < 0)
		return SQLITE_CANTOPEN;
	self->os_errno = 0;
	self->file.pMethods = &read_methods;
	if (ret_flags)
		*ret_flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) |
			     SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

/* Return the descriptor of the WAL that the URI names, or -1. */
static int wal_copy_of(const char *name)
{
	return (int)sqlite3_uri_int64(name, "wal", -1);
}

/* ---- the VFS --------------------------------------------------------------------- */

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	const int ours = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
	file->pMethods = NULL;
	/* A temporary file has no name: SQLite opens and unlinks it in one step. */
	if (is_file(name, "") && (flags & SQLITE_OPEN_MAIN_DB))
		return open_to_read(atoi(name + strlen(BY_DESCRIPTOR)), file, flags, ret_flags);
	if (is_file(name, "-wal") && (flags & SQLITE_OPEN_WAL))
		return open_to_read(wal_copy_of(name), file, flags, ret_flags);
	if (name && (!(flags & ours) || !is_in_dir(name)))
		return SQLITE_CANTOPEN;
	return base_of(vfs)->xOpen(base_of(vfs), name, file, flags, ret_flags);
}

/* Delete only a database's journal or WAL. */
static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
	if (!is_in_dir(name) || (!has_suffix(name, "-journal") && !has_suffix(name, "-wal")))
		return SQLITE_IOERR_DELETE;
	return base_of(vfs)->xDelete(base_of(vfs), name, sync_dir);
}

/* SQLite also calls this for the super-journal that a journal names. */
static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	*ret = is_file(name, "-wal") && wal_copy_of(name) >= 0;
	if (is_file(name, "-wal") || is_file(name, "-journal"))
		return SQLITE_OK;
	if (!is_in_dir(name))
		return SQLITE_IOERR_ACCESS;
	return base_of(vfs)->xAccess(base_of(vfs), name, flags, ret);
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size_bytes, char *ret)
{
	(void)vfs;
	if ((!is_in_dir(name) && !is_file(name, "")) || strlen(name) >= (size_t)size_bytes)
		return SQLITE_CANTOPEN;
	memcpy(ret, name, strlen(name) + 1);
	return SQLITE_OK;
}

static struct narrowed with_locks, without_locks;

static int narrow(struct narrowed *narrowed, const char *base, const char *name)
{
	narrowed->base = sqlite3_vfs_find(base);
	if (!narrowed->base)
		return SQLITE_ERROR;
	/* The other methods use files that the base opened, and ignore the VFS. */
	narrowed->vfs = *narrowed->base;
	narrowed->vfs.zName = name;
	narrowed->vfs.pNext = NULL;
	if (narrowed->vfs.szOsFile < (int)sizeof(struct read_file))
		narrowed->vfs.szOsFile = (int)sizeof(struct read_file);
	narrowed->vfs.xOpen = open_file;
	narrowed->vfs.xDelete = delete_file;
	narrowed->vfs.xAccess = access_file;
	narrowed->vfs.xFullPathname = full_name;
	return sqlite3_vfs_register(&narrowed->vfs, 0);
}

static int register_rc;

static void register_both(void)
{
	register_rc = narrow(&with_locks, "unix", VMOP_VFS);
	if (register_rc == SQLITE_OK)
		register_rc = narrow(&without_locks, "unix-none", VMOP_VFS_WITHOUT_LOCKS);
}

int vmop_vfs_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, register_both);
	return register_rc;
}

/* ---- the locks of the writer ------------------------------------------------------- */

/*
 * Bytes of the -shm file whose locks are for writers: of a write transaction, and of a checkpoint
 * (sqlite.org/walformat.html, "WAL Locks"). The next ones are for readers, too.
 */
enum { FIRST_WRITER_BYTE = 120, LAST_WRITER_BYTE = 121 };

/* Unlock a range, except those bytes. */
static int unlock_rest(int fd, int op, const struct flock *range)
{
	struct flock rest = *range;
	off_t end = range->l_start + range->l_len;
	if (end <= LAST_WRITER_BYTE + 1)
		return 0;
	rest.l_start = LAST_WRITER_BYTE + 1;
	rest.l_len = end - rest.l_start;
	return fcntl(fd, op, &rest);
}

/*
 * fcntl(2) for SQLite, which keeps a lock for writing on a writer's byte once it has it. The locks
 * of SQLite's database files lie far behind (sqlite.org/fileformat2.html, "The Lock-Byte Page").
 * Between its threads SQLite excludes writers without it.
 */
static int keep_writer_locks(int fd, int op, ...)
{
	va_list args;
	va_start(args, op);
	void *arg = va_arg(args, void *);
	va_end(args);
	const struct flock *lock = arg;
	if ((op == F_SETLK || op == F_SETLKW) && lock->l_type == F_UNLCK &&
	    lock->l_whence == SEEK_SET && lock->l_len > 0 && lock->l_start >= FIRST_WRITER_BYTE &&
	    lock->l_start <= LAST_WRITER_BYTE)
		return unlock_rest(fd, op, lock);
	return fcntl(fd, op, arg);
}

static int keep_rc;

static void keep(void)
{
	sqlite3_vfs *unix_vfs = sqlite3_vfs_find("unix");
	keep_rc = unix_vfs ? unix_vfs->xSetSystemCall(unix_vfs, "fcntl",
						      (sqlite3_syscall_ptr)keep_writer_locks)
			   : SQLITE_ERROR;
}

int vmop_vfs_keep_writer_locks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, keep);
	return keep_rc;
}
