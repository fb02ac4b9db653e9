// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/targets.h"

#include <cmocka.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *wait_twice(void *barrier)
{
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void threads_are_listed(void **state)
{
	(void)state;
	struct vmop_targets alone, both, again;
	pthread_barrier_t barrier;
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	assert_null(vmop_targets_read(0, &alone));
	assert_int_equal(pthread_create(&thread, NULL, wait_twice, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_null(vmop_targets_read(0, &both));
	assert_null(vmop_targets_read(getpid(), &again));
	assert_int_equal(both.n, alone.n + 1);
	assert_false(vmop_targets_equal(&alone, &both));
	assert_true(vmop_targets_equal(&both, &again));
	for (size_t i = 1; i < both.n; i++)
		assert_true(both.tids[i - 1] < both.tids[i]);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	vmop_targets_deinit(&alone);
	vmop_targets_deinit(&both);
	vmop_targets_deinit(&again);
}

static void no_process_is_an_error(void **state)
{
	(void)state;
	struct vmop_targets targets;
	struct vmop_error *err = vmop_targets_read(0x7ffffff0, &targets);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_listed),
		cmocka_unit_test(no_process_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
