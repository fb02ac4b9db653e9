// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/worker.h"

#include "libutil/clock.h"
#include "libutil/thread.h"

#define END_WAIT_MS 1000

static void destroy(struct vmop_worker *worker)
{
	pthread_mutex_destroy(&worker->lock);
	pthread_cond_destroy(&worker->wake);
	worker->ops->destroy(worker);
}

static void *run(void *arg)
{
	struct vmop_worker *worker = arg;
	worker->ops->run(worker);
	pthread_mutex_lock(&worker->lock);
	bool is_orphan = worker->is_orphan;
	worker->has_ended = true;
	pthread_cond_broadcast(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	if (is_orphan)
		destroy(worker);
	return NULL;
}

struct vmop_error *vmop_worker_begin(struct vmop_worker *worker, const struct vmop_worker_ops *ops)
{
	worker->ops = ops;
	pthread_mutex_init(&worker->lock, NULL);
	vmop_thread_cond_init(&worker->wake);
	struct vmop_error *err = vmop_thread_begin(&worker->thread, ops->name, run, worker);
	if (!err)
		return NULL;
	pthread_mutex_destroy(&worker->lock);
	pthread_cond_destroy(&worker->wake);
	return err;
}

void vmop_worker_end_within(struct vmop_worker *worker, unsigned wait_ms)
{
	pthread_mutex_lock(&worker->lock);
	worker->is_ending = true;
	pthread_cond_broadcast(&worker->wake);
	struct timespec until = vmop_worker_deadline(wait_ms);
	while (!worker->has_ended && vmop_worker_wait(worker, &until))
		;
	/* If the thread hangs now, it frees the struct when it ends. */
	bool has_ended = worker->has_ended;
	worker->is_orphan = !has_ended;
	if (!has_ended)
		pthread_detach(worker->thread);
	pthread_mutex_unlock(&worker->lock);
	if (has_ended) {
		pthread_join(worker->thread, NULL);
		destroy(worker);
	}
}

void vmop_worker_end(struct vmop_worker *worker)
{
	vmop_worker_end_within(worker, END_WAIT_MS);
}

bool vmop_worker_is_ending(struct vmop_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	bool is_ending = worker->is_ending;
	pthread_mutex_unlock(&worker->lock);
	return is_ending;
}

struct timespec vmop_worker_deadline(unsigned milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += (long)(milliseconds % 1000) * (long)VMOP_NS_PER_MS;
	if (until.tv_nsec >= (long)VMOP_NS_PER_S) {
		until.tv_sec++;
		until.tv_nsec -= (long)VMOP_NS_PER_S;
	}
	return until;
}

bool vmop_worker_wait(struct vmop_worker *worker, const struct timespec *until)
{
	return pthread_cond_timedwait(&worker->wake, &worker->lock, until) == 0;
}
