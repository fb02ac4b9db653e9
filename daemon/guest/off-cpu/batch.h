// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocked threads of a guest, summed by thread and stack between two flushes: what the watching
 * thread found (sampler.h), on its way to the sampling thread.
 *
 * A batch has one owner at a time.
 */
#ifndef VMOP_DAEMON_GUEST_OFF_CPU_BATCH_H
#define VMOP_DAEMON_GUEST_OFF_CPU_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/stack.h"

/* The bounds of a batch. What exceeds them is counted (struct vmop_blocked_facts). */
#define VMOP_BLOCKED_STACKS_MAX 65536u
#define VMOP_BLOCKED_FRAMES_MAX (1024u * 1024)

/* A blocked thread of a process. */
struct vmop_blocked_thread {
	uint32_t pid;	  /* of the process, as in the guest's initial namespace */
	uint64_t pgd_gpa; /* of its page table; 0: a kernel thread */
	/*
	 * Addresses in the calls, innermost first: those in the kernel, then those in user code.
	 * At least one.
	 */
	const uint64_t *frames;
	uint32_t n_frames, n_kernel;
	enum vmop_stack_end end;
};

/* The time that it was blocked with that stack. */
struct vmop_blocked_time {
	uint64_t n_samples;
	uint64_t ns;
};

/* Totals of one guest since the session found its kernel. */
struct vmop_blocked_facts {
	uint64_t n_rounds;  /* readings of the guest's threads */
	uint64_t n_reused;  /* of these: nothing had run since the one before */
	uint64_t n_missed;  /* rounds that --guest-cpu did not allow, or that came too late */
	uint64_t n_torn;    /* threads that changed on each try */
	uint64_t n_refused; /* samples above a bound */
	uint64_t cpu_ns;    /* of all rounds */
	uint32_t n_threads; /* in the last round */
	uint32_t n_counted; /* of these: blocked, in one of the states that count */
	uint32_t n_running; /* of these: on a vCPU, or torn */
	uint32_t n_new;	    /* of these: their stacks were read anew */
};

struct vmop_blocked_batch;

/* Create an empty batch. The caller owns it. NULL: out of memory. */
struct vmop_blocked_batch *vmop_blocked_batch_create(void);
void vmop_blocked_batch_destroy(struct vmop_blocked_batch *batch); /* NULL is allowed */

size_t vmop_blocked_batch_n(const struct vmop_blocked_batch *batch);

/*
 * Append a copy of thread with its time, and set *ret to its index. False: a bound, or memory, is
 * exhausted.
 */
bool vmop_blocked_batch_add(struct vmop_blocked_batch *batch,
			    const struct vmop_blocked_thread *thread, struct vmop_blocked_time time,
			    size_t *ret);

/* Add time to the thread at index i. */
void vmop_blocked_batch_extend(struct vmop_blocked_batch *batch, size_t i,
			       struct vmop_blocked_time time);

/* Set *ret and *ret_time to the thread at index i. Its frames are valid until the next change. */
void vmop_blocked_batch_get(const struct vmop_blocked_batch *batch, size_t i,
			    struct vmop_blocked_thread *ret, struct vmop_blocked_time *ret_time);

#endif
