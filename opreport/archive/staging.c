// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"

/* ---- where ------------------------------------------------------------------ */

/* Split a path, without slashes at its end, into its directory and its last part. */
static struct vmop_error *split(const char *path, char **ret_parent, char **ret_name)
{
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	_cleanup_free_ char *whole = strndup(path, len);
	if (!whole)
		return &vmop_error_no_memory;
	char *slash = strrchr(whole, '/');
	const char *name = slash ? slash + 1 : whole;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return vmop_error_new(VMOP_ERROR_USAGE, "'%s' names no new file or directory",
				      path);
	*ret_name = strdup(name);
	if (slash)
		*(slash == whole ? slash + 1 : slash) = '\0';
	*ret_parent = strdup(slash ? whole : ".");
	return *ret_name && *ret_parent ? NULL : &vmop_error_no_memory;
}

/* Return the number of entries of a directory, 2 for two or more; -1 with errno. */
static int count_entries(int fd)
{
	int n = 0;
	_cleanup_closedir_ DIR *dir = vmop_io_open_dir(fd, ".", 0);
	const struct dirent *entry;
	if (!dir)
		return -1;
	while (n < 2 && (entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	return n;
}

/* Check that the target is missing, or an empty directory. */
static struct vmop_error *check_target(struct vmop_staging *staging, const char *path)
{
	struct stat st;
	_cleanup_close_ int fd = openat(staging->parent_fd, staging->target,
					O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: is there already, and no directory",
				      path);
	int n = fd < 0 ? -1 : count_entries(fd);
	if (n < 0 || fstat(fd, &st))
		return vmop_error_os(errno, "%s", path);
	if (n)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: is not empty; name a directory that does not exist yet",
				      path);
	staging->has_empty_dir = true;
	staging->mode = st.st_mode & 0777;
	return NULL;
}

static struct vmop_error *make(struct vmop_staging *staging, const char *parent)
{
	uint32_t number;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)vmop_clock_ns(CLOCK_MONOTONIC) ^ (uint32_t)getpid();
	if (asprintf(&staging->name, ".%.200s.%08x", staging->target, number) < 0) {
		staging->name = NULL;
		return &vmop_error_no_memory;
	}
	if (asprintf(&staging->path, "%s/%s", parent, staging->name) < 0) {
		staging->path = NULL;
		return &vmop_error_no_memory;
	}
	if (mkdirat(staging->parent_fd, staging->name, 0700) < 0) {
		free(vmop_steal(&staging->name)); /* it is not ours */
		return vmop_error_os(errno, "%s", parent);
	}
	staging->fd = openat(staging->parent_fd, staging->name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return staging->fd < 0 ? vmop_error_os(errno, "%s", staging->path) : NULL;
}

struct vmop_error *vmop_staging_init(struct vmop_staging *ret, const char *path, bool is_dir)
{
	_cleanup_free_ char *parent = NULL;
	*ret = VMOP_STAGING_NONE;
	struct vmop_error *err = split(path, &parent, &ret->target);
	if (err)
		return err;
	ret->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->parent_fd < 0)
		return vmop_error_os(errno, "%s", parent);
	err = is_dir ? check_target(ret, path) : NULL;
	return err ? err : make(ret, parent);
}

/* ---- members ---------------------------------------------------------------- */

struct vmop_error *vmop_staging_make_folder(const struct vmop_staging *staging, const char *folder)
{
	if (!mkdirat(staging->fd, folder, 0700) || errno == EEXIST)
		return NULL;
	return vmop_error_os(errno, "%s/%s", staging->path, folder);
}

struct vmop_error *vmop_staging_create(const struct vmop_staging *staging, const char *name,
				       int *ret_fd)
{
	const char *slash = strchr(name, '/');
	struct vmop_error *err = NULL;
	*ret_fd = -1;
	if (slash) {
		_cleanup_free_ char *folder = strndup(name, (size_t)(slash - name));
		err = folder ? vmop_staging_make_folder(staging, folder) : &vmop_error_no_memory;
	}
	if (err)
		return err;
	*ret_fd =
		openat(staging->fd, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	return *ret_fd < 0 ? vmop_error_os(errno, "%s/%s", staging->path, name) : NULL;
}

struct vmop_error *vmop_staging_set_time(int fd, const char *name, uint64_t mtime_ns)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{(time_t)(mtime_ns / VMOP_NS_PER_S), (long)(mtime_ns % VMOP_NS_PER_S)}};
	return futimens(fd, times) ? vmop_error_os(errno, "%s", name) : NULL;
}

/* ---- the end ---------------------------------------------------------------- */

/* Remove the entries of a directory; folders are at most `depth` deep. */
static void remove_entries(int fd, int depth)
{
	_cleanup_closedir_ DIR *dir = vmop_io_open_dir(fd, ".", 0);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !unlinkat(fd, entry->d_name, 0) || !depth)
			continue;
		_cleanup_close_ int below =
			openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			remove_entries(below, depth - 1);
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
}

void vmop_staging_deinit(struct vmop_staging *staging)
{
	if (staging->fd >= 0 && staging->name)
		remove_entries(staging->fd, 1);
	if (staging->name)
		unlinkat(staging->parent_fd, staging->name, AT_REMOVEDIR);
	vmop_cleanup_close(&staging->fd);
	vmop_cleanup_close(&staging->parent_fd);
	free(staging->target);
	free(staging->name);
	free(staging->path);
	*staging = VMOP_STAGING_NONE;
}

struct vmop_error *vmop_staging_commit(struct vmop_staging *staging)
{
	int parent = staging->parent_fd;
	if (staging->has_empty_dir && fchmod(staging->fd, staging->mode))
		return vmop_error_os(errno, "%s", staging->path);
	/* rename(2) replaces an empty directory, and no other one. */
	int failed = staging->has_empty_dir
			     ? renameat(parent, staging->name, parent, staging->target)
			     : renameat2(parent, staging->name, parent, staging->target,
					 RENAME_NOREPLACE);
	if (failed && errno == EINVAL) /* a file system without RENAME_NOREPLACE */
		failed = renameat(parent, staging->name, parent, staging->target);
	if (failed)
		return vmop_error_os(errno, "%s", staging->target);
	free(vmop_steal(&staging->name));
	return NULL;
}

struct vmop_error *vmop_staging_commit_file(struct vmop_staging *staging, const char *name)
{
	if (renameat(staging->fd, name, staging->parent_fd, staging->target))
		return vmop_error_os(errno, "%s", staging->target);
	return NULL;
}
