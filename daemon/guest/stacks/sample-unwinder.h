// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call stacks of a passive guest's samples: unwinds the windows that were captured at a sample
 * (vmop/guest-context.h), in the guest's kernel by its ORC tables or frame records, and then in
 * user code by the CFI of the files that the process has mapped.
 *
 * Tables come from the guest's memory by way of the watching thread (watch.h), and are published in
 * its views. A stack that needs a table which is not there yet ends there, and the table is
 * requested for later samples. A table that is partial or could not be read is requested again, at
 * growing intervals: the guest may have read more of the file.
 *
 * Sampling thread. Per sample: bounded work, no allocation, no wait.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_SAMPLE_UNWINDER_H
#define VMOP_DAEMON_GUEST_STACKS_SAMPLE_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/view.h"
#include "libutil/error.h"
#include "vmop/guest-context.h"
#include "vmop/guest-frame.h"
#include "vmop/ids.h"
#include "vmop/stack.h"

struct vmop_guest_sample_unwinder;
struct vmop_guest_watch;
struct vmop_images;

struct vmop_guest_callers {
	/* Packed, innermost first, without the sampled address itself; kernel frames, then user. */
	uint64_t frames[VMOP_STACK_FRAMES_MAX];
	size_t n;
	enum vmop_stack_end end;
	/* The stack pointer was found by a search, or a caller in the link register. */
	bool is_likely;
};

/*
 * Create an unwinder for one watched guest. watch, by which it requests tables, must outlive it,
 * and so must images, among which files of the host may be the same as the guest's; NULL: none.
 * Destroy it with vmop_guest_sample_unwinder_destroy.
 */
struct vmop_error *vmop_guest_sample_unwinder_create(struct vmop_guest_watch *watch,
						     const struct vmop_images *images,
						     struct vmop_domain_id domain,
						     struct vmop_guest_sample_unwinder **ret);
void vmop_guest_sample_unwinder_destroy(struct vmop_guest_sample_unwinder *unwinder);

/*
 * Unwind. view: the guest's newest; NULL: none yet. process: the one of the context in the view's
 * lists; NULL: it is in none, and the user part ends at once.
 */
void vmop_guest_sample_unwinder_unwind(struct vmop_guest_sample_unwinder *unwinder,
				       const struct vmop_guest_view *view,
				       const struct vmop_guest_process *process,
				       const struct vmop_guest_context *context,
				       struct vmop_guest_callers *ret);

#endif
