// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread whose calls can block for ever, as libxenstore's do while xenstored hangs. Its owner
 * never waits long for it. The last of the two to finish frees the struct that both use.
 *
 * The struct must begin with struct vmop_worker.
 */
#ifndef VMOP_LIBUTIL_WORKER_H
#define VMOP_LIBUTIL_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "libutil/error.h"

struct vmop_worker;

struct vmop_worker_ops {
	const char *name; /* see vmop_thread_begin */
	/*
	 * The thread's function; called without the lock. Must return soon after is_ending is set,
	 * unless a call blocks.
	 */
	void (*run)(struct vmop_worker *worker);
	void (*destroy)(struct vmop_worker *worker); /* frees the struct that begins with worker */
};

struct vmop_worker {
	const struct vmop_worker_ops *ops;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* signalled by either side */

	/* Protected by the lock. */
	bool is_ending;
	bool is_orphan, has_ended; /* set by the owner, or by the thread, when it is finished: the
				      second one frees */
};

/* Start the thread. After an error the caller frees only its own part of the struct. */
struct vmop_error *vmop_worker_begin(struct vmop_worker *worker, const struct vmop_worker_ops *ops);

/* Ask the thread to end and wait at most one second. The caller must not use worker afterwards. */
void vmop_worker_end(struct vmop_worker *worker);

/* Do the same with another time limit; 0 for a thread that is known to hang. */
void vmop_worker_end_within(struct vmop_worker *worker, unsigned wait_ms);

/* Return whether the owner has asked the thread to end. Takes the lock. */
bool vmop_worker_is_ending(struct vmop_worker *worker);

/* CLOCK_MONOTONIC. */
struct timespec vmop_worker_deadline(unsigned milliseconds);

/*
 * Wait until the other side signals, or until the time `until`. Needs the lock. Return false on a
 * timeout.
 */
bool vmop_worker_wait(struct vmop_worker *worker, const struct timespec *until);

#endif
