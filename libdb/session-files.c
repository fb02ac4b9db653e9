// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/session-files.h"

#include <ctype.h>
#include <dirent.h>
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
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"
#include "libutil/parse.h"

#define CURRENT_FILE VMOP_SESSION_CURRENT VMOP_SESSION_SUFFIX
#define NEW_FILE CURRENT_FILE ".new"
#define DISCARDED_FILE CURRENT_FILE ".discarded"
/* Bytes of a guest's name in the name of its session. */
#define GUEST_NAME_BYTES 64
#define STAMP_FORMAT "%Y%m%dT%H%M%S"

/* Suffixes of SQLite's files beside a database; the database comes last. */
static const char *const sibling_suffixes[] = {"-shm", "-wal", "-journal", ""};
#define N_SIBLINGS (sizeof(sibling_suffixes) / sizeof(sibling_suffixes[0]))

/* The characters of sessions' names. */
static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-+@";

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

char *vmop_session_guest_file(const char *guest)
{
	char name[GUEST_NAME_BYTES + 1], *file;
	snprintf(name, sizeof(name), "%s", guest);
	for (char *c = name; *c; c++)
		if (!strchr(name_characters, *c))
			*c = '_';
	return asprintf(&file, "%s%c%s%s", VMOP_SESSION_CURRENT, VMOP_SESSION_GUEST_MARK, name,
			VMOP_SESSION_SUFFIX) < 0
		       ? NULL
		       : file;
}

char *vmop_session_discarded_path(const char *dir)
{
	char *path;
	return asprintf(&path, "%s/" DISCARDED_FILE, dir) < 0 ? NULL : path;
}

struct vmop_error *vmop_session_check_name(const char *name)
{
	size_t len = strlen(name), suffix = strlen(VMOP_SESSION_SUFFIX);
	if (!strcmp(name, VMOP_SESSION_CURRENT))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "session name '%s' is the running session's own", name);
	if (!len || len > 128 || name[strspn(name, name_characters)] || *name == '.' ||
	    *name == '-' || (len >= suffix && !strcmp(name + len - suffix, VMOP_SESSION_SUFFIX)))
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
				     const char *to)
{
	int fd = dir->at.fd;
	if (renameat2(fd, from, fd, to, RENAME_NOREPLACE) == 0)
		return NULL;
	int problem = errno;
	/* Without RENAME_NOREPLACE, checking first is safe: only root writes the directory. */
	if (problem == EINVAL && !exists(dir, to) && renameat(fd, from, fd, to) == 0)
		return NULL;
	return problem == EEXIST ? vmop_error_new(VMOP_ERROR_CANT,
						  "%s/%s: there is already a session of that name",
						  dir->path, to)
				 : vmop_error_os(problem, "%s/%s", dir->path, from);
}

/* ---- the sessions of its guests --------------------------------------------------- */

/* Return the length of the session's name in `file`, NAME.vmop; 0: it is no session. */
static size_t name_len(const char *file)
{
	size_t len = strlen(file), suffix = strlen(VMOP_SESSION_SUFFIX);
	return len > suffix && !strcmp(file + len - suffix, VMOP_SESSION_SUFFIX) ? len - suffix : 0;
}

/*
 * Return the length of the part of `file` with which the names of its guests' sessions begin: NAME
 * of NAME.vmop, or all of the name of the discarded session; 0: it can have no guests.
 */
static size_t stem_len(const char *file)
{
	return strcmp(file, DISCARDED_FILE) == 0 ? strlen(file) : name_len(file);
}

char *vmop_session_guest_file_beside(const char *path, const char *guest_file)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char *beside;
	if (asprintf(&beside, "%.*s%s", (int)stem_len(file), file,
		     guest_file + strlen(VMOP_SESSION_CURRENT)) < 0)
		return NULL;
	return beside;
}

/* Return whether `entry` is, or begins, the session of a guest of the session in `file`. */
static bool is_of_guest(const char *entry, const char *file)
{
	size_t len = stem_len(file);
	return len && !strncmp(entry, file, len) && entry[len] == VMOP_SESSION_GUEST_MARK;
}

/* Rename one session of a guest of the session `from` to that of `to`. */
static void rename_guest(const struct session_dir *dir, const char *entry, const char *from,
			 const char *to)
{
	char *file;
	/* A file that did not arrive completely keeps its name. */
	if (!name_len(entry) || !stem_len(to) ||
	    asprintf(&file, "%.*s%s", (int)stem_len(to), to, entry + stem_len(from)) < 0)
		return;
	renameat(dir->at.fd, entry, dir->at.fd, file);
	free(file);
}

/*
 * Rename the sessions of the guests of the session `from` with it, to that of `to`; NULL: remove
 * them. One that fails is left: without its session, the next start removes it. At a rotation this
 * is part of the step that gives the next session its name: later, a guest's session that was
 * fetched for that one would have the same name.
 */
static void move_guests(const struct session_dir *dir, const char *from, const char *to)
{
	if (!stem_len(from))
		return;
	_cleanup_closedir_ DIR *stream = vmop_io_open_dir(dir->at.fd, ".", 0);
	const struct dirent *entry;
	while (stream && (entry = readdir(stream))) {
		if (!is_of_guest(entry->d_name, from))
			continue;
		if (to)
			rename_guest(dir, entry->d_name, from, to);
		else
			unlinkat(dir->at.fd, entry->d_name, 0);
	}
}

/* ---- renaming and removing --------------------------------------------------------- */

/* Remove the first n of a session's files: only the siblings, or all. With all, its guests' go. */
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
	if (n == N_SIBLINGS)
		move_guests(dir, name, NULL);
	return NULL;
}

/* Give the siblings of `from` a second name, beside `to`. */
static struct vmop_error *link_siblings(const struct session_dir *dir, const char *from,
					const char *to)
{
	for (size_t i = 0; i < N_SIBLINGS - 1; i++) {
		_cleanup_free_ char *old = NULL, *new = NULL;
		if (asprintf(&old, "%s%s", from, sibling_suffixes[i]) < 0)
			return &vmop_error_no_memory;
		if (asprintf(&new, "%s%s", to, sibling_suffixes[i]) < 0)
			return &vmop_error_no_memory;
		if (linkat(dir->at.fd, old, dir->at.fd, new, 0) < 0 && errno != ENOENT)
			return vmop_error_os(errno, "%s/%s", dir->path, new);
	}
	return NULL;
}

/*
 * Rename `from`, its siblings and its guests' sessions to `to`, which must not exist. After an
 * error nothing is renamed.
 *
 * The file has its siblings beside it at every moment, for readers and after a kill: they have both
 * names while the file is renamed.
 */
static struct vmop_error *move_session(const struct session_dir *dir, const char *from,
				       const char *to)
{
	if (exists(dir, to))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s/%s: there is already a session of that name", dir->path,
				      to);
	/* Siblings without a file are of a move that a kill cut short. */
	struct vmop_error *err = remove_files(dir, to, N_SIBLINGS - 1);
	if (!err)
		err = link_siblings(dir, from, to);
	if (!err)
		err = rename_one(dir, from, to);
	vmop_error_destroy(remove_files(dir, err ? to : from, N_SIBLINGS - 1));
	if (!err)
		move_guests(dir, from, to);
	return err;
}

struct vmop_error *vmop_session_move(const char *from, const char *to)
{
	_cleanup_(close_file) struct session_file file;
	struct vmop_error *err = open_file(from, &file);
	return err ? err : move_session(&file.dir, file.name, name_in(to));
}

struct vmop_error *vmop_session_remove(const char *path)
{
	_cleanup_(close_file) struct session_file file;
	struct vmop_error *err = open_file(path, &file);
	return err ? err : remove_files(&file.dir, file.name, N_SIBLINGS);
}

struct vmop_error *vmop_session_sync_dir(const char *path)
{
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (err)
		return err;
	_cleanup_close_ int fd = openat(dir.at.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? vmop_error_os(errno, "%s", path) : NULL;
}

/*
 * Complete the file of a killed daemon.  If a report reads the file, or it is damaged, this fails;
 * then the file is moved with its WAL as it is, and nothing is lost.
 */
static void recover(const struct session_dir *dir, const char *path)
{
	vmop_error_destroy(vmop_db_recover_at(&dir->at, CURRENT_FILE, path, VMOP_DB_END_WAIT_MS));
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

/* Remove `file` if it is a second name that a move cut short by a kill left beside no session. */
static void remove_second_name(const struct session_dir *dir, const char *file)
{
	struct stat st;
	for (size_t i = 0; i < N_SIBLINGS - 1; i++) {
		size_t len = strlen(file), suffix = strlen(sibling_suffixes[i]);
		if (len <= suffix || strcmp(file + len - suffix, sibling_suffixes[i]) != 0)
			continue;
		_cleanup_free_ char *session = strndup(file, len - suffix);
		if (session && name_len(session) && !exists(dir, session) &&
		    fstatat(dir->at.fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink > 1)
			unlinkat(dir->at.fd, file, 0);
	}
}

void vmop_session_remove_second_names(const char *path)
{
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	_cleanup_closedir_ DIR *stream = err ? NULL : vmop_io_open_dir(dir.at.fd, ".", 0);
	const struct dirent *entry;
	while (stream && (entry = readdir(stream)))
		remove_second_name(&dir, entry->d_name);
	vmop_error_destroy(err);
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
	if (!err)
		err = remove_files(&dir, DISCARDED_FILE, N_SIBLINGS);
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

/* Set *ret to a name after the time of start that no session of dir has. The caller frees it. */
static struct vmop_error *find_free_name(const struct session_dir *dir, time_t start, char **ret)
{
	struct tm tm;
	char stamp[32];
	gmtime_r(&start, &tm);
	strftime(stamp, sizeof(stamp), STAMP_FORMAT, &tm);
	for (unsigned i = 1; i < 1000; i++) {
		_cleanup_free_ char *name = NULL, *file = NULL;
		if ((i == 1 ? asprintf(&name, "%s", stamp) : asprintf(&name, "%s-%u", stamp, i)) <
		    0)
			return &vmop_error_no_memory;
		if (asprintf(&file, "%s" VMOP_SESSION_SUFFIX, name) < 0)
			return &vmop_error_no_memory;
		if (exists(dir, file))
			continue;
		*ret = vmop_steal(&name);
		return NULL;
	}
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: a thousand sessions began at %s", dir->path,
			      stamp);
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
	_cleanup_free_ char *name = NULL, *kept = NULL;
	err = find_free_name(&dir, start_of(&dir, current), &name);
	if (!err && asprintf(&kept, "%s" VMOP_SESSION_SUFFIX, name) < 0) {
		kept = NULL;
		err = &vmop_error_no_memory;
	}
	if (!err)
		err = move_session(&dir, CURRENT_FILE, kept);
	if (!err)
		*ret_name = vmop_steal(&name);
	return err;
}

struct vmop_error *vmop_session_free_name(const char *path, uint64_t start_ns, char **ret)
{
	*ret = NULL;
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	return err ? err : find_free_name(&dir, (time_t)(start_ns / VMOP_NS_PER_S), ret);
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

/* ---- the saved ones --------------------------------------------------------------- */

/* Set *ret to "<name>.vmop" if it is a session of dir: a regular file. The caller frees it. */
static struct vmop_error *find_saved(const struct session_dir *dir, const char *name, char **ret)
{
	struct stat st;
	if (asprintf(ret, "%s" VMOP_SESSION_SUFFIX, name) < 0) {
		*ret = NULL;
		return &vmop_error_no_memory;
	}
	if (fstatat(dir->at.fd, *ret, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			       ? vmop_error_new(VMOP_ERROR_NOT_FOUND,
						"%s: there is no session '%s'", dir->path, name)
			       : vmop_error_os(errno, "%s/%s", dir->path, *ret);
	return S_ISREG(st.st_mode) ? NULL
				   : vmop_error_new(VMOP_ERROR_CANT, "%s/%s: not a regular file",
						    dir->path, *ret);
}

struct vmop_error *vmop_session_delete(const char *path, const char *name)
{
	_cleanup_free_ char *file = NULL;
	_cleanup_(close_dir) struct session_dir dir = {.at = VMOP_DIR_NONE};
	struct vmop_error *err = vmop_session_check_name(name);
	if (!err)
		err = open_dir(path, 0, &dir);
	if (!err)
		err = find_saved(&dir, name, &file);
	return err ? err : remove_files(&dir, file, N_SIBLINGS);
}

static uint64_t bytes_of(int dir_fd, const char *name, const char *suffix)
{
	struct stat st;
	_cleanup_free_ char *file = NULL;
	if (asprintf(&file, "%s%s", name, suffix) < 0) {
		file = NULL;
		return 0;
	}
	if (fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return (uint64_t)st.st_blocks * 512;
}

/* Add the session in `file`, if it is one. */
static struct vmop_error *add_session(int dir_fd, const char *file,
				      struct vmop_session_entries *list)
{
	struct stat st;
	if (!name_len(file) || fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return NULL;
	if (!vmop_array_reserve(list->items, list->capacity, list->n + 1))
		return &vmop_error_no_memory;
	struct vmop_session_entry *entry = &list->items[list->n];
	*entry = (struct vmop_session_entry){
		.name = strndup(file, strlen(file) - strlen(VMOP_SESSION_SUFFIX)),
		.written = st.st_mtim,
		.disk_bytes = bytes_of(dir_fd, file, "") + bytes_of(dir_fd, file, "-wal"),
	};
	if (!entry->name)
		return &vmop_error_no_memory;
	list->n++;
	return NULL;
}

static int compare_written(const void *a, const void *b)
{
	const struct vmop_session_entry *x = a, *y = b;
	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	if (x->written.tv_nsec != y->written.tv_nsec)
		return x->written.tv_nsec < y->written.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

void vmop_session_entries_deinit(struct vmop_session_entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].name);
	free(list->items);
	*list = (struct vmop_session_entries){0};
}

static struct vmop_error *list_sessions(const struct session_dir *dir,
					struct vmop_session_entries *ret)
{
	_cleanup_closedir_ DIR *stream = vmop_io_open_dir(dir->at.fd, ".", 0);
	struct vmop_error *err = stream ? NULL : vmop_error_os(errno, "%s", dir->path);
	const struct dirent *entry;
	while (!err && (entry = readdir(stream)))
		err = add_session(dir->at.fd, entry->d_name, ret);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_written);
	return err;
}

struct vmop_error *vmop_session_entries_read(const char *path, struct vmop_session_entries *ret)
{
	*ret = (struct vmop_session_entries){0};
	struct session_dir dir = {.path = path};
	/* Anyone may look; only those who change the directory need it to be safe. */
	struct vmop_error *err = vmop_dir_open(path, 0, &dir.at);
	if (err)
		return vmop_error_prefix(err, "session-dir");
	err = list_sessions(&dir, ret);
	close_dir(&dir);
	if (err)
		vmop_session_entries_deinit(ret);
	return err;
}

bool vmop_session_name_is_time(const char *name)
{
	static const char form[] = "dddddddd"
				   "T"
				   "dddddd";
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	const char *rest = name + sizeof(form) - 1;
	if (!*rest)
		return true;
	size_t digits = *rest == '-' ? strspn(rest + 1, "0123456789") : 0;
	return digits >= 1 && digits <= 3 && !rest[1 + digits];
}

/* Return the room of a session of the list and of those of its guests. */
static uint64_t bytes_with_guests(const struct vmop_session_entries *list, size_t of)
{
	size_t len = strlen(list->items[of].name);
	uint64_t bytes = list->items[of].disk_bytes;
	for (size_t i = 0; i < list->n; i++) {
		const char *name = list->items[i].name;
		if (!strncmp(name, list->items[of].name, len) &&
		    name[len] == VMOP_SESSION_GUEST_MARK)
			bytes += list->items[i].disk_bytes;
	}
	return bytes;
}

struct vmop_error *vmop_session_expire(const char *path, uint64_t before_ns, uint64_t max_bytes,
				       unsigned *ret_n)
{
	*ret_n = 0;
	struct vmop_session_entries list = {0};
	_cleanup_(close_dir) struct session_dir dir;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (!err)
		err = list_sessions(&dir, &list);
	uint64_t all_bytes = 0;
	for (size_t i = 0; i < list.n; i++)
		all_bytes += list.items[i].disk_bytes;
	for (size_t i = 0; i < list.n && !err; i++) {
		const struct vmop_session_entry *entry = &list.items[i];
		_cleanup_free_ char *file = NULL;
		bool is_old = (uint64_t)entry->written.tv_sec < before_ns / VMOP_NS_PER_S;
		if (!vmop_session_name_is_time(entry->name) || (!is_old && all_bytes <= max_bytes))
			continue;
		err = find_saved(&dir, entry->name, &file);
		if (!err)
			err = remove_files(&dir, file, N_SIBLINGS);
		all_bytes -= bytes_with_guests(&list, i);
		*ret_n += !err;
	}
	vmop_session_entries_deinit(&list);
	return err;
}

static bool has_wal(const struct session_dir *dir, const char *file)
{
	_cleanup_free_ char *wal = NULL;
	if (asprintf(&wal, "%s-wal", file) < 0) {
		wal = NULL;
		return false;
	}
	return exists(dir, wal);
}

/* Complete one session, without a wait for its readers. Return false if that can be tried again. */
static bool complete(const struct session_dir *dir, const char *name)
{
	_cleanup_free_ char *path = vmop_session_path(dir->path, name);
	if (!path)
		return false;
	if (!strcmp(name, VMOP_SESSION_CURRENT) || !has_wal(dir, name_in(path)))
		return true;
	struct vmop_error *err = vmop_db_recover_at(&dir->at, name_in(path), path, 0);
	bool may_again = err && err->code == VMOP_ERROR_BUSY;
	vmop_error_destroy(err);
	return !may_again;
}

struct vmop_error *vmop_session_complete_all(const char *path, bool *ret_is_left)
{
	struct vmop_session_entries list = {0};
	_cleanup_(close_dir) struct session_dir dir;
	*ret_is_left = false;
	struct vmop_error *err = open_dir(path, 0, &dir);
	if (!err)
		err = list_sessions(&dir, &list);
	for (size_t i = 0; i < list.n && !err; i++)
		*ret_is_left |= !complete(&dir, list.items[i].name);
	vmop_session_entries_deinit(&list);
	return err;
}
