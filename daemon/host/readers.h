// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that reads files of other users, on behalf of the sampling thread.
 *
 * Any read of such a file can block for ever, whatever the flags: the file can lie on FUSE or NFS,
 * and /proc/PID/maps waits for a lock that the process can hold.  A job that is not done in time
 * is given up: its thread is left behind with it, and another thread goes on with the others.
 *
 * All functions are called by one thread, the owner.
 */
#ifndef VMOP_DAEMON_HOST_READERS_H
#define VMOP_DAEMON_HOST_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* Jobs that may wait at once; more are refused.  One each for as many images as there may be. */
#define VMOP_READERS_QUEUE_MAX 16384
/* Threads that may hang at once.  Beyond it nothing more is read until one of them comes back. */
#define VMOP_READERS_HUNG_MAX 64
struct vmop_readers;
struct vmop_read_job;

enum vmop_read_outcome {
	VMOP_READ_DONE,
	VMOP_READ_HUNG,	   /* given up; VMOP_READ_DONE follows if it comes back */
	VMOP_READ_REFUSED, /* never run: no thread is left, or its place hangs */
};

struct vmop_read_job_ops {
	/* On a thread of the readers. */
	void (*run)(struct vmop_read_job *job);
	/*
	 * On the owner's thread, in vmop_readers_collect: takes up what was read.  Unless the
	 * outcome is VMOP_READ_DONE, run() may still write what it writes.
	 */
	void (*finish)(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg);
	/* Frees the job, on any thread. */
	void (*destroy)(struct vmop_read_job *job);
};

struct vmop_read_job {
	const struct vmop_read_job_ops *ops;
	/*
	 * A device, for instance: while one job of a place hangs, no other one of it is run.
	 * 0: none.
	 */
	uint64_t place;
	struct vmop_read_job *prev, *next;
};

/*
 * name is the threads', see vmop_thread_begin.  The thread is started with the first job.
 * A job that takes longer than job_ms hangs.  While others hang it is given half of that for each
 * of them, but at least a sixteenth, so that all that hang together are waited for six times
 * job_ms. arg is given to finish().
 */
struct vmop_error *vmop_readers_create(const char *name, unsigned job_ms, void *arg,
				       struct vmop_readers **ret);

/*
 * Gives a thread that reads a second to end; one that hangs is left behind and frees what it
 * works on when it comes back.  Jobs that were not finished are destroyed.  NULL is allowed.
 */
void vmop_readers_destroy(struct vmop_readers *readers);

/* Takes over job.  It is finished by a later vmop_readers_collect, also where it can't be run. */
void vmop_readers_submit(struct vmop_readers *readers, struct vmop_read_job *job);

/*
 * Finishes what is done, hangs or was refused.  Waits until no job is left, up to wait_ms.
 * Returns whether none is left.
 */
bool vmop_readers_collect(struct vmop_readers *readers, unsigned wait_ms);

/* Jobs that were submitted and not finished. */
size_t vmop_readers_pending(const struct vmop_readers *readers);

#endif
