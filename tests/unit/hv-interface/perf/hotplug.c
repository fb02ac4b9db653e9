// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A test that takes the last CPU offline for some ms, and therefore runs only with
 * VMOP_TEST_HOTPLUG=1. A child brings the CPU back even if the test dies.
 */
#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/perf/perf.h"
#include "hv-interface/source.h"

static char path[64];
static unsigned cpu;
static int guard_pipe[2];
static pid_t guard;

static bool put(const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);
	if (fd >= 0)
		close(fd);
	return done;
}

static int set_up(void **state)
{
	(void)state;
	const char *allowed = getenv("VMOP_TEST_HOTPLUG");
	cpu = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	if (!allowed || strcmp(allowed, "1") != 0 || cpu == 0 || access(path, W_OK) != 0) {
		printf("skipped: takes a CPU offline: VMOP_TEST_HOTPLUG=1, root, and a second "
		       "CPU are needed\n");
		exit(77);
	}
	assert_int_equal(pipe(guard_pipe), 0);
	guard = fork();
	if (guard == 0) {
		char byte;
		close(guard_pipe[1]);
		while (read(guard_pipe[0], &byte, 1) > 0)
			;
		_exit(put("1") || access(path, F_OK) != 0 ? 0 : 1);
	}
	close(guard_pipe[0]);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	put("1");
	close(guard_pipe[1]);
	waitpid(guard, NULL, 0);
	return 0;
}

struct seen {
	uint64_t samples; /* on that CPU, since the last reset */
	char changes[64];
};

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct seen *seen = arg;
	if (record->type == VMOP_RECORD_SAMPLE)
		seen->samples += record->sample.cpu == cpu;
	else if (record->type == VMOP_RECORD_CPU && record->cpu.cpu == cpu)
		strcat(seen->changes, record->cpu.is_online ? "+" : "-");
}

/* Keep the CPU busy for a while and drain the source. */
static void use(struct vmop_source *source, struct seen *seen)
{
	const struct vmop_sink sink = {look, seen};
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pid_t child = fork();
	if (child == 0) {
		struct timespec now;
		sched_setaffinity(0, sizeof(set), &set);
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_nsec < 50000000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	seen->samples = 0;
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
}

static void a_cpu_goes_and_comes(void **state)
{
	(void)state;
	const struct vmop_source_setup setup = {0};
	struct vmop_source *source;
	struct seen seen = {0};
	assert_null(vmop_source_open(&vmop_source_perf_ops, &setup, &source));
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	use(source, &seen);
	assert_true(seen.samples > 0);
	/* The check sees the CPU go, and sees it come back. */
	assert_true(put("0"));
	assert_null(vmop_source_check_cpus(source));
	assert_true(put("1"));
	assert_null(vmop_source_check_cpus(source));
	use(source, &seen);
	assert_string_equal(seen.changes, "-+");
	assert_true(seen.samples > 0);
	/*
	 * Offline and online again between two checks: the list of CPUs is the same, the events are
	 * dead.
	 */
	assert_null(vmop_source_check_cpus(source));
	assert_true(put("0"));
	assert_true(put("1"));
	use(source, &seen); /* reads the rest of the ring */
	use(source, &seen);
	assert_int_equal(seen.samples, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_null(vmop_source_check_cpus(source));
	use(source, &seen);
	assert_string_equal(seen.changes, "-+-+");
	assert_true(seen.samples > 0);
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_cpu_goes_and_comes)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
