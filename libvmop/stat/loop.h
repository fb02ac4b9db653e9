// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopstat's wait for the end of what it counts: a command, a process or a signal; with intervals.
 */
#ifndef VMOP_LIBVMOP_STAT_LOOP_H
#define VMOP_LIBVMOP_STAT_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libvmop/stat/command.h"
#include "libvmop/stat/time/time.h"

struct vmop_stat_loop {
	sigset_t old_signals; /* for the command */
	int signal_fd;
	int pid_fd;			   /* of a process whose end ends the loop; -1: none */
	struct vmop_stat_command *command; /* its pid is 0 without a command */
	struct vmop_stat_time *time;	   /* of --time, which also wakes up; NULL: none */
	bool is_over;
};

/*
 * Block the signals that end the program or announce the command's end, and read them from a
 * descriptor. Free with vmop_stat_loop_deinit, also after an error.
 */
struct vmop_error *vmop_stat_loop_init(struct vmop_stat_loop *loop,
				       struct vmop_stat_command *command);
void vmop_stat_loop_deinit(struct vmop_stat_loop *loop);

/* Take the end of an interval that began at since_ns, CLOCK_MONOTONIC. */
typedef struct vmop_error *vmop_stat_interval_fn(void *arg, uint64_t since_ns);

/*
 * Wait until the end. Every interval_ms from begin_ns on, and at the end, call each(); never if
 * interval_ms is 0. A command gets SIGTERM and SIGHUP, and goes on to be waited for.
 */
struct vmop_error *vmop_stat_loop_run(struct vmop_stat_loop *loop, uint64_t begin_ns,
				      uint64_t interval_ms, vmop_stat_interval_fn *each, void *arg);

#endif
