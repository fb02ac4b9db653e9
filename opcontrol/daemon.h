// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd as vmopcontrol sees it: is it there, begin it, ask it.
 */
#ifndef VMOP_OPCONTROL_DAEMON_H
#define VMOP_OPCONTROL_DAEMON_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libutil/error.h"

/* Connects; *ret_fd is -1 without an error when no daemon runs. */
struct vmop_error *control_daemon_find(int *ret_fd);

/* How long to wait for a daemon or another vmopcontrol that begins or ends. */
#define CONTROL_WAIT_S 60

/*
 * Connects to the daemon; if none runs, starts vmopd, found beside this program or in sbindir
 * ($VMOP_VMOPD goes first), and waits until it is ready.  Waits for one that is beginning or
 * ending. *ret_spawned: this call started it.  vmopd has printed its own error: this one
 * then has an empty message and its exit status.
 */
struct vmop_error *control_daemon_connect(const char *config, int verbosity, int *ret_fd,
					  bool *ret_spawned);

/*
 * Takes the lock that lets only one vmopcontrol at a time start vmopd or a session; waits for it.
 * Makes the run directory.  vmop_run_unlock(VMOP_RUN_START, lock) releases it.
 */
struct vmop_error *control_daemon_lock_start(int *ret_lock);

/*
 * Runs vmopd --check-setup on the file at path, which may be a /proc/self/fd one: the
 * daemon's view of a set-up.  Errors as control_daemon_connect.
 */
struct vmop_error *control_daemon_check_setup(const char *path);

/*
 * Becomes vmopd --list-events, whose output and exit status are then this program's.  Comes back
 * only with an error.
 */
struct vmop_error *control_daemon_list_events(bool json, int verbosity);

/*
 * Runs vmopd --inspect-image on the file at path: what it says, as a reply to "inspect" with
 * "image" for "domain".  Errors as control_daemon_connect; *ret is the caller's.
 */
struct vmop_error *control_daemon_inspect_image(const char *path, json_t **ret);

/*
 * Connects and asks; VMOP_ERROR_CANT when no daemon runs, VMOP_ERROR_BUSY when it ended by
 * itself before it took the request, and is gone. *ret is the caller's.
 */
struct vmop_error *control_daemon_ask(json_t *request, json_t **ret);

/*
 * The same over an open connection; request is consumed, NULL means out of memory.
 * VMOP_ERROR_BUSY: the daemon hung up without an answer.
 */
struct vmop_error *control_daemon_call(int fd, json_t *request, json_t **ret);

/* Waits until the daemon of that pid (vmop_run_holder()) has ended; 0: does nothing. */
struct vmop_error *control_daemon_wait_gone(pid_t pid);

/* Whether the last daemon left its socket behind. */
bool control_daemon_was_killed(void);

/* Removes what a dead daemon left in the run directory. Nothing there: no error. */
struct vmop_error *control_daemon_clean_up(void);

#endif
