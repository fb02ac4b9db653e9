// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopd for vmopcontrol: find it, start it, send requests to it. */
#ifndef VMOP_OPCONTROL_DAEMON_H
#define VMOP_OPCONTROL_DAEMON_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libutil/error.h"

/* Connect to the daemon. *ret_fd is -1 without an error if no daemon runs. */
struct vmop_error *control_daemon_find(int *ret_fd);

/* The time limit for waiting until a daemon or another vmopcontrol has started or ended. */
#define CONTROL_WAIT_S 60
#define CONTROL_SETTLE_S 10 /* see settle() in actions.c */

/*
 * Connect to the daemon; start vmopd if none runs, and wait until it is ready. vmopd is
 * $VMOP_VMOPD, or the one beside this program, or the one in sbindir. The call waits for a daemon
 * that is starting or ending. *ret_spawned: this call started it. If vmopd fails, it has printed
 * the reason; the error then has an empty message and vmopd's exit status.
 */
struct vmop_error *control_daemon_connect(const char *config, int verbosity, int *ret_fd,
					  bool *ret_spawned);

/*
 * Wait for and take the lock that allows only one vmopcontrol at a time to start vmopd or a
 * session. Makes the run directory. vmop_run_unlock(VMOP_RUN_START, lock) releases the lock.
 */
struct vmop_error *control_daemon_lock_start(int *ret_lock);

/*
 * Run vmopd --check-setup on the file at path, which may be in /proc/self/fd. Errors as in
 * control_daemon_connect().
 */
struct vmop_error *control_daemon_check_setup(const char *path);

/*
 * Replace this process by vmopd --list-events, which prints the output and sets the exit status.
 * Returns only with an error.
 */
struct vmop_error *control_daemon_list_events(bool json, int verbosity);

/*
 * Run vmopd --HOW=NAME, where how is "inspect-image" or "inspect-guest". *ret is its output, in the
 * form of a reply to "inspect" with "image" instead of "domain", and with_stacks with "threads";
 * the caller owns it. Errors as in control_daemon_connect().
 */
struct vmop_error *control_daemon_inspect(const char *how, const char *name, bool with_stacks,
					  json_t **ret);

/*
 * Connect, send request and wait for the reply, which the caller owns. VMOP_ERROR_CANT: no daemon
 * runs. VMOP_ERROR_BUSY: the daemon ended before it took the request.
 */
struct vmop_error *control_daemon_ask(json_t *request, json_t **ret);

/*
 * Do the same over an open connection. Consumes request; NULL means out of memory. VMOP_ERROR_BUSY:
 * the daemon closed the connection without a reply.
 */
struct vmop_error *control_daemon_call(int fd, json_t *request, json_t **ret);

/* Wait until the daemon with this pid (vmop_run_holder()) has ended. 0: return at once. */
struct vmop_error *control_daemon_wait_gone(pid_t pid);

/* Return whether the last daemon left its socket behind, which means that it was killed. */
bool control_daemon_was_killed(void);

/* Remove the files of a dead daemon from the run directory. Missing files are not an error. */
struct vmop_error *control_daemon_clean_up(void);

#endif
