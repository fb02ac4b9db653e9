// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes that a command starts, and those that they start: found by looking again and again
 * at /proc/PID/task/TID/children while the command runs (proc(5), CONFIG_PROC_CHILDREN).  A process
 * that lives shorter than the time between two looks can be missed.  A process whose parent ended
 * stays in the tree.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_PROCESS_TREE_H
#define VMOP_OPREPORT_COMPARE_RUN_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libutil/error.h"

/* Processes of one tree at most.  Further ones are not followed. */
#define VMOP_PROCESS_TREE_MAX 4096

struct vmop_process_tree {
	pid_t *pids; /* n; the first one is the root */
	bool *are_gone;
	size_t n, capacity, gone_capacity;
};

/* Begin a tree with its root. */
struct vmop_error *vmop_process_tree_init(struct vmop_process_tree *tree, pid_t root);
void vmop_process_tree_deinit(struct vmop_process_tree *tree); /* a zeroed one, too */

/* Look once: add the new children of all processes that still live. */
struct vmop_error *vmop_process_tree_look(struct vmop_process_tree *tree);

/* Send a signal to the processes that live in a process group: a pid can be another's by now. */
void vmop_process_tree_kill(const struct vmop_process_tree *tree, pid_t group, int signal);

/* Return "tgid:1,2,3", which the caller frees, or NULL without memory. */
char *vmop_process_tree_spec(const struct vmop_process_tree *tree);

#endif
