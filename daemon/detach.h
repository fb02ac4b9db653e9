// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Going to the background: the first process waits until the second is ready
 * or has failed, and passes its exit status on; errors until then are on the
 * caller's terminal, what comes later is in the log file.
 */
#ifndef VMOP_DAEMON_DETACH_H
#define VMOP_DAEMON_DETACH_H

#include "libutil/error.h"

struct vmop_detach {
	int ready_fd; /* -1: in the foreground */
};

/* Returns in the background process; the first one ends in here. */
struct vmop_error *vmop_detach_begin(struct vmop_detach *detach);

/*
 * Tells the first process that all is well, and sends stderr to the log file in the run directory
 * from now on.
 */
struct vmop_error *vmop_detach_ready(struct vmop_detach *detach, int run_dir_fd);

#endif
