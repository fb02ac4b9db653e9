// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the daemon gives up once its socket, log and lock are open: every
 * capability that sampling does not need, for good; new privileges through
 * execve(2); and the system calls that would let someone who took it over run
 * programs, load modules or change mounts.  Both are optional at configure.
 */
#ifndef VMOP_DAEMON_PRIVILEGES_H
#define VMOP_DAEMON_PRIVILEGES_H

#include "libutil/error.h"

struct vmop_error *vmop_privileges_drop(void);

#endif
