// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/run-dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"
#include "libutil/safe-dir.h"

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

struct vmop_error *vmop_run_dir_make(void)
{
	/* Of one that was named, all but the last part is to be there: it may be a slip. */
	const char *dir = vmop_run_dir();
	struct vmop_error *err = strcmp(dir, VMOP_RUNDIR) ? NULL : vmop_io_make_dir(dir, 0755);
	if (err)
		return err;
	_cleanup_(vmop_dir_deinit) struct vmop_dir made;
	return vmop_dir_open(dir, VMOP_DIR_SAFE | VMOP_DIR_MAKE, &made);
}

/* Open the pid file, in a run directory that no other user can change. */
static struct vmop_error *open_pid_file(const char *path, int *ret_fd)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	struct stat st;
	struct vmop_error *err = vmop_dir_open(vmop_run_dir(), VMOP_DIR_SAFE, &dir);
	if (err)
		return err;
	_cleanup_close_ int fd = openat(
		dir.fd, VMOP_RUN_PID, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file; remove it", path);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

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

static struct vmop_error *write_own_pid(int fd, const char *path)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return vmop_error_os(errno, "%s", path);
	return NULL;
}

/* Whether fd's file is still the one at path: its last holder may have removed it. */
static int is_at(int fd, const char *path)
{
	struct stat locked, there;
	return fstat(fd, &locked) == 0 && stat(path, &there) == 0 &&
	       locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

struct vmop_error *vmop_run_lock(int write_pid, int *ret_fd, pid_t *ret_holder)
{
	_cleanup_free_ char *path = vmop_run_path(VMOP_RUN_PID);
	if (!path)
		return &vmop_error_no_memory;
	*ret_fd = -1;
	*ret_holder = 0;
	for (int tries = 0; tries < 10; tries++) {
		_cleanup_close_ int fd = -1;
		struct vmop_error *err = open_pid_file(path, &fd);
		if (err)
			return err;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			if (errno != EWOULDBLOCK)
				return vmop_error_os(errno, "%s", path);
			*ret_holder = read_pid(fd);
			return NULL;
		}
		if (!is_at(fd, path))
			continue;
		err = write_pid ? write_own_pid(fd, path) : NULL;
		if (!err)
			*ret_fd = vmop_steal_fd(&fd);
		return err;
	}
	return vmop_error_new(VMOP_ERROR_CANT, "%s: comes and goes; is another vmopd starting?",
			      path);
}
