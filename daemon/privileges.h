// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drops privileges for good, after the daemon has opened its socket, log and lock: every capability
 * that sampling does not need, new privileges through execve(2), and system calls for running
 * programs, loading modules and changing mounts. Capabilities and system calls are each optional
 * at configure.
 */
#ifndef VMOP_DAEMON_PRIVILEGES_H
#define VMOP_DAEMON_PRIVILEGES_H

#include "libutil/error.h"

/*
 * Drop them, for the calling thread and those that it creates later. An error names the call that
 * failed; some privileges may be dropped then.
 */
struct vmop_error *vmop_privileges_drop(void);

#endif
