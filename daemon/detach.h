// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts the daemon into the background. The first process waits until the second one is ready or has
 * failed, and exits with its status. Errors until then go to the caller's terminal, later messages
 * to the log file.
 */
#ifndef VMOP_DAEMON_DETACH_H
#define VMOP_DAEMON_DETACH_H

#include "libutil/error.h"

struct vmop_detach {
	int ready_fd; /* -1: in the foreground */
};

/* Return in the background process. The first process ends in this function. */
struct vmop_error *vmop_detach_begin(struct vmop_detach *detach);

/*
 * Report to the first process that the daemon is ready, and redirect stderr to the log file in the
 * run directory.
 */
struct vmop_error *vmop_detach_ready(struct vmop_detach *detach, int run_dir_fd);

#endif
