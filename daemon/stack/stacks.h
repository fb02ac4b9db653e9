// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks of the host's samples: turns the capture of a sample into the id of a stack,
 * and stores the session's tree of stacks.
 *
 * Caller: daemon/profile. Data meets the files in this order:
 *	tables.h	unwind tables of the sampled images, built on a thread of their own
 *	frames.h	a capture becomes callers with images and offsets
 *	waiting.h	samples whose tables are being built
 *	tree.h		callers become nodes of the session's tree, stored with each interval
 * and with --callgraph=bpf, where the kernel unwinds user stacks by the same tables:
 *	flat-table.h	a table in the kernel's form
 *	kernel-tables.h	tables are copied into the kernel, on a thread of their own
 *	kernel-spaces.h	the kernel learns the mappings of sampled processes, and is believed as long
 *			as they hold
 *
 * A sample waits if a table, the mappings of its process or the kernel's text are not known yet, at
 * most until its interval is stored. No sample is lost for want of its stack: the stack then ends
 * where the knowledge does, and names the reason (enum vmop_stack_end).
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_STACK_STACKS_H
#define VMOP_DAEMON_STACK_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/kernel.h"
#include "daemon/host/process.h"
#include "daemon/stack/frames.h"
#include "daemon/stack/kernel-spaces.h"
#include "daemon/stack/tables.h"
#include "daemon/stack/tree.h"
#include "daemon/stack/waiting.h"
#include "libdb/db.h"
#include "libutil/error.h"
#include "vmop/stack.h"

struct vmop_stacks;

struct vmop_stacks_options {
	struct vmop_processes *processes; /* this and the next two must outlive the stacks */
	struct vmop_kernel *kernel;
	const struct vmop_image *vdso;
	uint32_t max_frames;   /* the depth limit; at most VMOP_STACK_FRAMES_MAX */
	bool has_user_parts;   /* the source captures the user part of stacks */
	uint64_t memory_bytes; /* for all tables; 0: no limit but their own */
	/* By which the kernel unwinds user stacks; NULL: it does not. Must outlive the stacks. */
	struct vmop_unwind_maps *unwind_maps;
	/*
	 * Takes a sample of a process with a jitdump, before its callers become a stack. It gives
	 * them to vmop_stacks_intern later. False: not taken. May be NULL.
	 */
	bool (*hold)(void *arg, const struct vmop_stack_sample *sample,
		     const struct vmop_process *process, const struct vmop_stack_frames *frames);
	/* Receives each sample that waited, with its stack. */
	void (*release)(void *arg, const struct vmop_stack_sample *sample);
	void *arg;
};

struct vmop_error *vmop_stacks_create(const struct vmop_stacks_options *options,
				      struct vmop_stacks **ret);
void vmop_stacks_destroy(struct vmop_stacks *stacks); /* NULL is allowed */

/*
 * Set sample->key.stack to the stack in capture, above sample->below if it is complete, or as far
 * as it was recorded. process may be NULL. is_kernel: the sampled code is the kernel's. False: the
 * sample waits, and is passed to release later, or it was held. On the per-sample path.
 */
bool vmop_stacks_find(struct vmop_stacks *stacks, struct vmop_stack_sample *sample,
		      struct vmop_process *process, const struct vmop_stack_capture *capture,
		      bool is_kernel);

/* Note that process ended, or called execve(2). */
void vmop_stacks_process_gone(struct vmop_stacks *stacks, struct vmop_process *process);

/*
 * Return the stack of a sample that was held. Changes frames->end if there is no room for the
 * stack.
 */
struct vmop_stack_id vmop_stacks_intern(struct vmop_stacks *stacks, uint32_t pid,
					struct vmop_stack_frames *frames);

/*
 * Return the node of the first of a guest's frames, for struct vmop_stack_sample.below. It is valid
 * until the interval is stored. The id is 0 if there is no room. On the per-sample path.
 */
struct vmop_stack_node vmop_stacks_intern_guest(struct vmop_stacks *stacks,
						const struct vmop_stack_frames *frames);

/* Add the user part of the samples that have this cookie. On the per-sample path. */
void vmop_stacks_add_user_part(struct vmop_stacks *stacks, uint64_t cookie,
			       const struct vmop_stack_capture *capture);

/* Release the samples whose stacks are complete now. Call it after each drain. */
void vmop_stacks_advance(struct vmop_stacks *stacks);

/*
 * Release all waiting samples, before their interval is stored. A table that is being built gets up
 * to wait_ms.
 */
void vmop_stacks_release_all(struct vmop_stacks *stacks, unsigned wait_ms);

/* Return whether a waiting sample needs kernel text that is unknown (vmop_kernel_refresh). */
bool vmop_stacks_lack_kernel_text(const struct vmop_stacks *stacks);

/* Return the number of waiting samples. */
size_t vmop_stacks_waiting(const struct vmop_stacks *stacks);

/* Return whether the tables are nearly full: flush now, or stacks are cut. */
bool vmop_stacks_want_flush(const struct vmop_stacks *stacks);

/* Put the new nodes into the open interval of db, after the rows of their images. */
struct vmop_error *vmop_stacks_store(struct vmop_stacks *stacks, struct vmop_db *db);

/*
 * While memory is short, keep no further stacks, count those, and give back tables that can be
 * built again. Call it after vmop_stacks_stored.
 */
void vmop_stacks_save_memory(struct vmop_stacks *stacks, bool is_short);

/*
 * Note that the interval was committed, or that its samples were given up. Stack ids from before
 * are no longer valid.
 */
void vmop_stacks_stored(struct vmop_stacks *stacks);

struct vmop_stacks_facts {
	uint64_t n_stacks;		      /* samples with a stack */
	uint64_t n_by_end[VMOP_N_STACK_ENDS]; /* the same by the reason of the end */
	uint64_t n_waited, n_queue_full;      /* samples that waited, or found the queue full */
	/* User stacks that the kernel unwound, and that it copied. */
	uint64_t n_by_kernel, n_copied;
	struct vmop_stack_tree_facts tree;
	struct vmop_stack_tables_facts tables;
	/* With --callgraph=bpf. */
	struct vmop_kernel_spaces_facts spaces;
	struct vmop_unwind_maps_facts maps;
};
void vmop_stacks_facts(const struct vmop_stacks *stacks, struct vmop_stacks_facts *ret);

#endif
