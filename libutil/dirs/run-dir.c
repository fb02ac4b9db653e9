// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/dirs/run-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/parse.h"
#include "libutil/protocol.h"

/* The time between two attempts to take a lock. */
static const struct timespec lock_poll = {.tv_nsec = 10 * VMOP_NS_PER_MS};

const char *vmop_run_dir(void)
{
	const char *dir = secure_getenv("VMOP_RUNDIR");
	return dir && *dir ? dir : VMOP_RUNDIR;
}

char *vmop_run_path(const char *name)
{
	char *path;
	return asprintf(&path, "%s/%s", vmop_run_dir(), name) < 0 ? NULL : path;
}

/* ---- the directory -------------------------------------------------------------- */

static struct vmop_error *open_dir(unsigned flags, struct vmop_dir *ret)
{
	struct vmop_error *err = vmop_dir_open(vmop_run_dir(), VMOP_DIR_SAFE | flags, ret);
	return err ? vmop_error_prefix(err, "run directory") : NULL;
}

struct vmop_error *vmop_run_dir_open(struct vmop_dir *ret)
{
	struct vmop_error *err = open_dir(0, ret);
	if (!err || err->os_errno != ENOENT)
		return err;
	vmop_error_destroy(err);
	return NULL;
}

struct vmop_error *vmop_run_dir_make(struct vmop_dir *ret)
{
	struct vmop_error *err = NULL;
	*ret = VMOP_DIR_NONE;
	/*
	 * Only the last component of a user's directory is made: a missing parent may be a typing
	 * error.
	 */
	if (!strcmp(vmop_run_dir(), VMOP_RUNDIR))
		err = vmop_io_make_dir(VMOP_RUNDIR, 0755);
	return err ? err : open_dir(VMOP_DIR_MAKE, ret);
}

/* ---- its files ------------------------------------------------------------------ */

static struct vmop_error *check_stat(const struct stat *st, const char *name)
{
	if (!S_ISREG(st->st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s/%s: not a regular file: remove it",
				      vmop_run_dir(), name);
	if (!vmop_uid_is_trusted(st->st_uid))
		return vmop_error_new(VMOP_ERROR_CANT, "%s/%s: a file of uid %u: remove it",
				      vmop_run_dir(), name, (unsigned)st->st_uid);
	return NULL;
}

static struct vmop_error *check_file(int fd, const char *name)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s/%s", vmop_run_dir(), name);
	return check_stat(&st, name);
}

/*
 * Make the error for a file that could not be opened: it belongs to another user, or `problem`, an
 * errno value.
 */
static struct vmop_error *open_error(int dir_fd, const char *name, int problem)
{
	struct stat st;
	struct vmop_error *err =
		fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? check_stat(&st, name) : NULL;
	return err ? err : vmop_error_os(problem, "%s/%s", vmop_run_dir(), name);
}

struct vmop_error *vmop_run_open(int dir_fd, const char *name, int flags, mode_t mode, int *ret_fd)
{
	/* O_NONBLOCK: a FIFO must not make the open wait. */
	_cleanup_close_ int fd =
		openat(dir_fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
	if (fd < 0)
		return open_error(dir_fd, name, errno);
	struct vmop_error *err = check_file(fd, name);
	if (!err)
		*ret_fd = vmop_steal_fd(&fd);
	return err;
}

/* ---- locks ---------------------------------------------------------------------- */

static pid_t read_pid(int fd)
{
	char text[24];
	uint64_t pid;
	ssize_t n = vmop_io_pread_full(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n - (text[n - 1] == '\n')] = '\0';
	return vmop_parse_u64(text, 10, &pid) && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static bool write_own_pid(int fd)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)len, 0) == len;
}

/* Return whether fd is still the file `name`: the last holder may have removed it. */
static bool is_at(int fd, int dir_fd, const char *name)
{
	struct stat locked, there;
	return fstat(fd, &locked) == 0 && fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

/*
 * Try once to take the lock. *ret_fd is -1 if another process holds it, or if its file was just
 * removed (then *ret_holder is 0).
 */
static struct vmop_error *try_lock(int dir_fd, const char *name, int *ret_fd, pid_t *ret_holder)
{
	struct flock lock = {.l_type = F_WRLCK};
	_cleanup_close_ int fd = -1;
	*ret_holder = 0;
	struct vmop_error *err = vmop_run_open(dir_fd, name, O_RDWR | O_CREAT, 0600, &fd);
	if (err)
		return err;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return vmop_error_os(errno, "%s/%s", vmop_run_dir(), name);
		*ret_holder = read_pid(fd);
		return NULL;
	}
	if (!is_at(fd, dir_fd, name))
		return NULL;
	if (fchmod(fd, 0600) < 0 || !write_own_pid(fd))
		return vmop_error_os(errno, "%s/%s", vmop_run_dir(), name);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

struct vmop_error *vmop_run_lock(const char *name, unsigned wait_ms, int *ret_fd, pid_t *ret_holder)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + wait_ms * VMOP_NS_PER_MS;
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	*ret_fd = -1;
	*ret_holder = 0;
	struct vmop_error *err = vmop_run_dir_open(&dir);
	if (!err && dir.fd < 0)
		err = vmop_error_os(ENOENT, "%s", vmop_run_dir());
	if (err)
		return err;
	/* If the last holder removed the file, the second attempt takes the free lock. */
	for (int tries = 0;; tries++) {
		err = try_lock(dir.fd, name, ret_fd, ret_holder);
		if (err || *ret_fd >= 0)
			return err;
		if (tries && vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return NULL;
		if (tries)
			nanosleep(&lock_poll, NULL);
	}
}

void vmop_run_unlock(const char *name, int fd)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	if (fd < 0)
		return;
	vmop_error_destroy(vmop_run_dir_open(&dir));
	if (dir.fd >= 0 && is_at(fd, dir.fd, name))
		unlinkat(dir.fd, name, 0);
	close(fd);
}

struct vmop_error *vmop_run_holder(const char *name, pid_t *ret_holder)
{
	struct flock lock = {.l_type = F_WRLCK};
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	_cleanup_close_ int fd = -1;
	*ret_holder = 0;
	struct vmop_error *err = vmop_run_dir_open(&dir);
	if (err || dir.fd < 0)
		return err;
	err = vmop_run_open(dir.fd, name, O_RDWR, 0, &fd);
	if (err && err->os_errno == ENOENT) {
		vmop_error_destroy(err);
		return NULL;
	}
	if (!err && fcntl(fd, F_OFD_GETLK, &lock) < 0)
		err = vmop_error_os(errno, "%s/%s", vmop_run_dir(), name);
	if (err || lock.l_type == F_UNLCK)
		return err;
	*ret_holder = read_pid(fd);
	if (!*ret_holder)
		*ret_holder = -1;
	return NULL;
}

/* ---- the socket ----------------------------------------------------------------- */

struct vmop_error *vmop_run_connect(int *ret_fd)
{
	char path[64];
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	*ret_fd = -1;
	struct vmop_error *err = vmop_run_dir_open(&dir);
	if (err || dir.fd < 0)
		return err;
	/*
	 * Connect through the descriptor: the path can lead elsewhere by now, or be too long for
	 * sun_path.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" VMOP_RUN_SOCKET, dir.fd);
	err = vmop_protocol_connect(path, ret_fd);
	if (err && err->os_errno == EACCES) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "uid %u may not control vmopd: run it as root, or set "
				      "status-group for --status",
				      (unsigned)geteuid());
	}
	return err;
}
