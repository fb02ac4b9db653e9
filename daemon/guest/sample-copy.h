// SPDX-License-Identifier: GPL-2.0-or-later
/* The receiver of copies of active guests' samples, beside their attribution. */
#ifndef VMOP_DAEMON_GUEST_SAMPLE_COPY_H
#define VMOP_DAEMON_GUEST_SAMPLE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "vmop/record.h"

struct vmop_guest_callers; /* stacks/sample-unwinder.h */

/*
 * Take a sample of a guest's code: the guest's VMM, the vCPU (-1: not known), the mode, and the
 * sample's callers (NULL: it has no stack). On the per-sample path.
 */
struct vmop_sample_copy {
	void (*take)(void *arg, uint32_t vmm_pid, const struct vmop_record *record, int32_t vcpu,
		     bool is_kernel,
		     const struct vmop_guest_callers *callers); /* NULL: no one takes them */
	void *arg;
};

#endif
