// SPDX-License-Identifier: GPL-2.0-or-later
/* The command that vmopstat runs: a child that waits until the counters are open. */
#ifndef VMOP_LIBVMOP_STAT_COMMAND_H
#define VMOP_LIBVMOP_STAT_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libutil/error.h"

struct vmop_stat_command {
	pid_t pid;     /* 0: none */
	int go_fd;     /* closing it lets the child execute; -1: done */
	int report_fd; /* the child's errno, if it cannot execute */
	bool has_ended;
	int status;	      /* of waitpid(2) */
	long n_faults_before; /* page faults before its program runs */
	/* CPU time, voluntary switches, and later faults: also of children that it waited for. */
	double user_s, system_s;
	long n_switches, n_faults;
};

/*
 * Make the child, which restores signals and waits. out_fd: its standard output, or -1. Free with
 * vmop_stat_command_deinit.
 */
struct vmop_error *vmop_stat_command_prepare(char **argv, const sigset_t *signals, int out_fd,
					     struct vmop_stat_command *ret);

/* Let it execute. VMOP_ERROR_NOT_FOUND or VMOP_ERROR_CANT: it could not. */
struct vmop_error *vmop_stat_command_go(struct vmop_stat_command *command, const char *name);

/* Take its status if it has ended. */
struct vmop_error *vmop_stat_command_check(struct vmop_stat_command *command);

/* Return the exit status as a shell has it: 128 and the signal's number for a killed command. */
int vmop_stat_command_exit_status(const struct vmop_stat_command *command);

/* End a child that still waits or runs. */
void vmop_stat_command_deinit(struct vmop_stat_command *command);

/*
 * Return whether executing name would change the user or the group, or add capabilities. The kernel
 * then ends all counting of the process.
 */
bool vmop_stat_command_changes_rights(const char *name);

#endif
