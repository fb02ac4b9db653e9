// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounded reads, complete writes, and safe opening of files. Errors name the path. */
#ifndef VMOP_LIBUTIL_IO_H
#define VMOP_LIBUTIL_IO_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vmop_error;

/*
 * Read a whole file into *ret, a NUL-terminated heap buffer that the caller frees. Works for files
 * of unknown size (/proc, /sys). A file of more than max_bytes is VMOP_ERROR_LIMIT. A FIFO or a
 * device other than /dev/null is refused. ret_len_bytes may be NULL.
 */
struct vmop_error *vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
				     size_t *ret_len_bytes);

/* Do the same for a path relative to a directory descriptor (openat(2)). */
struct vmop_error *vmop_io_read_file_at(int dir_fd, const char *path, size_t max_bytes, char **ret,
					size_t *ret_len_bytes);

/* How vmop_io_open_regular() resolves a path. */
enum vmop_io_open_flags {
	VMOP_IO_NO_FOLLOW = 1 << 0, /* fail with ELOOP if the last component is a symbolic link */
	/*
	 * Treat dir_fd as the root: "..", absolute links and links of /proc cannot leave it
	 * (openat2(2), Linux 5.6). On an older kernel the path is only resolved relative to dir_fd.
	 */
	VMOP_IO_IN_ROOT = 1 << 1,
};

/*
 * Open for reading a file that another user may have created.
 *
 * Kind and size are checked before the file is opened for reading. Therefore the call never waits
 * for a FIFO or a lease, and never opens a device (opening a watchdog starts it). Anything but a
 * regular file is VMOP_ERROR_CANT, a file of more than max_bytes VMOP_ERROR_LIMIT. path is relative
 * to dir_fd, which may be AT_FDCWD. flags are of enum vmop_io_open_flags. /proc must be mounted.
 *
 * The caller owns *ret_fd, which is close-on-exec and non-blocking. The file can grow later, so the
 * reader needs a bound of its own.
 */
struct vmop_error *vmop_io_open_regular(int dir_fd, const char *path, unsigned flags,
					uint64_t max_bytes, int *ret_fd);

/* Check kind and size of an open file in the same way. path is used in messages. */
struct vmop_error *vmop_io_check_regular(int fd, const char *path, uint64_t max_bytes);

/*
 * Read an open file from its position to its end, as vmop_io_read_file() does. path is used in
 * messages.
 */
struct vmop_error *vmop_io_read_fd(int fd, const char *path, size_t max_bytes, char **ret,
				   size_t *ret_len_bytes);

/*
 * Open a directory for readdir(3), by its name relative to dir_fd; "." is dir_fd itself, whose own
 * position stays. flags: added to those of openat(2), such as O_NOFOLLOW. Return NULL with errno,
 * else a stream that the caller closes.
 */
DIR *vmop_io_open_dir(int dir_fd, const char *name, int flags);

/*
 * Replace the file at path by data in one step: write a temporary file beside it, flush it to disk,
 * rename it. A reader sees the old or the new content. A symbolic link stays, and its target is
 * replaced. A directory that another user can change is refused.
 */
struct vmop_error *vmop_io_write_file_atomic(const char *path, const void *data, size_t len_bytes,
					     mode_t mode);

/* Make a directory and its missing parents with mode. An existing directory is not an error. */
struct vmop_error *vmop_io_make_dir(const char *path, mode_t mode);

/*
 * Repeat read(2), pread(2) or write(2) until len_bytes are done; retry on EINTR. Return the number
 * of bytes done, which is smaller only at the end of the file, or -1 with errno.
 */
ssize_t vmop_io_read_full(int fd, void *buf, size_t len_bytes);
ssize_t vmop_io_pread_full(int fd, void *buf, size_t len_bytes, uint64_t offset);
ssize_t vmop_io_write_full(int fd, const void *buf, size_t len_bytes);

/* Return whether a call that never waits failed only for now, with that errno. */
static inline bool vmop_io_may_retry(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

#endif
