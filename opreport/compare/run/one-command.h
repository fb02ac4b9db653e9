// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program on the host and in a guest by one command: record both, compare them, and write what
 * people look at into a directory.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_ONE_COMMAND_H
#define VMOP_OPREPORT_COMPARE_RUN_ONE_COMMAND_H

#include "opreport/compare/request.h"

struct vmop_one_command {
	const char *run;       /* --run: a command of sh(1) on the host */
	const char *guest;     /* --guest: the guest's name, or "host" */
	const char *guest_run; /* --guest-run: a command on the host that makes the guest work */
	struct vmop_words options; /* --record: of vmopcontrol --run */
	uint64_t timeout_ns;	   /* --timeout: of each of the two recordings */
};

/*
 * Record the sessions NAME-host and NAME-guest, where NAME is the last part of the request's
 * output directory.  Side A is the host's processes of `run`, side B the guest (or those of
 * guest_run).  Then print the request's output, and write into the directory joined.csv, and for
 * each event EVENT.csv, EVENT.svg (where vmop has charts) and EVENT.html.  The request's
 * sides are unused, its common specs apply.
 */
struct vmop_error *vmop_one_command_run(const struct vmop_one_command *command,
					const struct vmop_compare_request *request);

#endif
