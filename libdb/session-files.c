// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/session-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/parse.h"
#include "libutil/dirs/safe-dir.h"

#define CURRENT_FILE VMOP_SESSION_CURRENT VMOP_SESSION_SUFFIX
#define NEW_FILE CURRENT_FILE ".new"

/* Suffixes of SQLite's files beside a database; the database comes last. */
static const char *const sibling_suffixes[] = {"-shm", "-wal", "-journal", ""};
#define N_SIBLINGS (sizeof(sibling_suffixes) / sizeof(sibling_suffixes[0]))

char *vmop_session_path(const char *dir, const char *name)
{
	char *path;
	return asprintf(&path, "%s/%s%s", dir, name, VMOP_SESSION_SUFFIX) < 0 ? NULL : path;
}

char *vmop_session_new_path(const char *dir)
{
	char *path;
	return asprintf(&path, "%s/" NEW_FILE, dir) < 0 ? NULL : path;
}

struct vmop_error *vmop_session_check_name(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-+@";
	size_t len = strlen(name), suffix = strlen(VMOP_SESSION_SUFFIX);
	if (!strcmp(name, VMOP_SESSION_CURRENT))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "session name '%s' is the running session's own", name);
	if (!len || len > 128 || name[strspn(name, good)] || *name == '.' || *name == '-' ||
	    (len >= suffix && !strcmp(name + len - suffix, VMOP_SESSION_SUFFIX)))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"session name '%.160s': letters, digits and ._-+@ are allowed, "
			"no '.' or '-' first, no %s behind, 128 characters at most",
			name, VMOP_SESSION_SUFFIX);
	return NULL;
}

/* A session directory that no other user can change. */
struct session_dir {
	struct vmop_dir at;
	const char *path;
};

static struct vmop_error *open_dir(const char *path, unsigned flags, struct session_dir *ret)
{
	ret->path = path;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_SAFE | flags, &ret->at);
	return err ? vmop_error_prefix(err, "session-dir") : NULL;
}

static void close_dir(struct session_dir *dir)
{
	vmop_dir_deinit(&dir->at);
}

/* A file of a session directory. */
struct session_file {
	struct session_dir dir;
	char *dir_path;
	const char *name;
};

static void close_file(struct session_file *file)
{
	close_dir(&file->dir);
	free(file->dir_path);
}

/* Open the directory of path, of vmop_session_path(). The caller closes *ret after errors, too. */
static struct vmop_error *open_file(const char *path, struct session_file *ret)
{
	*ret = (struct session_file){.dir.at = VMOP_DIR_NONE, .dir_path = strdup(path)};
	if (!ret->dir_path)
		return &vmop_error_no_memory;
	char *slash = strrchr(ret->dir_path, '/');
	*slash = '\0';
	ret->name = slash + 1;
	return open_dir(*ret->dir_path ? ret->dir_path : "/", 0, &ret->dir);
}

/* Return the last component of path. */
static const char *name_in(const char *path)
{
	return strrchr(path, '/') + 1;
}

static bool exists(const struct session_dir *dir, const char *name)
{
	struct stat st;
	return fstatat(dir->at.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct vmop_error *rename_one(const struct session_dir *dir, const char *from,
				     const char *to, const char *suffix)
{
	_cleanup_free_ char *old = NULL, *new = NULL;
	int fd = dir->at.fd;
	if (asprintf(&old, "%s%s", from, suffix) < 0)
		return &vmop_error_no_memory;
	if (asprintf(&new, "%s%s", to, suffix) < 0)
		return &vmop_error_no_memory;
	if (renameat2(fd, old, fd, new, RENAME_NOREPLACE) == 0)
		return NULL;
	int problem = errno;
	/* Without RENAME_NOREPLACE, checking first is safe: only root writes the directory. */
	if (problem == EINVAL && !exists(dir, new) && renameat(fd, old, fd, new) == 0)
		return NULL;
	if (problem == ENOENT && *suffix)
		return NULL;
	return problem == EEXIST ? vmop_error_new(VMOP_ERROR_CANT,
						  "%s/%s: there is already a session of that name",
						  dir->path, to)
				 : vmop_error_os(problem, "%s/%s", dir->path, old);
}

/* Rename `from` and its siblings to `to`, which must not exist. After an error nothing is renamed.
 */
static struct vmop_error *move_session(const struct session_dir *dir, const char *from,
				       const char *to)
{
	if (exists(dir, to))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s/%s: there is already a session of that name", dir->path,
				      to);
	struct vmop_error *err = NULL;
	size_t n = 0;
	while (n < N_SIBLINGS && !err) {
		err = rename_one(dir, from, to, sibling_suffixes[n]);
		n += !err;
	}
	/* Rename the siblings back: a WAL must stay beside its file. */
	while (err && n)
		vmop_error_destroy(rename_one(dir, to, from, sibling_suffixes[--n]));
	return err;
}

struct vmop_error *vmop_session_move(const char *from, const char *to)
{
	_cleanup_(close_file) struct session_file file;
	struct vmop_error *err = open_file(from, &file);
	return err ? err : move_session(&file.dir, file.name, name_in(to));
}

/* Remove the first n of a session's files: only the siblings, or all. */
static struct vmop_error *remove_files(const struct session_dir *dir, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *file = NULL;
		if (asprintf(&file, "%s%s", name, sibling_suffixes[i]) < 0) {
			file = NULL;
			return &vmop_error_no_memory;
		}
		if (unlinkat(dir->at.fd, file, 0) < 0 && errno != ENOENT)
			return vmop_error_os(errno, "%s/%s", dir->path, file);
	}
	return NULL;
}

struct vmop_error *vmop_session_remove(const char *path)
{
	_cleanup_(close_file) struct session_file file;
	struct vmop_error *err = open_file(path, &file);
	return err ? err : remove_files(&file.dir, file.name, N_SIBLINGS);
}

struct vmop_error *vmop_session_replace(const char *from, const char *to)
{
	_cleanup_(close_file) struct session_file file;
	struct vmop_error *err = open_file(from, &file);
	if (!err)
		err = remove_files(&file.dir, name_in(to), N_SIBLINGS - 1);
	if (!err && renameat(file.dir.at.fd, file.name, file.dir.at.fd, name_in(to)) < 0)
		err = vmop_error_os(errno, "%s", from);
	return err;
}

/*
 * Complete the file of a killed daemon.  If a report reads the file, or it is damaged, this fails;
 * then the file is moved with its WAL as it is, and nothing is lost.
 */
static void recover(const struct session_dir *dir, const char *path)
{
	vmop_error_destroy(vmop_db_recover_at(&dir->at, CURRENT_FILE, path));
}

static struct vmop_error *no_session(const char *path)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: there is no current session", path);
}

struct vmop_error *vmop_session_make_dir(const char *path)
{
	_cleanup_(close_dir) struct session_dir dir;
	return open_dir(path, VMOP_DIR_MAKE, &dir);
}

struct vmop_error *vmop_session_create(const char *path, mode_t mode, struct vmop_db **ret)
{
	_cleanup_free_ char *new = vmop_session_new_path(path);
	if (!new)
		return &vmop_error_no_memory;
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (!err)
		err = remove_files(&dir, NEW_FILE, N_SIBLINGS);
	return err ? err : vmop_db_create_at(&dir.at, NEW_FILE, new, mode, ret);
}

struct vmop_error *vmop_session_save(const char *path, const char *name)
{
	struct vmop_error *err = vmop_session_check_name(name);
	if (err)
		return err;
	_cleanup_free_ char *current = vmop_session_path(path, VMOP_SESSION_CURRENT);
	_cleanup_free_ char *saved = NULL;
	if (!current || asprintf(&saved, "%s" VMOP_SESSION_SUFFIX, name) < 0)
		return &vmop_error_no_memory;
	_cleanup_(close_dir) struct session_dir dir;
	err = open_dir(path, 0, &dir);
	if (err)
		return err;
	if (!exists(&dir, CURRENT_FILE))
		return no_session(current);
	recover(&dir, current);
	return move_session(&dir, CURRENT_FILE, saved);
}

/* Return the session's start: its fact start_ns, otherwise the file's time. */
static time_t start_of(const struct session_dir *dir, const char *path)
{
	struct vmop_db *db = NULL;
	_cleanup_free_ char *text = NULL;
	uint64_t ns;
	struct vmop_error *err = vmop_db_open_at(&dir->at, CURRENT_FILE, path, &db);
	if (!err)
		err = vmop_db_get_info(db, "start_ns", &text);
	vmop_db_close(db);
	bool is_known = !err && text && vmop_parse_u64(text, 10, &ns);
	vmop_error_destroy(err);
	if (is_known)
		return (time_t)(ns / VMOP_NS_PER_S);
	struct stat st;
	return fstatat(dir->at.fd, CURRENT_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mtime
										: time(NULL);
}

/* Return whether the current session is an empty regular file with an empty WAL or none. */
static bool is_empty(const struct session_dir *dir)
{
	struct stat st, wal_st;
	return fstatat(dir->at.fd, CURRENT_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size == 0 &&
	       (fstatat(dir->at.fd, CURRENT_FILE "-wal", &wal_st, AT_SYMLINK_NOFOLLOW) < 0 ||
		wal_st.st_size == 0);
}

struct vmop_error *vmop_session_keep(const char *path, char **ret_name)
{
	*ret_name = NULL;
	_cleanup_free_ char *current = vmop_session_path(path, VMOP_SESSION_CURRENT);
	if (!current)
		return &vmop_error_no_memory;
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (err || !exists(&dir, CURRENT_FILE))
		return err;
	if (is_empty(&dir))
		return remove_files(&dir, CURRENT_FILE, N_SIBLINGS);
	recover(&dir, current);
	time_t start = start_of(&dir, current);
	struct tm tm;
	char stamp[32];
	gmtime_r(&start, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	for (unsigned i = 1; i < 1000; i++) {
		_cleanup_free_ char *name = NULL;
		if ((i == 1 ? asprintf(&name, "%s", stamp) : asprintf(&name, "%s-%u", stamp, i)) <
		    0)
			return &vmop_error_no_memory;
		_cleanup_free_ char *kept = NULL;
		if (asprintf(&kept, "%s" VMOP_SESSION_SUFFIX, name) < 0)
			return &vmop_error_no_memory;
		if (exists(&dir, kept))
			continue;
		err = move_session(&dir, CURRENT_FILE, kept);
		if (!err)
			*ret_name = vmop_steal(&name);
		return err;
	}
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: a thousand sessions began at %s", path, stamp);
}

struct vmop_error *vmop_session_discard(const char *path)
{
	_cleanup_free_ char *current = vmop_session_path(path, VMOP_SESSION_CURRENT);
	if (!current)
		return &vmop_error_no_memory;
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (err)
		return err;
	if (!exists(&dir, CURRENT_FILE))
		return no_session(current);
	return remove_files(&dir, CURRENT_FILE, N_SIBLINGS);
}
