// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/error.h"

/* Read at *offset, or at the descriptor's position if offset is NULL. */
static ssize_t read_on(int fd, void *buf, size_t len_bytes, const uint64_t *offset)
{
	size_t done = 0;
	while (done < len_bytes) {
		char *to = (char *)buf + done;
		size_t left = len_bytes - done;
		ssize_t n =
			offset ? pread(fd, to, left, (off_t)(*offset + done)) : read(fd, to, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t vmop_io_read_full(int fd, void *buf, size_t len_bytes)
{
	return read_on(fd, buf, len_bytes, NULL);
}

ssize_t vmop_io_pread_full(int fd, void *buf, size_t len_bytes, uint64_t offset)
{
	return read_on(fd, buf, len_bytes, &offset);
}

ssize_t vmop_io_write_full(int fd, const void *buf, size_t len_bytes)
{
	size_t done = 0;
	while (done < len_bytes) {
		ssize_t n = write(fd, (const char *)buf + done, len_bytes - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * Return the initial buffer size: the size of the file, or a page or so if the file reports no size
 * (/proc).
 */
static size_t first_capacity(int fd, size_t max_bytes)
{
	struct stat st;
	size_t wanted = 4096;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		wanted = (size_t)st.st_size + 1;
	return wanted <= max_bytes ? wanted : max_bytes + 1;
}

/* Accept regular files and /dev/null only. Reading a FIFO or a terminal could wait forever. */
static struct vmop_error *check_kind(int fd, const char *path)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return vmop_error_os(EISDIR, "%s", path);
	if (!S_ISREG(st.st_mode) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	return NULL;
}

struct vmop_error *vmop_io_read_fd(int fd, const char *path, size_t max_bytes, char **ret,
				   size_t *ret_len_bytes)
{
	size_t capacity = first_capacity(fd, max_bytes), len = 0;
	_cleanup_free_ char *buf = malloc(capacity + 1);
	if (!buf)
		return &vmop_error_no_memory;
	for (;;) {
		ssize_t n = vmop_io_read_full(fd, buf + len, capacity - len);
		if (n < 0)
			return vmop_error_os(errno, "%s", path);
		len += (size_t)n;
		if (len > max_bytes)
			return vmop_error_new(VMOP_ERROR_LIMIT, "%s: larger than %zu bytes", path,
					      max_bytes);
		if (len < capacity)
			break;
		capacity = capacity > max_bytes / 2 ? max_bytes + 1 : capacity * 2;
		char *grown = realloc(buf, capacity + 1);
		if (!grown)
			return &vmop_error_no_memory;
		buf = grown;
	}
	buf[len] = '\0';
	*ret = vmop_steal(&buf);
	if (ret_len_bytes)
		*ret_len_bytes = len;
	return NULL;
}

struct vmop_error *vmop_io_read_file_at(int dir_fd, const char *path, size_t max_bytes, char **ret,
					size_t *ret_len_bytes)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return vmop_error_os(errno, "%s", path);
	struct vmop_error *err = check_kind(fd, path);
	return err ? err : vmop_io_read_fd(fd, path, max_bytes, ret, ret_len_bytes);
}

struct vmop_error *vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
				     size_t *ret_len_bytes)
{
	return vmop_io_read_file_at(AT_FDCWD, path, max_bytes, ret, ret_len_bytes);
}

static int open_in_root(int root_fd, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 || errno != ENOSYS)
		return fd;
	while (*path == '/')
		path++;
	return openat(root_fd, path, flags);
}

struct vmop_error *vmop_io_check_regular(int fd, const char *path, uint64_t max_bytes)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (S_ISLNK(st.st_mode)) /* as open(2) with O_NOFOLLOW does */
		return vmop_error_os(ELOOP, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	if (st.st_size < 0 || (uint64_t)st.st_size > max_bytes)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: larger than %" PRIu64 " bytes", path,
				      max_bytes);
	return NULL;
}

struct vmop_error *vmop_io_open_regular(int dir_fd, const char *path, unsigned flags,
					uint64_t max_bytes, int *ret_fd)
{
	int how = O_PATH | O_CLOEXEC | (flags & VMOP_IO_NO_FOLLOW ? O_NOFOLLOW : 0);
	_cleanup_close_ int place = flags & VMOP_IO_IN_ROOT && dir_fd != AT_FDCWD
					    ? open_in_root(dir_fd, path, how)
					    : openat(dir_fd, path, how);
	if (place < 0)
		return vmop_error_os(errno, "%s", path);
	struct vmop_error *err = vmop_io_check_regular(place, path, max_bytes);
	if (err)
		return err;
	/*
	 * Reopen the O_PATH descriptor (open(2)). The link leads to the same inode, whatever was
	 * renamed in the meantime.
	 */
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	*ret_fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *ret_fd < 0 ? vmop_error_os(errno, "%s", path) : NULL;
}

struct vmop_error *vmop_io_write_file_atomic(const char *path, const void *data, size_t len_bytes,
					     mode_t mode)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	_cleanup_free_ char *temporary = NULL;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_SAFE | VMOP_DIR_OF_FILE, &dir);
	if (err)
		return err;
	struct stat st;
	if (fstatat(dir.fd, dir.file, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	/*
	 * No other user can create the file first. A file that a killed process left is
	 * overwritten.
	 */
	if (asprintf(&temporary, "%s.%d.new", dir.file, (int)getpid()) < 0)
		return &vmop_error_no_memory;
	unlinkat(dir.fd, temporary, 0);
	_cleanup_close_ int fd = openat(dir.fd, temporary,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return vmop_error_os(errno, "%s.%d.new", path, (int)getpid());
	if (vmop_io_write_full(fd, data, len_bytes) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 ||
	    renameat(dir.fd, temporary, dir.fd, dir.file) < 0) {
		err = vmop_error_os(errno, "%s", path);
		unlinkat(dir.fd, temporary, 0);
		return err;
	}
	return NULL;
}

struct vmop_error *vmop_io_make_dir(const char *path, mode_t mode)
{
	_cleanup_free_ char *part = strdup(path);
	if (!part)
		return &vmop_error_no_memory;
	for (char *slash = part; slash; *slash = '/') {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (*part && mkdir(part, mode) < 0 && errno != EEXIST)
			return vmop_error_os(errno, "%s", part);
		if (!slash)
			break;
	}
	return NULL;
}

DIR *vmop_io_open_dir(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	DIR *ret = fd < 0 ? NULL : fdopendir(fd);
	if (!ret && fd >= 0) {
		int problem = errno;
		close(fd);
		errno = problem;
	}
	return ret;
}
