// SPDX-License-Identifier: GPL-2.0-or-later
/* The receiver of copies of active guests' samples, beside their attribution. */
#ifndef VMOP_DAEMON_GUEST_SAMPLE_COPY_H
#define VMOP_DAEMON_GUEST_SAMPLE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "vmop/record.h"

struct vmop_guest_callers; /* stacks/sample-unwinder.h */

/* A sample of a guest's code, valid only during the call. */
struct vmop_copied_sample {
	uint32_t vmm_pid; /* the guest's VMM */
	int32_t vcpu;	  /* -1: not known */
	const struct vmop_record *record;
	const struct vmop_guest_callers *callers; /* NULL: it has no stack */
	bool is_kernel;
	bool is_nested; /* the code is that of a guest that this guest ran */
};

struct vmop_sample_copy {
	/* Take a sample. On the per-sample path. NULL: no one takes them. */
	void (*take)(void *arg, const struct vmop_copied_sample *sample);
	void *arg;
};

#endif
