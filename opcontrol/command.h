// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command of --run.
 */
#ifndef VMOP_OPCONTROL_COMMAND_H
#define VMOP_OPCONTROL_COMMAND_H

#include "libutil/error.h"

/*
 * Runs argv (NULL-terminated, looked up in PATH) to its end; signals that end this
 * process are passed on to it.  *ret_status as a shell has it: 128 + the signal that
 * ended it, 127 where there is no such command, 126 where it can't be run.
 */
struct vmop_error *control_command_run(char *const *argv, int *ret_status);

#endif
