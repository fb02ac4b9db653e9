// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/readers.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utlist.h>

#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/procfs.h"
#include "libutil/worker.h"

#define MAX_HALVINGS 4

/* One thread with its jobs. */
struct lane {
	struct vmop_worker worker;
	struct vmop_worker_ops ops; /* an abandoned thread outlives its readers */
	/* Under the worker's lock. */
	struct vmop_read_job *queue, *done;
	struct vmop_read_job *current;
	unsigned nice;	   /* fixed */
	pid_t tid;	   /* of the thread, if there is a current job */
	uint64_t since_ns; /* start of current */
	/* The owner's: the place of the current job when it was abandoned. */
	uint64_t hung_place;
};

struct vmop_readers {
	const char *name;
	unsigned job_ms;
	void *arg;
	struct lane *lane; /* NULL: not started */
	struct lane *hung[VMOP_READERS_HUNG_MAX];
	size_t n_hung;
	struct vmop_read_job *refused;
	size_t n_pending;
	unsigned nice;
	bool limit_was_logged;
};

/* ---- the thread ------------------------------------------------------------ */

/* Lower this thread's priority for CPUs and disks. Linux has both for each thread. */
static void be_nice(unsigned nice)
{
	/* linux/ioprio.h, which older headers lack: IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7) */
	const int who_process = 1, best_effort_7 = 2 << 13 | 7;
	if (!nice)
		return;
	setpriority(PRIO_PROCESS, (id_t)gettid(), (int)nice);
	syscall(SYS_ioprio_set, who_process, 0, best_effort_7);
}

static void run(struct vmop_worker *worker)
{
	struct lane *lane = (struct lane *)worker;
	be_nice(lane->nice);
	pthread_mutex_lock(&worker->lock);
	while (!worker->is_ending) {
		struct vmop_read_job *job = lane->queue;
		if (!job) {
			pthread_cond_wait(&worker->wake, &worker->lock);
			continue;
		}
		DL_DELETE(lane->queue, job);
		lane->current = job;
		lane->tid = gettid();
		lane->since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&worker->lock);
		job->ops->run(job);
		pthread_mutex_lock(&worker->lock);
		lane->current = NULL;
		DL_APPEND(lane->done, job);
		if (!lane->queue)
			pthread_cond_broadcast(&worker->wake);
	}
	pthread_mutex_unlock(&worker->lock);
}

static void destroy_jobs(struct vmop_read_job **jobs)
{
	struct vmop_read_job *job, *next;
	DL_FOREACH_SAFE(*jobs, job, next)
	{
		DL_DELETE(*jobs, job);
		job->ops->destroy(job);
	}
}

static void destroy_lane(struct vmop_worker *worker)
{
	struct lane *lane = (struct lane *)worker;
	destroy_jobs(&lane->queue);
	destroy_jobs(&lane->done);
	free(lane);
}

/* ---- the owner ------------------------------------------------------------- */

struct vmop_error *vmop_readers_create(const char *name, unsigned job_ms, unsigned nice, void *arg,
				       struct vmop_readers **ret)
{
	struct vmop_readers *readers = calloc(1, sizeof(*readers));
	if (!readers)
		return &vmop_error_no_memory;
	readers->name = name;
	readers->job_ms = job_ms;
	readers->nice = nice;
	readers->arg = arg;
	*ret = readers;
	return NULL;
}

void vmop_readers_destroy(struct vmop_readers *readers)
{
	if (!readers)
		return;
	for (size_t i = 0; i < readers->n_hung; i++)
		vmop_worker_end_within(&readers->hung[i]->worker, 0);
	if (readers->lane)
		vmop_worker_end(&readers->lane->worker);
	destroy_jobs(&readers->refused);
	free(readers);
}

static bool start_lane(struct vmop_readers *readers)
{
	if (readers->lane || readers->n_hung == VMOP_READERS_HUNG_MAX)
		return readers->lane;
	struct lane *lane = calloc(1, sizeof(*lane));
	if (!lane)
		return false;
	lane->nice = readers->nice;
	lane->ops = (struct vmop_worker_ops){
		.name = readers->name, .run = run, .destroy = destroy_lane};
	struct vmop_error *err = vmop_worker_begin(&lane->worker, &lane->ops);
	if (err) {
		vmop_log_and_destroy(VMOP_LOG_WARNING, err);
		free(lane);
		return false;
	}
	readers->lane = lane;
	return true;
}

static bool place_hangs(const struct vmop_readers *readers, uint64_t place)
{
	for (size_t i = 0; place && i < readers->n_hung; i++)
		if (readers->hung[i]->hung_place == place)
			return true;
	return false;
}

void vmop_readers_submit(struct vmop_readers *readers, struct vmop_read_job *job)
{
	bool can_run = readers->n_pending < VMOP_READERS_QUEUE_MAX &&
		       !place_hangs(readers, job->place) && start_lane(readers);
	readers->n_pending++;
	if (!can_run) {
		DL_APPEND(readers->refused, job);
		return;
	}
	struct lane *lane = readers->lane;
	pthread_mutex_lock(&lane->worker.lock);
	DL_APPEND(lane->queue, job);
	if (!lane->current)
		pthread_cond_broadcast(&lane->worker.wake);
	pthread_mutex_unlock(&lane->worker.lock);
}

size_t vmop_readers_pending(const struct vmop_readers *readers)
{
	return readers->n_pending;
}

/* Return the number of jobs. */
static size_t finish_all(struct vmop_readers *readers, struct vmop_read_job *jobs,
			 enum vmop_read_outcome outcome)
{
	struct vmop_read_job *job, *next;
	size_t n = 0;
	DL_FOREACH_SAFE(jobs, job, next)
	{
		DL_DELETE(jobs, job);
		job->ops->finish(job, outcome, readers->arg);
		job->ops->destroy(job);
		n++;
	}
	return n;
}

static unsigned patience_ms(const struct vmop_readers *readers)
{
	return readers->job_ms >> (readers->n_hung < MAX_HALVINGS ? readers->n_hung : MAX_HALVINGS);
}

/* Return whether a thread has a CPU or waits for one. */
static bool is_runnable(pid_t tid)
{
	struct vmop_procfs_stat stat;
	return vmop_procfs_stat("", (uint32_t)tid, &stat) && stat.state == 'R';
}

/* The caller holds the lane's lock. */
static bool is_hung(const struct vmop_readers *readers, const struct lane *lane)
{
	if (!lane->current)
		return false;
	uint64_t took_ns = vmop_clock_ns(CLOCK_MONOTONIC) - lane->since_ns;
	uint64_t patience_ns = patience_ms(readers) * VMOP_NS_PER_MS;
	return took_ns >= patience_ns * VMOP_READERS_BUSY_FACTOR ||
	       (took_ns >= patience_ns && !is_runnable(lane->tid));
}

/* Wait up to wait_ms, or until a job hangs. The caller holds the lane's lock. */
static void wait_for(const struct vmop_readers *readers, struct lane *lane, unsigned wait_ms)
{
	const struct timespec end = vmop_worker_deadline(wait_ms);
	while ((lane->queue || lane->current) && !is_hung(readers, lane)) {
		/* Wake up now and then, because the running job changes. */
		struct timespec look = vmop_worker_deadline(patience_ms(readers));
		bool is_end = look.tv_sec > end.tv_sec ||
			      (look.tv_sec == end.tv_sec && look.tv_nsec >= end.tv_nsec);
		if (!vmop_worker_wait(&lane->worker, is_end ? &end : &look) && is_end)
			break;
	}
}

/* Leave the hanging job to its thread, and give the others to a new thread. */
static void give_up(struct vmop_readers *readers, struct vmop_read_job *hung,
		    struct vmop_read_job *rest)
{
	struct lane *lane = readers->lane;
	struct vmop_read_job *job, *next;
	readers->n_pending--;
	/* Even if it returns right now, the job is freed with its lane. */
	lane->hung_place = hung->place;
	hung->ops->finish(hung, VMOP_READ_HUNG, readers->arg);
	readers->hung[readers->n_hung++] = lane;
	readers->lane = NULL;
	if (readers->n_hung == VMOP_READERS_HUNG_MAX && !readers->limit_was_logged) {
		readers->limit_was_logged = true;
		vmop_log_warning("%d files of programs hang when they are read: no more build-ids "
				 "and symbols are read until one of them answers",
				 VMOP_READERS_HUNG_MAX);
	}
	DL_FOREACH_SAFE(rest, job, next)
	{
		DL_DELETE(rest, job);
		readers->n_pending--;
		vmop_readers_submit(readers, job);
	}
}

/* End the threads that hung and returned, and take their results. */
static void end_returned(struct vmop_readers *readers)
{
	for (size_t i = 0; i < readers->n_hung;) {
		struct lane *lane = readers->hung[i];
		pthread_mutex_lock(&lane->worker.lock);
		bool has_returned = !lane->current;
		struct vmop_read_job *done = has_returned ? lane->done : NULL;
		if (has_returned)
			lane->done = NULL;
		pthread_mutex_unlock(&lane->worker.lock);
		if (!has_returned) {
			i++;
			continue;
		}
		readers->hung[i] = readers->hung[--readers->n_hung];
		finish_all(readers, done, VMOP_READ_DONE); /* not pending: it was abandoned */
		vmop_worker_end(&lane->worker);
	}
}

bool vmop_readers_collect(struct vmop_readers *readers, unsigned wait_ms)
{
	struct vmop_read_job *done, *hung = NULL, *rest = NULL, *refused = readers->refused;
	struct lane *lane = readers->lane;
	end_returned(readers);
	readers->refused = NULL;
	readers->n_pending -= finish_all(readers, refused, VMOP_READ_REFUSED);
	if (!lane)
		return readers->n_pending == 0;
	pthread_mutex_lock(&lane->worker.lock);
	if (wait_ms)
		wait_for(readers, lane, wait_ms);
	done = lane->done;
	lane->done = NULL;
	if (is_hung(readers, lane)) {
		hung = lane->current;
		rest = lane->queue;
		lane->queue = NULL;
	}
	pthread_mutex_unlock(&lane->worker.lock);
	readers->n_pending -= finish_all(readers, done, VMOP_READ_DONE);
	if (hung)
		give_up(readers, hung, rest);
	return readers->n_pending == 0;
}

/* Return whether a job waits for the thread, or its thread for a CPU. */
static bool is_busy(const struct vmop_readers *readers)
{
	struct lane *lane = readers->lane;
	if (!lane)
		return false;
	pthread_mutex_lock(&lane->worker.lock);
	bool ret = lane->current ? is_runnable(lane->tid) : lane->queue || lane->done;
	pthread_mutex_unlock(&lane->worker.lock);
	return ret;
}

bool vmop_readers_collect_last(struct vmop_readers *readers, unsigned wait_ms)
{
	const unsigned step_ms = 100;
	uint64_t began_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	unsigned waited_ms = 0;
	while (waited_ms < wait_ms ||
	       (waited_ms < wait_ms * VMOP_READERS_BUSY_FACTOR && is_busy(readers))) {
		unsigned next_ms = wait_ms - waited_ms;
		if (vmop_readers_collect(readers, waited_ms < wait_ms ? next_ms : step_ms))
			return true;
		waited_ms =
			(unsigned)((vmop_clock_ns(CLOCK_MONOTONIC) - began_ns) / VMOP_NS_PER_MS);
	}
	return readers->n_pending == 0;
}
