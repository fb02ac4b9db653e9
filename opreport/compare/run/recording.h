// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Record a session while a command runs, through vmopcontrol: `vmopcontrol --run -- COMMAND`, then
 * `vmopcontrol --save=NAME`.  Everything runs in a process group of its own, with a time limit.  On
 * SIGINT, SIGTERM or SIGHUP, and after the time limit, the group gets SIGINT, SIGTERM and SIGKILL.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_RECORDING_H
#define VMOP_OPREPORT_COMPARE_RUN_RECORDING_H

#include <stdint.h>

#include "libutil/error.h"
#include "opreport/compare/run/process-tree.h"
#include "opreport/query/spec.h"

struct vmop_recording {
	const char *name;		  /* of the session */
	const char *session_dir;	  /* NULL: vmopcontrol's */
	const char *command;		  /* of sh(1) */
	const struct vmop_words *options; /* of vmopcontrol --run */
	uint64_t timeout_ns;
};

/*
 * Record the session.  tree is the command's processes; the caller deinitialises it also after an
 * error.  VMOP_ERROR_CANT: the recording or the command failed, or took longer; a signal is
 * VMOP_ERROR_CANT, too.  Errors name the session.
 */
struct vmop_error *vmop_recording_run(const struct vmop_recording *recording,
				      struct vmop_process_tree *tree);

#endif
