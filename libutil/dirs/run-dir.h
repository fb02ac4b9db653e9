// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run directory holds the daemon's socket, pid file and log, and the locks of vmopd and
 * vmopcontrol.
 *
 * Its path is VMOP_RUNDIR (/run/vmop), or the value of the environment variable VMOP_RUNDIR. It
 * must be safe (safe-dir.h): only root or this process's user can change it. Its files are opened
 * relative to the directory's descriptor, and a file of another user is refused.
 *
 * A lock is a write lock (fcntl(2), F_OFD_SETLK) on a file of mode 0600, because any process that
 * can open a file can lock it. The file contains the holder's pid. A dead process holds no lock, so
 * the pid only serves messages.
 */
#ifndef VMOP_LIBUTIL_DIRS_RUN_DIR_H
#define VMOP_LIBUTIL_DIRS_RUN_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "libutil/error.h"
#include "libutil/dirs/safe-dir.h"

#define VMOP_RUN_SOCKET "vmopd.sock"
#define VMOP_RUN_PID "vmopd.pid" /* locked by vmopd during its whole life */
#define VMOP_RUN_LOG "vmopd.log"
#define VMOP_RUN_KERNEL_SYMBOLS ".kernel-symbols" /* packed, for vmopd's next session */
#define VMOP_RUN_START "vmopcontrol.lock"	  /* locked by vmopcontrol while it starts vmopd */

/* Return the path of the run directory, which is static. */
const char *vmop_run_dir(void);

/* Return "<run directory>/<name>" for messages, or NULL: out of memory. The caller frees. */
char *vmop_run_path(const char *name);

/* Open the run directory. If it does not exist, ret->fd is -1 and there is no error. */
struct vmop_error *vmop_run_dir_open(struct vmop_dir *ret);

/* Make the run directory with mode 0755 if it is missing, and open it. */
struct vmop_error *vmop_run_dir_make(struct vmop_dir *ret);

/*
 * Open the regular file `name` of the run directory dir_fd. flags are those of open(2), mode is for
 * O_CREAT. A file of another user is refused.
 */
struct vmop_error *vmop_run_open(int dir_fd, const char *name, int flags, mode_t mode, int *ret_fd);

/*
 * Take the lock `name` and write this process's pid into it, or give up after wait_ms. If another
 * process holds the lock, *ret_fd is -1 and *ret_holder its pid (0: unknown), without an error. The
 * lock is held until *ret_fd and its copies in child processes are closed.
 */
struct vmop_error *vmop_run_lock(const char *name, unsigned wait_ms, int *ret_fd,
				 pid_t *ret_holder);

/* Remove the lock's file and release it. fd may be -1. */
void vmop_run_unlock(const char *name, int fd);

/*
 * Set *ret_holder to the pid of the lock's holder, 0 if the lock is free, -1 if the pid is unknown.
 */
struct vmop_error *vmop_run_holder(const char *name, pid_t *ret_holder);

/* Connect to the daemon's socket. *ret_fd is -1 without an error when no process listens there. */
struct vmop_error *vmop_run_connect(int *ret_fd);

#endif
