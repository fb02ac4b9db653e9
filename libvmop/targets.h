// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of a process at an instant. */
#ifndef VMOP_LIBVMOP_TARGETS_H
#define VMOP_LIBVMOP_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libutil/error.h"

#define VMOP_TARGETS_MAX 100000 /* threads */

struct vmop_targets {
	pid_t *tids; /* ascending */
	size_t n, capacity;
};

/* List the threads of pid, 0: this process. VMOP_ERROR_NOT_FOUND: there is no such process. */
struct vmop_error *vmop_targets_read(pid_t pid, struct vmop_targets *ret);
void vmop_targets_deinit(struct vmop_targets *targets);
bool vmop_targets_equal(const struct vmop_targets *a, const struct vmop_targets *b);

#endif
