// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns a captured stack into frames: the callers of the sampled code, each with its
 * image and offset, and the reason why the stack ends.
 */
#ifndef VMOP_DAEMON_STACK_FRAMES_H
#define VMOP_DAEMON_STACK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "daemon/host/kernel.h"
#include "daemon/host/regions.h"
#include "daemon/stack/deferred.h"
#include "daemon/stack/tables.h"
#include "daemon/stack/tree.h"
#include "libstack/unwind.h"
#include "vmop/stack.h"

/* The knowledge that a stack lacks now and may get later. */
enum vmop_stack_lack {
	VMOP_STACK_LACKS_TABLE = 1 << 0,       /* an unwind table is being built */
	VMOP_STACK_LACKS_MAPS = 1 << 1,	       /* the process's mappings are read at the flush */
	VMOP_STACK_LACKS_KERNEL_TEXT = 1 << 2, /* kernel text that is read at the flush */
	VMOP_STACK_LACKS_USER_PART = 1 << 3,   /* the user frames come in a later record */
};

/* The task of a sample. */
struct vmop_stack_task {
	uint32_t pid;
	struct vmop_regions *regions; /* NULL: unknown, or none */
	bool is_unread;		      /* the regions are read at the flush */
	bool is_end_known; /* the capture has only inner frames of a stack that was checked */
	bool is_outdated;  /* the kernel unwound the user part by mappings that do not hold */
	bool is_kernel_thread;
};

struct vmop_stack_frames {
	struct vmop_stack_caller at[VMOP_STACK_FRAMES_MAX]; /* innermost first */
	size_t n;
	enum vmop_stack_end end;
	unsigned lacks; /* enum vmop_stack_lack; then end and the outer frames are provisional */
	/* The largest vmop_stack_tables_kernel_age of the code that a copied stack leads through.
	 */
	uint32_t kernel_age;
};

/* The tables by which stacks become frames; they belong to the caller. */
struct vmop_stack_framer {
	struct vmop_images *images;
	struct vmop_kernel *kernel;
	struct vmop_stack_tables *tables;
	struct vmop_unwinder *unwinder;
	const struct vmop_deferred_stacks *deferred;
	size_t max_frames;   /* at most VMOP_STACK_FRAMES_MAX */
	bool has_user_parts; /* the source captures the user part of stacks */
};

/*
 * Set *ret to the callers of the code that was sampled in kernel mode (is_kernel) or user mode. On
 * the per-sample path.
 */
void vmop_stack_framer_resolve(struct vmop_stack_framer *framer, const struct vmop_stack_task *task,
			       const struct vmop_stack_capture *capture, bool is_kernel,
			       struct vmop_stack_frames *ret);

#endif
