// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that reads files of other users for the sampling thread.
 *
 * Any read of such a file can block for ever, whatever the flags: the file can be on FUSE or NFS,
 * and /proc/PID/maps waits for a lock that the process can hold. A job that is not done in time is
 * abandoned with its thread, and another thread runs the other jobs.
 *
 * One thread, the owner, calls all functions.
 */
#ifndef VMOP_LIBUTIL_READERS_H
#define VMOP_LIBUTIL_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* The number of waiting jobs; more are refused. Enough for one job per image. */
#define VMOP_READERS_QUEUE_MAX 16384
/* The number of hanging threads. At this number, no file is read until one of them returns. */
#define VMOP_READERS_HUNG_MAX 64
/* How many times as long a job may take while its thread has a CPU or waits for one. */
#define VMOP_READERS_BUSY_FACTOR 4
struct vmop_readers;
struct vmop_read_job;

enum vmop_read_outcome {
	VMOP_READ_DONE,
	VMOP_READ_HUNG,	   /* abandoned; VMOP_READ_DONE follows if it returns */
	VMOP_READ_REFUSED, /* not run: no thread is left, or its place hangs */
};

struct vmop_read_job_ops {
	/* Do the job, on a thread of the readers. */
	void (*run)(struct vmop_read_job *job);
	/*
	 * Take the result, on the owner's thread, in vmop_readers_collect. If the outcome is not
	 * VMOP_READ_DONE, run() may still be writing the result.
	 */
	void (*finish)(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg);
	/* Free the job, on any thread. */
	void (*destroy)(struct vmop_read_job *job);
};

struct vmop_read_job {
	const struct vmop_read_job_ops *ops;
	/*
	 * A device, for example. While one job of a place hangs, no other job of that place is
	 * run. 0: no place.
	 */
	uint64_t place;
	struct vmop_read_job *prev, *next;
};

/*
 * name is the name of the threads (vmop_thread_begin). The first job starts the thread. arg is
 * passed to finish().
 *
 * A job that takes longer than job_ms hangs, unless its thread has a CPU or waits for one: a busy
 * machine may take VMOP_READERS_BUSY_FACTOR times as long. Each hanging job halves that time for
 * the next ones, down to a sixteenth. The wait for all hanging jobs together is so at most six
 * times job_ms, or on a busy machine that factor times as long.
 *
 * The threads run at that nice value, and unless it is 0 they read at the lowest priority above
 * idle: an idle one could starve and would be taken for hanging.
 */
struct vmop_error *vmop_readers_create(const char *name, unsigned job_ms, unsigned nice, void *arg,
				       struct vmop_readers **ret);

/*
 * Wait up to a second for a running job. A thread that hangs is abandoned, and frees its job when
 * it returns. Unfinished jobs are destroyed. NULL is allowed.
 */
void vmop_readers_destroy(struct vmop_readers *readers);

/* Take over job. A later vmop_readers_collect finishes it, also if it can't be run. */
void vmop_readers_submit(struct vmop_readers *readers, struct vmop_read_job *job);

/*
 * Finish the jobs that are done, hang or were refused. Wait up to wait_ms until no job is left.
 * Return true if no job is left.
 */
bool vmop_readers_collect(struct vmop_readers *readers, unsigned wait_ms);

/*
 * Finish all jobs: wait wait_ms, and then up to VMOP_READERS_BUSY_FACTOR times as long while the
 * thread of the running job has a CPU or waits for one. Return true if no job is left.
 */
bool vmop_readers_collect_last(struct vmop_readers *readers, unsigned wait_ms);

/* Return the number of submitted, unfinished jobs. */
size_t vmop_readers_pending(const struct vmop_readers *readers);

#endif
