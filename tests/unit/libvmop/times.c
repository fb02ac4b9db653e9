// SPDX-License-Identifier: GPL-2.0-or-later
/* Times of the calling thread and process, with the BPF program where it can be loaded and without.
 */
#include "libvmop/times.h"

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/clock.h"

static void burn(unsigned ms)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * VMOP_NS_PER_MS;
	while (vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

static struct vmop_times *open_times(uint32_t scope, uint32_t flags)
{
	const struct vmop_times_options options = {
		.size = sizeof(options), .scope = scope, .flags = flags};
	struct vmop_times *times;
	struct vmop_error *err = vmop_times_open(&options, &times);
	if (err) {
		print_message("# %s\n", err->message);
		vmop_error_destroy(err);
		return NULL;
	}
	return times;
}

/* A result is a value or has a reason, and no value is impossible. */
static void assert_sound(const struct vmop_times *times, const struct vmop_time *time)
{
	const uint32_t unknown = VMOP_TIME_NO_STOLEN | VMOP_TIME_NO_UNSTOLEN | VMOP_TIME_ESTIMATE |
				 VMOP_TIME_INCOMPLETE;
	print_message("# real %.3f virtual %.3f stolen %.3f unstolen %.3f ms, flags %x: %s\n",
		      (double)time->real_ns / 1e6, (double)time->virtual_ns / 1e6,
		      (double)time->stolen_ns / 1e6, (double)time->unstolen_ns / 1e6, time->flags,
		      vmop_times_reason(times) ? vmop_times_reason(times) : "exact");
	if (time->flags & unknown)
		assert_non_null(vmop_times_reason(times));
	else
		assert_null(vmop_times_reason(times));
	if (time->flags & VMOP_TIME_NO_UNSTOLEN)
		assert_int_equal(time->unstolen_ns, 0);
	else
		assert_true(time->unstolen_ns <= time->virtual_ns);
	if (!(time->flags & VMOP_TIME_NO_SPLIT)) {
		uint64_t sum_ns = time->user_ns + time->system_ns;
		uint64_t off_ns = sum_ns > time->virtual_ns ? sum_ns - time->virtual_ns
							    : time->virtual_ns - sum_ns;
		assert_true(off_ns < VMOP_NS_PER_MS);
	}
}

static void regions(struct vmop_times *times)
{
	struct vmop_time idle, busy;
	assert_non_null(times);
	struct vmop_error *err = vmop_times_end(times, &idle);
	assert_non_null(err); /* it has not begun */
	assert_int_equal(vmop_error_kind(err), VMOP_KIND_USAGE);
	vmop_error_destroy(err);
	assert_null(vmop_times_begin(times));
	usleep(150000);
	assert_null(vmop_times_end(times, &idle));
	assert_sound(times, &idle);
	assert_null(vmop_times_begin(times));
	burn(150);
	assert_null(vmop_times_end(times, &busy));
	assert_sound(times, &busy);
	assert_true(idle.real_ns >= 150 * VMOP_NS_PER_MS);
	assert_true(idle.virtual_ns < 30 * VMOP_NS_PER_MS);
	assert_true(busy.virtual_ns >= 145 * VMOP_NS_PER_MS); /* a busy machine begins to count late */
	assert_true(busy.virtual_ns < 190 * VMOP_NS_PER_MS);
	vmop_times_close(times);
}

static void test_thread(void **state)
{
	(void)state;
	regions(open_times(VMOP_SCOPE_THREAD, 0));
	regions(open_times(VMOP_SCOPE_THREAD, VMOP_TIMES_NO_BPF));
}

static void test_process(void **state)
{
	(void)state;
	regions(open_times(VMOP_SCOPE_PROCESS, 0));
	struct vmop_times *times = open_times(VMOP_SCOPE_PROCESS, VMOP_TIMES_NO_BPF);
	if (times) /* this kernel counts events */
		regions(times);
}

/* An empty region is a few microseconds at most, and too short for an estimate. */
static void test_short(void **state)
{
	(void)state;
	uint64_t least_ns = UINT64_MAX;
	struct vmop_times *times = open_times(VMOP_SCOPE_THREAD, 0);
	struct vmop_time time;
	for (int i = 0; i < 50; i++) {
		assert_null(vmop_times_begin(times));
		assert_null(vmop_times_end(times, &time));
		if (time.virtual_ns < least_ns)
			least_ns = time.virtual_ns;
	}
	print_message("# an empty region: %u ns\n", (unsigned)least_ns);
	assert_true(least_ns < 20000);
	vmop_times_close(times);
	times = open_times(VMOP_SCOPE_THREAD, VMOP_TIMES_NO_BPF);
	assert_null(vmop_times_begin(times));
	assert_null(vmop_times_end(times, &time));
	assert_sound(times, &time);
	assert_false(time.flags & VMOP_TIME_ESTIMATE);
	vmop_times_close(times);
}

static void *burn_thread(void *arg)
{
	(void)arg;
	burn(20);
	return NULL;
}

static void test_tasks(void **state)
{
	(void)state;
	struct vmop_times *times = open_times(VMOP_SCOPE_PROCESS, 0);
	struct vmop_task_time task;
	struct vmop_time time;
	pthread_t thread;
	assert_non_null(times);
	assert_int_equal(vmop_times_task(times, 1, &task), -1);
	assert_int_equal(pthread_create(&thread, NULL, burn_thread, NULL), 0);
	pthread_join(thread, NULL);
	pid_t pid = fork();
	if (pid == 0) {
		burn(30);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_null(vmop_times_read(times, &time));
	assert_sound(times, &time);
	size_t n = vmop_times_n_tasks(times);
	if (times->run_time)
		assert_int_equal(n, 3);
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(vmop_times_task(times, i, &task), 0);
		assert_true(task.pid == pid || task.pid == getpid());
		assert_int_equal(task.is_over, task.tid != getpid());
		sum_ns += task.time.virtual_ns;
	}
	if (n)
		assert_int_equal(sum_ns, time.virtual_ns);
	assert_true(time.virtual_ns >= 49 * VMOP_NS_PER_MS);
	assert_int_equal(vmop_times_task(times, n, &task), -1);
	vmop_times_close(times);
}

static void *read_other(void *times)
{
	struct vmop_time time;
	return vmop_times_read(times, &time);
}

static void test_usage(void **state)
{
	(void)state;
	static const struct vmop_times_options wrong[] = {
		{.size = sizeof(wrong[0]), .scope = VMOP_SCOPE_CPU},
		{.size = sizeof(wrong[0]), .scope = 17},
		{.size = sizeof(wrong[0]), .flags = 2},
		{.size = sizeof(wrong[0]), .scope = VMOP_SCOPE_THREAD, .id = 1},
		{.size = sizeof(wrong[0]), .scope = VMOP_SCOPE_PROCESS, .id = -1},
		{.size = sizeof(wrong[0]), .scope = VMOP_SCOPE_PROCESS, .id = 0x7ffffff0},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct vmop_times *times;
		struct vmop_error *err = vmop_times_open(&wrong[i], &times);
		assert_non_null(err);
		assert_null(times);
		vmop_error_destroy(err);
	}
	/* Another thread's clocks would be those of another thread. */
	struct vmop_times *times = open_times(VMOP_SCOPE_THREAD, VMOP_TIMES_NO_BPF);
	pthread_t thread;
	void *err;
	assert_int_equal(pthread_create(&thread, NULL, read_other, times), 0);
	pthread_join(thread, &err);
	assert_non_null(err);
	assert_int_equal(vmop_error_kind(err), VMOP_KIND_USAGE);
	vmop_error_destroy(err);
	vmop_times_close(times);
	vmop_times_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread), cmocka_unit_test(test_process),
		cmocka_unit_test(test_short),  cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_usage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
