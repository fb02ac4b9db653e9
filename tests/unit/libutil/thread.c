// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/thread.h"

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

struct beside {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool may_end;
	sigset_t blocked;
};

static void *run(void *arg)
{
	struct beside *beside = arg;
	pthread_mutex_lock(&beside->lock);
	pthread_sigmask(SIG_SETMASK, NULL, &beside->blocked);
	while (!beside->may_end)
		pthread_cond_wait(&beside->wake, &beside->lock);
	pthread_mutex_unlock(&beside->lock);
	return NULL;
}

static void signals_are_the_main_threads(void **state)
{
	struct beside beside = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread;
	char name[16];
	sigset_t before, after;
	(void)state;
	vmop_thread_cond_init(&beside.wake);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_null(vmop_thread_begin(&thread, "vmopd-beside", run, &beside));
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(pthread_getname_np(thread, name, sizeof(name)), 0);
	pthread_mutex_lock(&beside.lock);
	beside.may_end = true;
	pthread_cond_signal(&beside.wake);
	pthread_mutex_unlock(&beside.lock);
	pthread_join(thread, NULL);
	assert_string_equal(name, "vmopd-beside");
	for (int signal = 1; signal < 32; signal++) {
		assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
		if (signal != SIGKILL && signal != SIGSTOP)
			assert_true(sigismember(&beside.blocked, signal));
	}
	pthread_cond_destroy(&beside.wake);
}

static void timed_waits_are_monotonic(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t wake;
	struct timespec until;
	(void)state;
	vmop_thread_cond_init(&wake);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 20000000;
	if (until.tv_nsec >= 1000000000)
		until.tv_sec++, until.tv_nsec -= 1000000000;
	pthread_mutex_lock(&lock);
	int status;
	do
		status = pthread_cond_timedwait(&wake, &lock, &until);
	while (!status);
	pthread_mutex_unlock(&lock);
	assert_int_equal(status, ETIMEDOUT);
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* with CLOCK_REALTIME it would have timed out at once */
	assert_true(now.tv_sec > until.tv_sec ||
		    (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
	pthread_cond_destroy(&wake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_are_the_main_threads),
		cmocka_unit_test(timed_waits_are_monotonic),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
