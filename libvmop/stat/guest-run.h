// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command that is run and counted in a guest: a program on the host, such as ssh, gets a command
 * line for the guest's shell, in which the guest's vmopstat counts the command. Its counts are the
 * standard output; what the command prints goes to the standard error.
 */
#ifndef VMOP_LIBVMOP_STAT_GUEST_RUN_H
#define VMOP_LIBVMOP_STAT_GUEST_RUN_H

#include <signal.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libvmop/stat/guest-rows.h"

struct vmop_guest_run {
	const char *guest;     /* its name, for messages */
	const char *transport; /* for sh(1) on the host; it gets one more argument, the line */
	const char *events;
	uint64_t n_runs;
	char *const *command;
	const sigset_t *signals; /* the mask of the transport */
	int signal_fd;		 /* of a signalfd: these end the run */
};

/*
 * Make the line for the guest's shell. Each argument is quoted, so that no character in it means
 * anything to the shell. The caller frees it.
 */
struct vmop_error *vmop_guest_run_line(const struct vmop_guest_run *run, char **ret);

/* Run it. *ret_status: the command's, as the transport passes it on. */
struct vmop_error *vmop_guest_run(const struct vmop_guest_run *run, struct vmop_guest_rows *ret,
				  int *ret_status);

#endif
