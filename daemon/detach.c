// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/dirs/run-dir.h"

/* A starting daemon renames a larger log file. */
static const off_t log_max_bytes = 1 << 20;

static int wait_until_ready(int fd, pid_t child)
{
	unsigned char ready;
	int status;
	if (vmop_io_read_full(fd, &ready, 1) == 1)
		return VMOP_EXIT_DONE;
	/* It ended with an error, which it logged. */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : VMOP_EXIT_CANT;
}

struct vmop_error *vmop_detach_begin(struct vmop_detach *detach)
{
	int ends[2];
	/* Close the caller's pipes: their readers must not wait for the daemon. */
	close_range(3, ~0U, 0);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return vmop_error_os(errno, "pipe");
	pid_t child = fork();
	if (child < 0) {
		struct vmop_error *err = vmop_error_os(errno, "fork");
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (child > 0) {
		close(ends[1]);
		_exit(wait_until_ready(ends[0], child));
	}
	close(ends[0]);
	detach->ready_fd = ends[1];
	setsid();
	umask(022);
	if (chdir("/") < 0)
		return vmop_error_os(errno, "/");
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return vmop_error_os(errno, "/dev/null");
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	return NULL;
}

static struct vmop_error *log_to_file(int run_dir_fd)
{
	struct stat st;
	_cleanup_close_ int fd = -1;
	if (fstatat(run_dir_fd, VMOP_RUN_LOG, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > log_max_bytes)
		renameat(run_dir_fd, VMOP_RUN_LOG, run_dir_fd, VMOP_RUN_LOG ".1");
	struct vmop_error *err =
		vmop_run_open(run_dir_fd, VMOP_RUN_LOG, O_WRONLY | O_CREAT | O_APPEND, 0640, &fd);
	if (err)
		return err;
	if (dup2(fd, STDERR_FILENO) < 0)
		return vmop_error_os(errno, "%s/" VMOP_RUN_LOG, vmop_run_dir());
	vmop_log_set_stamps(true);
	return NULL;
}

struct vmop_error *vmop_detach_ready(struct vmop_detach *detach, int run_dir_fd)
{
	if (detach->ready_fd < 0)
		return NULL;
	struct vmop_error *err = log_to_file(run_dir_fd);
	if (err)
		return err;
	const unsigned char ready = 1;
	vmop_io_write_full(detach->ready_fd, &ready, 1);
	close(detach->ready_fd);
	detach->ready_fd = -1;
	return NULL;
}
