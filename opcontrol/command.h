// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command of --run.
 */
#ifndef VMOP_OPCONTROL_COMMAND_H
#define VMOP_OPCONTROL_COMMAND_H

#include "libutil/error.h"

/*
 * Run argv (NULL-terminated, searched in PATH) to its end. Signals that would end this process are
 * passed on to it. *ret_status is that of a shell: the command's, 128 + the signal that ended it,
 * 127 if it does not exist, 126 if it cannot be run.
 */
struct vmop_error *control_command_run(char *const *argv, int *ret_status);

#endif
