// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Record a session while a command runs, through vmopcontrol: `vmopcontrol --run -- COMMAND`, then
 * `vmopcontrol --save=NAME`.  Everything runs in a process group of its own, with a time limit.  On
 * SIGINT, SIGTERM or SIGHUP, and after the time limit, the group gets SIGINT, SIGTERM and SIGKILL.
 *
 * The command begins once the session runs and has the guest's domain; with waits_for_guest, once
 * the daemon knows the guest's kernel, or has not found one for a time.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_RECORDING_H
#define VMOP_OPREPORT_COMPARE_RUN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/compare/run/process-tree.h"
#include "opreport/query/spec.h"

struct vmop_recording {
	const char *name;		  /* of the session */
	const char *session_dir;	  /* NULL: vmopcontrol's */
	const char *command;		  /* of sh(1) */
	const struct vmop_words *options; /* of vmopcontrol --run */
	const char *guest;		  /* a domain that must run, too */
	bool waits_for_guest;
	uint64_t timeout_ns; /* of the command */
};

/* The result of a recording. */
struct vmop_recorded {
	struct vmop_process_tree tree; /* the command's processes */
	uint64_t from_ns;	       /* CLOCK_REALTIME: the command's begin; 0: it did not */
};

/*
 * Record the session.  The caller deinitialises ret->tree also after an error.  VMOP_ERROR_CANT:
 * there is no such guest, or the recording or the command failed, or took longer; a signal is
 * VMOP_ERROR_CANT, too.  Errors name the session.
 */
struct vmop_error *vmop_recording_run(const struct vmop_recording *recording,
				      struct vmop_recorded *ret);

#endif
