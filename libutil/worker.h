// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread whose calls may hang for ever, as libxenstore's do when xenstored does: whoever owns it
 * never waits for it for long, and what it works on is freed by whichever of the two is last.
 *
 * It begins the struct that it works on.
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
	/* The thread; without the lock.  Returns soon after is_ending was set, unless it hangs. */
	void (*run)(struct vmop_worker *worker);
	void (*destroy)(struct vmop_worker *worker); /* frees the struct that worker begins */
};

struct vmop_worker {
	const struct vmop_worker_ops *ops;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* either side */

	/* Under the lock. */
	bool is_ending;
	bool is_orphan, has_ended; /* the owner has gone first, or the thread: who frees */
};

/* After an error nothing is left to be undone but the caller's own. */
struct vmop_error *vmop_worker_begin(struct vmop_worker *worker, const struct vmop_worker_ops *ops);

/* Tells it to end and gives it a second for that; worker is not the caller's any more. */
void vmop_worker_end(struct vmop_worker *worker);

/* The same with another time than a second; 0 for a thread that is known to hang. */
void vmop_worker_end_within(struct vmop_worker *worker, unsigned wait_ms);

/* CLOCK_MONOTONIC. */
struct timespec vmop_worker_deadline(unsigned milliseconds);

/* With the lock held: until the other side wakes this one.  False: the time is over. */
bool vmop_worker_wait(struct vmop_worker *worker, const struct timespec *until);

#endif
