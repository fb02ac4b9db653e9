// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading all clocks of a handle at one moment. Around a region, the clocks that cost most are read
 * outside of the others: first at its start, last at its end.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "libutil/clock.h"
#include "libvmop/times.h"

static uint64_t nanoseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * VMOP_NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

static bool read_steal(struct vmop_times *times, struct vmop_time_sample *ret)
{
	if (times->run_time)
		return vmop_run_time_own_steal(times->run_time, &ret->stolen_ns);
	ret->is_machine_known = vmop_machine_time_read(&ret->machine);
	return true;
}

static void read_split(struct vmop_time_sample *ret)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	ret->user_ns = nanoseconds(usage.ru_utime);
	ret->system_ns = nanoseconds(usage.ru_stime);
}

static struct vmop_error *read_thread(struct vmop_times *times, bool is_begin,
				      struct vmop_time_sample *ret)
{
	if (gettid() != times->tid)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "the times are those of the thread that opened them");
	bool is_read = true;
	if (is_begin) {
		is_read = read_steal(times, ret);
		read_split(ret);
		ret->virtual_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ret->real_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	} else {
		ret->real_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		ret->virtual_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		read_split(ret);
		is_read = read_steal(times, ret);
	}
	return is_read ? NULL : vmop_error_new(VMOP_ERROR_CANT, "the steal clock cannot be read");
}

static struct vmop_error *read_tasks(struct vmop_times *times, struct vmop_time_sample *ret)
{
	struct vmop_run_time_facts facts;
	struct vmop_error *err = vmop_run_time_read(times->run_time);
	if (err)
		return err;
	vmop_run_time_facts(times->run_time, &facts);
	ret->virtual_ns = facts.total.virtual_ns;
	ret->user_ns = facts.total.user_ns;
	ret->system_ns = facts.total.system_ns;
	ret->stolen_ns = facts.total.steal_ns;
	ret->n_tasks = facts.n_tasks;
	ret->is_incomplete = facts.n_refused > 0;
	return NULL;
}

static struct vmop_error *read_task_clock(struct vmop_times *times, struct vmop_time_sample *ret)
{
	struct vmop_count count;
	ret->is_machine_known = vmop_machine_time_read(&ret->machine);
	if (!times->task_clock)
		return NULL;
	struct vmop_error *err = vmop_counters_read(times->task_clock, &count, 1);
	if (!err)
		ret->virtual_ns = count.value;
	return err;
}

struct vmop_error *vmop_time_sample_read(struct vmop_times *times, bool is_begin,
					 struct vmop_time_sample *ret)
{
	*ret = (struct vmop_time_sample){0};
	if (times->scope == VMOP_SCOPE_THREAD)
		return read_thread(times, is_begin, ret);
	if (!is_begin)
		ret->real_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_error *err =
		times->run_time ? read_tasks(times, ret) : read_task_clock(times, ret);
	if (is_begin)
		ret->real_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return err;
}
