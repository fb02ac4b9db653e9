// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The run directory: where the daemon's socket, pid file and log lie, and
 * the lock that keeps it the only one.
 *
 * It is VMOP_RUNDIR (/run/vmop), or what the environment variable of that name
 * says.  The pid file is locked with flock(2) as long as the daemon lives, so a
 * file left by a dead one is told from a live one's without trusting its pid.
 */
#ifndef VMOP_LIBUTIL_RUN_DIR_H
#define VMOP_LIBUTIL_RUN_DIR_H

#include <sys/types.h>

#include "libutil/error.h"

#define VMOP_RUN_SOCKET "vmopd.sock"
#define VMOP_RUN_PID "vmopd.pid"
#define VMOP_RUN_LOG "vmopd.log"

/* The run directory's path; static. */
const char *vmop_run_dir(void);

/* "<run directory>/<name>"; NULL: out of memory. The caller frees. */
char *vmop_run_path(const char *name);

/* Make the run directory, 0755, if it is missing. Refuse one that another user can change. */
struct vmop_error *vmop_run_dir_make(void);

/*
 * Takes the pid file's lock; it is held until *ret_fd is closed.  When another
 * process has it, *ret_fd is -1 and *ret_holder its pid (0: not known), no error.
 * The file then holds this process's pid if write_pid.
 */
struct vmop_error *vmop_run_lock(int write_pid, int *ret_fd, pid_t *ret_holder);

#endif
