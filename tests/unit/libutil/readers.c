// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/readers.h"

#include <cmocka.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/clock.h"
#include "tests/unit/ok.h"

/* Shared by the jobs of a test. */
struct tally {
	unsigned done, hung, refused;
	unsigned sum;
	int nice, io_priority; /* of the last job */
};

/* Read a byte from a pipe, which hangs until one comes. */
struct read_byte {
	struct vmop_read_job job;
	int fd;
	unsigned busy_ms;	   /* it computes so long before */
	volatile bool *is_endless; /* or NULL: it computes until that is false */
	unsigned value;
	int nice, io_priority; /* of the thread that ran it */
};

static void run(struct vmop_read_job *job)
{
	struct read_byte *read_byte = (struct read_byte *)job;
	unsigned char byte = 0;
	uint64_t began_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	while (vmop_clock_ns(CLOCK_MONOTONIC) - began_ns < read_byte->busy_ms * VMOP_NS_PER_MS ||
	       (read_byte->is_endless && *read_byte->is_endless))
		;
	if (read_byte->fd >= 0 && read(read_byte->fd, &byte, 1) < 0)
		abort();
	read_byte->value += byte;
	read_byte->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	read_byte->io_priority = (int)syscall(SYS_ioprio_get, 1, 0);
}

static void finish(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct tally *tally = arg;
	tally->done += outcome == VMOP_READ_DONE;
	tally->hung += outcome == VMOP_READ_HUNG;
	tally->refused += outcome == VMOP_READ_REFUSED;
	if (outcome != VMOP_READ_DONE)
		return;
	tally->sum += ((struct read_byte *)job)->value;
	tally->nice = ((struct read_byte *)job)->nice;
	tally->io_priority = ((struct read_byte *)job)->io_priority;
}

static void destroy(struct vmop_read_job *job)
{
	free(job);
}

static const struct vmop_read_job_ops ops = {.run = run, .finish = finish, .destroy = destroy};

/* Submit a job. With fd -1 it has its value at once. */
static void submit(struct vmop_readers *readers, int fd, unsigned value, uint64_t place)
{
	struct read_byte *job = calloc(1, sizeof(*job));
	assert_non_null(job);
	*job = (struct read_byte){.job = {.ops = &ops, .place = place}, .fd = fd, .value = value};
	vmop_readers_submit(readers, &job->job);
}

static void collect_until(struct vmop_readers *readers, const unsigned *counter, unsigned wanted)
{
	while (*counter < wanted)
		vmop_readers_collect(readers, 100);
}

static void jobs_are_done_in_their_order(void **state)
{
	struct tally tally = {0};
	struct vmop_readers *readers;
	(void)state;
	assert_ok(vmop_readers_create("test", 500, 0, &tally, &readers));
	assert_true(vmop_readers_collect(readers, 0));
	for (unsigned i = 1; i <= 100; i++)
		submit(readers, -1, i, 0);
	while (!vmop_readers_collect(readers, 1000))
		;
	assert_int_equal(tally.done, 100);
	assert_int_equal(tally.sum, 5050);
	assert_int_equal(vmop_readers_pending(readers), 0);
	vmop_readers_destroy(readers);
}

/* Run a job in a thread of that nice value, and set *ret to what it saw. */
static void run_nice(unsigned nice, struct tally *ret)
{
	struct vmop_readers *readers;
	*ret = (struct tally){0};
	assert_ok(vmop_readers_create("test", 500, nice, ret, &readers));
	submit(readers, -1, 1, 0);
	while (!vmop_readers_collect(readers, 1000))
		;
	vmop_readers_destroy(readers);
}

static void threads_are_nice(void **state)
{
	struct tally tally;
	(void)state;
	int own = getpriority(PRIO_PROCESS, 0), own_io = (int)syscall(SYS_ioprio_get, 1, 0);
	run_nice(0, &tally);
	assert_int_equal(tally.nice, own);
	assert_int_equal(tally.io_priority, own_io);
	if (own > 18)
		return;
	run_nice(19, &tally);
	assert_int_equal(tally.nice, 19);
	assert_int_equal(tally.io_priority, 2 << 13 | 7);
	/* This thread keeps its own. */
	assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
	assert_int_equal(syscall(SYS_ioprio_get, 1, 0), own_io);
}

static void what_hangs_holds_up_no_other(void **state)
{
	struct tally tally = {0};
	struct vmop_readers *readers;
	int fds[2];
	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_ok(vmop_readers_create("test", 500, 0, &tally, &readers));
	submit(readers, fds[0], 1, 7);
	submit(readers, -1, 10, 7); /* it waits for that job, and its place hangs */
	submit(readers, -1, 100, 8);
	assert_false(vmop_readers_collect(readers, 0));
	collect_until(readers, &tally.done, 1);
	assert_int_equal(tally.hung, 1);
	assert_int_equal(tally.sum, 100);
	collect_until(readers, &tally.refused, 1);
	submit(readers, -1, 10, 7);
	assert_true(vmop_readers_collect(readers, 0));
	assert_int_equal(tally.refused, 2);
	assert_int_equal(vmop_readers_pending(readers), 0);
	/* The hanging job returns after all. */
	assert_int_equal(write(fds[1], "\2", 1), 1);
	collect_until(readers, &tally.done, 2);
	assert_int_equal(tally.sum, 103);
	submit(readers, -1, 1000, 7);
	collect_until(readers, &tally.done, 3);
	assert_int_equal(tally.sum, 1103);
	vmop_readers_destroy(readers);
	close(fds[0]);
	close(fds[1]);
}

static void a_busy_thread_does_not_hang(void **state)
{
	struct tally tally = {0};
	struct vmop_readers *readers;
	(void)state;
	assert_ok(vmop_readers_create("test", 500, 0, &tally, &readers));
	struct read_byte *job = calloc(1, sizeof(*job));
	assert_non_null(job);
	*job = (struct read_byte){.job.ops = &ops, .fd = -1, .busy_ms = 700, .value = 1};
	vmop_readers_submit(readers, &job->job);
	submit(readers, -1, 10, 0);
	/* The wait is too short for the job, but goes on. */
	assert_true(vmop_readers_collect_last(readers, 400));
	assert_int_equal(tally.hung, 0);
	assert_int_equal(tally.sum, 11);
	vmop_readers_destroy(readers);
}

static void a_thread_that_computes_without_end_hangs(void **state)
{
	struct tally tally = {0};
	struct vmop_readers *readers;
	volatile bool is_endless = true;
	(void)state;
	assert_ok(vmop_readers_create("test", 500, 0, &tally, &readers));
	struct read_byte *job = calloc(1, sizeof(*job));
	assert_non_null(job);
	*job = (struct read_byte){.job.ops = &ops, .fd = -1, .is_endless = &is_endless, .value = 1};
	vmop_readers_submit(readers, &job->job);
	submit(readers, -1, 10, 0);
	assert_false(vmop_readers_collect_last(readers, 100));
	assert_int_equal(tally.hung, 0);
	collect_until(readers, &tally.done, 1);
	assert_int_equal(tally.hung, 1);
	assert_int_equal(tally.sum, 10);
	is_endless = false;
	collect_until(readers, &tally.done, 2);
	vmop_readers_destroy(readers);
}

static void threads_that_hang_outlive_their_owner(void **state)
{
	struct tally tally = {0};
	struct vmop_readers *readers;
	int fds[2];
	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_ok(vmop_readers_create("test", 500, 0, &tally, &readers));
	for (unsigned i = 1; i <= 2; i++)
		submit(readers, fds[0], 0, i);
	submit(readers, -1, 1, 0);
	collect_until(readers, &tally.done, 1);
	assert_int_equal(tally.hung, 2);
	/* The owner ends while both hang. The threads free their jobs when they return. */
	vmop_readers_destroy(readers);
	close(fds[1]);
	usleep(100000);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_done_in_their_order),
		cmocka_unit_test(threads_are_nice),
		cmocka_unit_test(what_hangs_holds_up_no_other),
		cmocka_unit_test(a_busy_thread_does_not_hang),
		cmocka_unit_test(a_thread_that_computes_without_end_hangs),
		cmocka_unit_test(threads_that_hang_outlive_their_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
