// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples in generated code of processes that write a jitdump. Their functions are known when the
 * jitdump is read (daemon/host/jit/jitdumps.h), so they wait until their interval is stored. A
 * sample waits if it was taken in such code, or if a caller in its stack is such code.
 *
 * The queue has a fixed size; its memory is used only while samples wait. All functions belong to
 * the sampling thread.
 */
#ifndef VMOP_DAEMON_PROFILE_JIT_SAMPLES_H
#define VMOP_DAEMON_PROFILE_JIT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/jit/jitdumps.h"
#include "daemon/host/process.h"
#include "daemon/stack/frames.h"
#include "daemon/stack/waiting.h"
#include "libutil/error.h"

struct vmop_jit_samples;

struct vmop_jit_samples_options {
	struct vmop_images *images; /* this and jitdumps must outlive the samples */
	struct vmop_jitdumps *jitdumps;
	/*
	 * Receives each sample. pid is that of its process. frames are its callers, NULL if the
	 * sample has none.
	 */
	void (*release)(void *arg, const struct vmop_stack_sample *sample, uint32_t pid,
			const struct vmop_stack_frames *frames);
	void *arg;
};

/* Create a queue of size_bytes, which the caller owns. */
struct vmop_error *vmop_jit_samples_create(const struct vmop_jit_samples_options *options,
					   size_t size_bytes, struct vmop_jit_samples **ret);
void vmop_jit_samples_destroy(struct vmop_jit_samples *samples); /* NULL is allowed */

/*
 * Take a sample of process with its callers; frames may be NULL. False: nothing in it is generated
 * code, or there is no room. On the per-sample path.
 */
bool vmop_jit_samples_add(struct vmop_jit_samples *samples, const struct vmop_stack_sample *sample,
			  const struct vmop_process *process,
			  const struct vmop_stack_frames *frames);

/* Look up the functions and release all samples. is_last: see vmop_jitdumps_resolve. */
void vmop_jit_samples_release(struct vmop_jit_samples *samples, bool is_last);

/* Return the number of waiting samples. */
size_t vmop_jit_samples_n(const struct vmop_jit_samples *samples);

/* Return whether the queue is nearly full: flush now, or samples stay addresses. */
bool vmop_jit_samples_want_flush(const struct vmop_jit_samples *samples);

#endif
