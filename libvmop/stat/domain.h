// SPDX-License-Identifier: GPL-2.0-or-later
/* The KVM guest of a name: its VMM, and the threads that run its vCPUs. */
#ifndef VMOP_LIBVMOP_STAT_DOMAIN_H
#define VMOP_LIBVMOP_STAT_DOMAIN_H

#include <stddef.h>
#include <sys/types.h>

#include "libutil/error.h"

struct vmop_stat_domain {
	pid_t pid;   /* of the VMM */
	pid_t *tids; /* of the vCPUs' threads */
	size_t n;
};

/*
 * Find a running guest. The name is that of the VMM's command line, or "pid-PID". VMOP_ERROR_CANT:
 * no guest or several guests have it, or the threads of its vCPUs are unknown. root: before /proc
 * and /sys; "" but for tests. Free with vmop_stat_domain_deinit.
 */
struct vmop_error *vmop_stat_domain_find(const char *root, const char *name,
					 struct vmop_stat_domain *ret);
void vmop_stat_domain_deinit(struct vmop_stat_domain *domain);

#endif
