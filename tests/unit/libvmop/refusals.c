// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that the kernel refuses, as it does where others have the counters (the NMI watchdog, a
 * profiler) or a CPU is offline: a reason in place of a number. Software events are never refused
 * so, and stand for those of a PMU, which many machines lack.
 */
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libvmop/vmop.h"

static int refusal; /* the errno for page faults; 0: they are counted */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	long arguments[6];
	va_list list;
	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open && refusal) {
		const struct perf_event_attr *attr = (const void *)arguments[0];
		if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_PAGE_FAULTS) {
			errno = refusal;
			return -1;
		}
	}
	return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
			      arguments[4], arguments[5]);
}

static const struct {
	int os_errno;
	const char *reason;
} refusals[] = {
	{EBUSY, "others use the counters"},
	{ENOSPC, "others use the counters"},
	{ENODEV, "the CPU is offline"},
	{ENOENT, "nothing on this machine counts it"},
	{EOPNOTSUPP, "nothing on this machine counts it"},
	{EINVAL, "does not count it for this task"},
	{EACCES, "not permitted"},
	{EPERM, "not permitted"},
	{ESRCH, "the thread has ended"},
	{EMFILE, "too many open files"},
};
enum { N_REFUSALS = sizeof(refusals) / sizeof(*refusals) };

/* Without leave to open only some events, the set is an error that names the event. */
static void a_refused_event_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_REFUSALS; i++) {
		struct vmop_counters *counters = NULL;
		refusal = refusals[i].os_errno;
		struct vmop_error *err =
			vmop_counters_open("task-clock,page-faults", NULL, &counters);
		assert_non_null(err);
		if (!strstr(vmop_error_text(err), refusals[i].reason) ||
		    !strstr(vmop_error_text(err), "page-faults"))
			fail_msg("%s: %s", strerror(refusal), vmop_error_text(err));
		vmop_error_destroy(err);
	}
	refusal = 0;
}

/* With that leave, the event has a reason and no number, and the others count. */
static void a_refused_event_has_a_reason_and_no_number(void **state)
{
	const struct vmop_counters_options options = {.size = sizeof(options),
						      .flags = VMOP_COUNTERS_SOME};
	(void)state;
	for (size_t i = 0; i < N_REFUSALS; i++) {
		struct vmop_counters *counters;
		struct vmop_count counts[2];
		refusal = refusals[i].os_errno;
		if (refusal == ESRCH || refusal == EMFILE)
			continue; /* these concern the whole set */
		assert_null(vmop_counters_open("task-clock,page-faults", &options, &counters));
		assert_null(vmop_counters_start(counters));
		for (volatile unsigned spin = 0; spin < 1000000; spin++)
			;
		assert_null(vmop_counters_read(counters, counts, 2));
		assert_true(counts[0].value > 0);
		assert_null(vmop_counters_reason(counters, 0));
		assert_true(counts[1].flags & VMOP_COUNT_UNAVAILABLE);
		assert_int_equal(counts[1].value, 0);
		assert_int_equal(counts[1].estimate, 0);
		assert_non_null(strstr(vmop_counters_reason(counters, 1), refusals[i].reason));
		vmop_counters_close(counters);
	}
	refusal = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_event_is_an_error),
		cmocka_unit_test(a_refused_event_has_a_reason_and_no_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
