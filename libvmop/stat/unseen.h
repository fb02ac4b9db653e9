// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds commands of which a part was not counted. The kernel ends the counters of a process that
 * executes a program with other rights (begin_new_exec() in fs/exec.c), and reports it nowhere.
 */
#ifndef VMOP_LIBVMOP_STAT_UNSEEN_H
#define VMOP_LIBVMOP_STAT_UNSEEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "libvmop/stat/command.h"
#include "libvmop/stat/counts.h"

/*
 * Count, from the next execve(2) of the process on, what getrusage(2) knows as well. Free with
 * vmop_stat_counts_close().
 */
struct vmop_error *vmop_stat_unseen_open(pid_t pid, struct vmop_stat_counts **ret);

/*
 * Set *ret to whether the usage of the command, which has ended, is larger than its counts. An
 * uncounted program has both CPU time and page faults. Where the user may not count the kernel's
 * faults, only the CPU time is compared.
 */
struct vmop_error *vmop_stat_unseen_check(struct vmop_stat_counts *witness,
					  const struct vmop_stat_command *command, bool *ret);

#endif
