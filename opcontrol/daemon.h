// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd as vmopcontrol sees it: is it there, begin it, ask it.
 */
#ifndef VMOP_OPCONTROL_DAEMON_H
#define VMOP_OPCONTROL_DAEMON_H

#include <jansson.h>
#include <stdbool.h>

#include "libutil/error.h"

/* Connects; *ret_fd is -1 without an error when no daemon runs. */
struct vmop_error *control_daemon_find(int *ret_fd);

/*
 * Starts vmopd, found beside this program or in sbindir ($VMOP_VMOPD goes first),
 * and connects when it is ready.  What went wrong it has told itself: the error then has an
 * empty message and its exit status.
 */
struct vmop_error *control_daemon_spawn(const char *config, int verbosity, int *ret_fd);

/*
 * Runs vmopd --check-setup on the file at path, which may be a /proc/self/fd one: the
 * daemon's view of a set-up.  Errors as control_daemon_spawn.
 */
struct vmop_error *control_daemon_check_setup(const char *path);

/*
 * Becomes vmopd --list-events, whose output and exit status are then this program's.  Comes back
 * only with an error.
 */
struct vmop_error *control_daemon_list_events(bool json, int verbosity);

/*
 * Runs vmopd --inspect-image on the file at path: what it says, as a reply to "inspect" with
 * "image" for "domain".  Errors as control_daemon_spawn; *ret is the caller's.
 */
struct vmop_error *control_daemon_inspect_image(const char *path, json_t **ret);

/* Connects and asks; VMOP_ERROR_CANT when no daemon runs. *ret is the caller's. */
struct vmop_error *control_daemon_ask(json_t *request, json_t **ret);

/* The same over an open connection; request is consumed, NULL means out of memory. */
struct vmop_error *control_daemon_call(int fd, json_t *request, json_t **ret);

/* Waits until the daemon that was told to end has done so. */
struct vmop_error *control_daemon_wait_gone(void);

/* Removes what a dead daemon left in the run directory. Nothing there: no error. */
struct vmop_error *control_daemon_clean_up(void);

#endif
