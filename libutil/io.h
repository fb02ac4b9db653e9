// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * File helpers that bound what they read and finish what they begin.
 * Errors name the path.
 */
#ifndef VMOP_LIBUTIL_IO_H
#define VMOP_LIBUTIL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vmop_error;

/*
 * Reads a whole file (also of /proc and /sys, whose size is not known before)
 * into *ret, a NUL-terminated heap buffer that the caller frees.  More than
 * max_bytes is VMOP_ERROR_LIMIT.  A FIFO or a device, except /dev/null, is refused.
 * ret_len_bytes may be NULL.
 */
struct vmop_error *vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
				     size_t *ret_len_bytes);

/* The same below a directory descriptor (openat). */
struct vmop_error *vmop_io_read_file_at(int dir_fd, const char *path, size_t max_bytes, char **ret,
					size_t *ret_len_bytes);

/* How vmop_io_open_regular treats a path. */
enum vmop_io_open_flags {
	VMOP_IO_NO_FOLLOW = 1 << 0, /* a link in the last part of the path is ELOOP */
	/*
	 * dir_fd is a root that nothing in the path leads out of: neither "..", nor an absolute
	 * link, nor a link of /proc (openat2(2), from Linux 5.6; an older kernel only puts dir_fd
	 * first).
	 */
	VMOP_IO_IN_ROOT = 1 << 1,
};

/*
 * Opens a file that another user may have put there, to read it.  The file's kind and size are
 * checked before anything is opened to be read: a FIFO is not waited for, a device is not touched
 * (a watchdog starts when it is opened), and a lease is not waited for.  Everything but a regular
 * file is VMOP_ERROR_CANT, a file of more than max_bytes VMOP_ERROR_LIMIT.  path is below dir_fd,
 * which may be AT_FDCWD.  flags are those of enum vmop_io_open_flags.  /proc must be mounted.
 *
 * *ret_fd is the caller's, close-on-exec and non-blocking.  The size can change later: what reads
 * the file bounds itself.
 */
struct vmop_error *vmop_io_open_regular(int dir_fd, const char *path, unsigned flags,
					uint64_t max_bytes, int *ret_fd);

/* The same check of a file that is open already; path is for messages. */
struct vmop_error *vmop_io_check_regular(int fd, const char *path, uint64_t max_bytes);

/* As vmop_io_read_file, of an open file from its position on.  path is for messages. */
struct vmop_error *vmop_io_read_fd(int fd, const char *path, size_t max_bytes, char **ret,
				   size_t *ret_len_bytes);

/*
 * Puts data at path in one step: written to a temporary file beside it,
 * flushed to disk, renamed over it.  A reader sees the old or the new one.  A symbolic link
 * stays, and what it leads to is replaced.  A directory that another user can change is refused.
 */
struct vmop_error *vmop_io_write_file_atomic(const char *path, const void *data, size_t len_bytes,
					     mode_t mode);

/* A directory with all that lead to it, those that are missing with mode; there already: no error.
 */
struct vmop_error *vmop_io_make_dir(const char *path, mode_t mode);

/*
 * read(2)/pread(2)/write(2) until len_bytes are done, EINTR retried.
 * Return the bytes done, fewer only at the end of file; -1 with errno else.
 */
ssize_t vmop_io_read_full(int fd, void *buf, size_t len_bytes);
ssize_t vmop_io_pread_full(int fd, void *buf, size_t len_bytes, uint64_t offset);
ssize_t vmop_io_write_full(int fd, const void *buf, size_t len_bytes);

#endif
