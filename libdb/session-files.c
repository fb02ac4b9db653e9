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
#include "libutil/parse.h"

/* What SQLite keeps beside a database; the file itself comes last. */
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
	return asprintf(&path, "%s/" VMOP_SESSION_CURRENT VMOP_SESSION_SUFFIX ".new", dir) < 0
		       ? NULL
		       : path;
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
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "session name '%.160s': letters, digits and ._-+@ are allowed, "
				      "no '.' or '-' first, no %s behind, 128 characters at most",
				      name, VMOP_SESSION_SUFFIX);
	return NULL;
}

static struct vmop_error *rename_one(const char *from, const char *to, const char *suffix)
{
	_cleanup_free_ char *old = NULL, *new = NULL;
	if (asprintf(&old, "%s%s", from, suffix) < 0)
		return &vmop_error_no_memory;
	if (asprintf(&new, "%s%s", to, suffix) < 0)
		return &vmop_error_no_memory;
	if (renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_NOREPLACE) == 0)
		return NULL;
	int problem = errno;
	/* File systems without RENAME_NOREPLACE: only the daemon and root name files here. */
	if (problem == EINVAL && access(new, F_OK) < 0 && rename(old, new) == 0)
		return NULL;
	if (problem == ENOENT && *suffix)
		return NULL;
	return problem == EEXIST ? vmop_error_new(VMOP_ERROR_CANT,
						  "%s: there is already a session of that name", to) :
				   vmop_error_os(problem, "%s", old);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

struct vmop_error *vmop_session_move(const char *from, const char *to)
{
	if (exists(to))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: there is already a session of that name", to);
	struct vmop_error *err = NULL;
	size_t n = 0;
	while (n < N_SIBLINGS && !err) {
		err = rename_one(from, to, sibling_suffixes[n]);
		n += !err;
	}
	/* A WAL belongs to its file. */
	while (err && n)
		vmop_error_destroy(rename_one(to, from, sibling_suffixes[--n]));
	return err;
}

static struct vmop_error *remove_one(const char *path, const char *suffix)
{
	_cleanup_free_ char *beside = NULL;
	if (asprintf(&beside, "%s%s", path, suffix) < 0) {
		beside = NULL;
		return &vmop_error_no_memory;
	}
	return unlink(beside) < 0 && errno != ENOENT ? vmop_error_os(errno, "%s", beside) : NULL;
}

/* n: those beside it alone, or all. */
static struct vmop_error *remove_siblings(const char *path, size_t n)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++)
		err = remove_one(path, sibling_suffixes[i]);
	return err;
}

struct vmop_error *vmop_session_remove(const char *path)
{
	return remove_siblings(path, N_SIBLINGS);
}

struct vmop_error *vmop_session_replace(const char *from, const char *to)
{
	struct vmop_error *err = remove_siblings(to, N_SIBLINGS - 1);
	if (!err && rename(from, to) < 0)
		err = vmop_error_os(errno, "%s", from);
	return err;
}

/*
 * Completes what a killed daemon left.  Where that fails, because a report reads the file or
 * because it is broken, it is moved with its WAL as it is: nothing of it is lost.
 */
static void recover(const char *path)
{
	vmop_error_destroy(vmop_db_recover(path));
}

static struct vmop_error *no_session(const char *path)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: there is no current session", path);
}

struct vmop_error *vmop_session_save(const char *dir, const char *name)
{
	struct vmop_error *err = vmop_session_check_name(name);
	if (err)
		return err;
	_cleanup_free_ char *current = vmop_session_path(dir, VMOP_SESSION_CURRENT);
	_cleanup_free_ char *saved = vmop_session_path(dir, name);
	if (!current || !saved)
		return &vmop_error_no_memory;
	if (!exists(current))
		return no_session(current);
	recover(current);
	return vmop_session_move(current, saved);
}

/* When the session at path began: by its own word, else by the file's. */
static time_t start_of(const char *path)
{
	struct vmop_db *db = NULL;
	_cleanup_free_ char *text = NULL;
	uint64_t ns;
	struct vmop_error *err = vmop_db_open(path, &db);
	if (!err)
		err = vmop_db_get_info(db, "start_ns", &text);
	vmop_db_close(db);
	bool is_known = !err && text && vmop_parse_u64(text, 10, &ns);
	vmop_error_destroy(err);
	if (is_known)
		return (time_t)(ns / 1000000000);
	struct stat st;
	return lstat(path, &st) == 0 ? st.st_mtime : time(NULL);
}

/* A regular file without a byte, and without a WAL that has some. */
static bool is_empty(const char *path)
{
	_cleanup_free_ char *wal = NULL;
	struct stat st, wal_st;
	if (asprintf(&wal, "%s-wal", path) < 0) {
		wal = NULL;
		return false;
	}
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
	       (lstat(wal, &wal_st) < 0 || wal_st.st_size == 0);
}

struct vmop_error *vmop_session_keep(const char *dir, char **ret_name)
{
	*ret_name = NULL;
	_cleanup_free_ char *current = vmop_session_path(dir, VMOP_SESSION_CURRENT);
	if (!current)
		return &vmop_error_no_memory;
	if (!exists(current))
		return NULL;
	if (is_empty(current))
		return vmop_session_remove(current);
	recover(current);
	time_t start = start_of(current);
	struct tm tm;
	char stamp[32];
	gmtime_r(&start, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	for (unsigned i = 1; i < 1000; i++) {
		_cleanup_free_ char *name = NULL;
		if ((i == 1 ? asprintf(&name, "%s", stamp) : asprintf(&name, "%s-%u", stamp, i)) < 0)
			return &vmop_error_no_memory;
		_cleanup_free_ char *kept = vmop_session_path(dir, name);
		if (!kept)
			return &vmop_error_no_memory;
		if (exists(kept))
			continue;
		struct vmop_error *err = vmop_session_move(current, kept);
		if (!err)
			*ret_name = vmop_steal(&name);
		return err;
	}
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: a thousand sessions began at %s", dir, stamp);
}

struct vmop_error *vmop_session_discard(const char *dir)
{
	_cleanup_free_ char *current = vmop_session_path(dir, VMOP_SESSION_CURRENT);
	if (!current)
		return &vmop_error_no_memory;
	if (!exists(current))
		return no_session(current);
	return vmop_session_remove(current);
}
