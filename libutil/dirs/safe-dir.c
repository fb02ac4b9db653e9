// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/dirs/safe-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "libutil/cleanup.h"

#define MAX_LINKS 40 /* as many as the kernel follows */

struct walk {
	const char *path; /* as given, for messages */
	unsigned flags;
	int fd;		/* the directory reached by now */
	struct stat st; /* its owner and mode */
	char *rest;	/* components still to be resolved; heap */
	unsigned n_links;
	bool is_safe, by_foreign_link;
};

bool vmop_uid_is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static bool group_is_trusted(gid_t gid)
{
	return gid == 0 || (geteuid() != 0 && gid == getegid());
}

bool vmop_others_may_write(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) ||
	       ((st->st_mode & S_IWGRP) && !group_is_trusted(st->st_gid));
}

/* Describe the directory reached in *ret, for messages. */
static void name_of_dir(int fd, char *ret, size_t ret_bytes)
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, ret, ret_bytes - 1);
	if (len < 0)
		len = snprintf(ret, ret_bytes, "a directory of its path");
	ret[len] = '\0';
}

static struct vmop_error *unsafe(struct walk *walk, const char *what, uid_t owner)
{
	char dir[PATH_MAX];
	const char *user = geteuid() == 0 ? "root" : "this user";
	walk->is_safe = false;
	if (!(walk->flags & VMOP_DIR_SAFE))
		return NULL;
	name_of_dir(walk->fd, dir, sizeof(dir));
	if (!what)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"%s: other users may write %s; run 'chmod go-w' on it, or name "
			"a directory that only %s can change",
			walk->path, dir, user);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "%s: %s%s%s belongs to another user (uid %u); name a directory that "
			      "only %s can change",
			      walk->path, dir, *what ? "/" : "", what, (unsigned)owner, user);
}

/* Check the directory reached. entry is its next component, or NULL at the end of the path. */
static struct vmop_error *check_dir(struct walk *walk, const char *entry,
				    const struct stat *entry_st)
{
	if (!vmop_uid_is_trusted(walk->st.st_uid))
		return unsafe(walk, "", walk->st.st_uid);
	if (!vmop_others_may_write(&walk->st))
		return NULL;
	if (!entry || !(walk->st.st_mode & S_ISVTX))
		return unsafe(walk, NULL, 0);
	if (!vmop_uid_is_trusted(entry_st->st_uid))
		return unsafe(walk, entry, entry_st->st_uid);
	return NULL;
}

/* Take over fd as the directory reached. */
static struct vmop_error *enter(struct walk *walk, int fd)
{
	if (fd < 0 || fstat(fd, &walk->st) < 0) {
		struct vmop_error *err = vmop_error_os(errno, "%s", walk->path);
		vmop_cleanup_close(&fd);
		return err;
	}
	vmop_cleanup_close(&walk->fd);
	walk->fd = fd;
	return NULL;
}

static bool is_in_proc(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Put the target of the symbolic link behind fd before the rest of the path. */
static struct vmop_error *follow(struct walk *walk, int fd, const char *name)
{
	char target[PATH_MAX];
	if (++walk->n_links > MAX_LINKS)
		return vmop_error_os(ELOOP, "%s", walk->path);
	walk->by_foreign_link |= !walk->is_safe;
	/* The text of /proc/PID/root and similar links is not their target. */
	if (is_in_proc(fd)) {
		walk->is_safe = false;
		return enter(walk, openat(walk->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	}
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);
	if (len <= 0 || (size_t)len == sizeof(target) - 1)
		return vmop_error_os(len < 0 ? errno : ENAMETOOLONG, "%s", walk->path);
	target[len] = '\0';
	char *rest;
	if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
		return &vmop_error_no_memory;
	/* A trailing slash without a component after it would require a directory. */
	if (!*walk->rest)
		rest[strlen(rest) - 1] = '\0';
	free(walk->rest);
	walk->rest = rest;
	return *target == '/' ? enter(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : NULL;
}

/* Cut the first component off walk->rest. *ret is the component, or NULL at the end of the path. */
static struct vmop_error *next_component(struct walk *walk, char **ret, bool *ret_is_last)
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(from, "/");
	*ret = NULL;
	if (!len)
		return NULL;
	*ret = strndup(from, len);
	*ret_is_last = !from[len + strspn(from + len, "/")];
	if (*ret_is_last && from[len] && (walk->flags & VMOP_DIR_OF_FILE))
		return vmop_error_os(EISDIR, "%s", walk->path);
	char *rest = strdup(from + len);
	free(walk->rest);
	walk->rest = rest;
	return *ret && rest ? NULL : &vmop_error_no_memory;
}

/* Resolve one component. *ret_file: the component is the file that the path names. */
static struct vmop_error *step(struct walk *walk, const char *name, bool is_last, bool *ret_file)
{
	bool wants_file = is_last && (walk->flags & VMOP_DIR_OF_FILE);
	struct stat st;
	*ret_file = false;
	if (!strcmp(name, "."))
		return wants_file ? vmop_error_os(EISDIR, "%s", walk->path) : NULL;
	if (is_last && (walk->flags & VMOP_DIR_MAKE)) {
		struct vmop_error *err = check_dir(walk, name, &(struct stat){.st_uid = geteuid()});
		if (err)
			return err;
		if (mkdirat(walk->fd, name, 0755) < 0 && errno != EEXIST)
			return vmop_error_os(errno, "%s", walk->path);
	}
	_cleanup_close_ int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && wants_file) {
		*ret_file = true;
		return NULL;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", walk->path);
	struct vmop_error *err = strcmp(name, "..") ? check_dir(walk, name, &st) : NULL;
	if (err)
		return err;
	if (S_ISLNK(st.st_mode) && !(wants_file && is_in_proc(fd)))
		return follow(walk, fd, name);
	*ret_file = wants_file;
	if (wants_file)
		return NULL;
	if (!S_ISDIR(st.st_mode))
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: not a directory", walk->path);
	return enter(walk, vmop_steal_fd(&fd));
}

static struct vmop_error *resolve(struct walk *walk, char **ret_file)
{
	for (;;) {
		_cleanup_free_ char *name = NULL;
		bool is_last, is_file = false;
		struct vmop_error *err = next_component(walk, &name, &is_last);
		if (!err && name)
			err = step(walk, name, is_last, &is_file);
		if (err)
			return err;
		if (name && !is_file)
			continue;
		if (is_file)
			*ret_file = vmop_steal(&name);
		else if (walk->flags & VMOP_DIR_OF_FILE)
			return vmop_error_os(EISDIR, "%s", walk->path);
		return check_dir(walk, NULL, NULL);
	}
}

struct vmop_error *vmop_dir_open(const char *path, unsigned flags, struct vmop_dir *ret)
{
	struct walk walk = {.path = path, .flags = flags, .fd = -1, .is_safe = true};
	char cwd[PATH_MAX] = "";
	*ret = VMOP_DIR_NONE;
	if (!*path)
		return vmop_error_os(ENOENT, "''");
	if (*path != '/' && !getcwd(cwd, sizeof(cwd)))
		return vmop_error_os(errno, "current directory");
	if (asprintf(&walk.rest, "%s/%s", cwd, path) < 0)
		return &vmop_error_no_memory;
	struct vmop_error *err = enter(&walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!err)
		err = resolve(&walk, &ret->file);
	free(walk.rest);
	if (err) {
		vmop_cleanup_close(&walk.fd);
		return err;
	}
	ret->fd = walk.fd;
	ret->is_safe = walk.is_safe;
	ret->by_foreign_link = walk.by_foreign_link;
	return NULL;
}

void vmop_dir_deinit(struct vmop_dir *dir)
{
	vmop_cleanup_close(&dir->fd);
	free(dir->file);
	*dir = VMOP_DIR_NONE;
}

struct vmop_error *vmop_open_regular_at(int dir_fd, const char *name, int flags, const char *path,
					int *ret_fd)
{
	char link[32];
	struct stat st;
	_cleanup_close_ int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	*ret_fd = open(link, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *ret_fd < 0 ? vmop_error_os(errno, "%s", path) : NULL;
}

struct vmop_error *vmop_open_output(const char *path, int *ret_fd)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_OF_FILE, &dir);
	if (err)
		return err;
	if (dir.by_foreign_link)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: not written, because another user can change the link",
				      path);
	/*
	 * Follow: /dev/stdout leads to an open file of this process, and the link in a safe
	 * directory is its owner's.
	 */
	if (dir.is_safe || is_in_proc(dir.fd)) {
		*ret_fd = openat(dir.fd, dir.file, flags | O_TRUNC, 0666);
		return *ret_fd < 0 ? vmop_error_os(errno, "%s", path) : NULL;
	}
	_cleanup_close_ int fd = openat(dir.fd, dir.file, flags | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode) || !vmop_uid_is_trusted(st.st_uid) || st.st_nlink != 1)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: not written, because it is another user's, a link or no "
				      "regular file, in a directory that others may write",
				      path);
	if (ftruncate(fd, 0) < 0)
		return vmop_error_os(errno, "%s", path);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}
