// SPDX-License-Identifier: GPL-2.0-or-later
/* Overflows of threads' own counters, by the kernel's clock and page faults. */
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libvmop/vmop.h"

enum { N_THREADS = 3, PAGE = 4096, PERIOD = 10 };

struct job {
	pid_t tid;
	unsigned n_faults;
	volatile unsigned calls, foreign, without_address;
	volatile uint64_t last;
	uint64_t events, calls_read;
};

static void on_overflow(void *arg, const struct vmop_overflow *overflow)
{
	struct job *job = arg;
	job->calls++;
	job->foreign += syscall(SYS_gettid) != job->tid;
	job->without_address += !overflow->address;
	job->last = overflow->overflow;
}

static void *run(void *arg)
{
	struct job *job = arg;
	struct vmop_watch *watch;
	job->tid = (pid_t)syscall(SYS_gettid);
	char *pages = mmap(NULL, job->n_faults * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, job->n_faults * PAGE, MADV_NOHUGEPAGE);
	if (vmop_watch_open("page-faults", PERIOD, on_overflow, job, NULL, &watch))
		return NULL;
	for (size_t i = 0; i < job->n_faults; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	if (vmop_watch_read(watch, &job->events, &job->calls_read))
		job->events = 0;
	vmop_watch_close(watch);
	munmap(pages, job->n_faults * PAGE);
	return job;
}

/* Each thread gets the calls for its own events, and no other's. */
static void overflows_are_the_threads_own(void **state)
{
	(void)state;
	struct job jobs[N_THREADS] = {{.n_faults = 300}, {.n_faults = 600}, {.n_faults = 1200}};
	pthread_t threads[N_THREADS];
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
	for (size_t i = 0; i < N_THREADS; i++) {
		void *result;
		pthread_join(threads[i], &result);
		assert_non_null(result);
		assert_in_range(jobs[i].events, jobs[i].n_faults,
				jobs[i].n_faults + jobs[i].n_faults / 4 + 20);
		assert_int_equal(jobs[i].foreign, 0);
		assert_int_equal(jobs[i].without_address, 0);
		assert_int_equal(jobs[i].calls_read, jobs[i].calls);
		assert_int_equal(jobs[i].last, jobs[i].calls);
		/* Signals are delivered at the return to user mode: each fault returns to it. */
		assert_in_range(jobs[i].calls, jobs[i].events / PERIOD * 95 / 100,
				jobs[i].events / PERIOD);
	}
}

static volatile sig_atomic_t n_others;

static void on_other(int signo)
{
	(void)signo;
	n_others++;
}

/* A signal that is no overflow goes to the program's own handler. */
static void other_signals_are_passed_on(void **state)
{
	(void)state;
	struct sigaction own = {.sa_handler = on_other};
	struct vmop_watch_options options = {.size = sizeof(options), .signo = SIGUSR2};
	struct job job = {.tid = (pid_t)syscall(SYS_gettid)};
	struct vmop_watch *watch;
	assert_int_equal(sigaction(SIGUSR2, &own, NULL), 0);
	assert_null(vmop_watch_open("page-faults", 1000000, on_overflow, &job, &options, &watch));
	raise(SIGUSR2);
	assert_int_equal(n_others, 1);
	assert_int_equal(job.calls, 0);
	vmop_watch_close(watch);
	raise(SIGUSR2);
	assert_int_equal(n_others, 2);
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	struct vmop_watch *watch;
	struct vmop_watch_options options = {.size = 1};
	const struct {
		const char *event;
		uint64_t period;
		vmop_overflow_fn fn;
		const struct vmop_watch_options *options;
		const char *words;
	} wrong[] = {
		{"page-faults", 0, on_overflow, NULL, "period of 1"},
		{"page-faults", 10, NULL, NULL, "needs a function"},
		{"page-faults,cs", 10, on_overflow, NULL, "one event, not 2"},
		{"no-such-event", 10, on_overflow, NULL, "no event"},
		{"cs:::0:1", 10, on_overflow, NULL, "only in the kernel"},
		{"page-faults", 10, on_overflow, &options, "size"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct vmop_error *err =
			vmop_watch_open(wrong[i].event, wrong[i].period, wrong[i].fn, NULL,
					wrong[i].options, &watch);
		assert_non_null(err);
		if (!strstr(vmop_error_text(err), wrong[i].words))
			fail_msg("'%s' has no '%s'", vmop_error_text(err), wrong[i].words);
		vmop_error_destroy(err);
	}
	vmop_watch_close(NULL);
}

/* More watches than there is room for are an error, and closing makes room. */
static void the_number_of_watches_is_bounded(void **state)
{
	(void)state;
	struct vmop_watch *watches[300];
	struct vmop_error *err = NULL;
	size_t n = 0;
	while (n < 300 && !err) {
		err = vmop_watch_open("page-faults", 1000000, on_overflow, NULL, NULL, &watches[n]);
		n += !err;
	}
	assert_int_equal(n, 256);
	assert_int_equal(vmop_error_kind(err), VMOP_KIND_LIMIT);
	vmop_error_destroy(err);
	while (n > 0)
		vmop_watch_close(watches[--n]);
	assert_null(vmop_watch_open("page-faults", 1000000, on_overflow, NULL, NULL, &watches[0]));
	vmop_watch_close(watches[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overflows_are_the_threads_own),
		cmocka_unit_test(other_signals_are_passed_on),
		cmocka_unit_test(wrong_arguments_are_refused),
		cmocka_unit_test(the_number_of_watches_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
