// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/clock.h"
#include "libvmop/targets.h"
#include "libvmop/vmop.h"

/* Steal of all CPUs comes in ticks of 10 ms: an estimate of less time would be made of a few. */
#define ESTIMATE_MIN_NS (100 * VMOP_NS_PER_MS)

/* ---- open and close ------------------------------------------------------------------------- */

static struct vmop_error *copy_options(const struct vmop_times_options *options,
				       struct vmop_times_options *ret)
{
	*ret = (struct vmop_times_options){.scope = VMOP_SCOPE_THREAD};
	if (!options)
		return NULL;
	/* Older programs' structs are shorter, and newer ones' may be longer. */
	size_t size = options->size < sizeof(*ret) ? options->size : sizeof(*ret);
	memcpy(ret, options, size);
	if (ret->scope != VMOP_SCOPE_THREAD && ret->scope != VMOP_SCOPE_PROCESS &&
	    ret->scope != VMOP_SCOPE_ALL)
		return vmop_error_new(VMOP_ERROR_USAGE, "times have no scope %u", ret->scope);
	if (ret->flags & ~(uint32_t)VMOP_TIMES_NO_BPF || ret->id < 0 ||
	    (ret->id && ret->scope != VMOP_SCOPE_PROCESS))
		return vmop_error_new(VMOP_ERROR_USAGE, "flags or id of the times are wrong");
	return NULL;
}

static struct vmop_error *open_run_time(struct vmop_times *times,
					const struct vmop_times_options *options)
{
	const struct vmop_run_time_options run_time = {
		.tid = times->tid,
		.tgid = options->scope != VMOP_SCOPE_PROCESS ? 0
			: options->id			     ? options->id
							     : getpid(),
		.clock = times->clock,
	};
	if (options->flags & VMOP_TIMES_NO_BPF)
		return vmop_error_new(VMOP_ERROR_CANT, "without a BPF program");
	return vmop_run_time_create(&run_time, &times->run_time);
}

/* Without a BPF program, the clock of a process and its children is a counter. */
static struct vmop_error *open_task_clock(struct vmop_times *times, int32_t pid)
{
	const struct vmop_counters_options options = {
		.size = sizeof(options),
		.scope = VMOP_SCOPE_PROCESS,
		.flags = VMOP_COUNTERS_USER_IF_NEEDED | VMOP_COUNTERS_NO_PAGE,
		.id = pid,
	};
	struct vmop_error *err = vmop_counters_open("task-clock", &options, &times->task_clock);
	return err ? err : vmop_counters_start(times->task_clock);
}

static struct vmop_error *check_process(int32_t pid)
{
	struct vmop_targets targets = {0};
	struct vmop_error *err = vmop_targets_read(pid, &targets);
	vmop_targets_deinit(&targets);
	return err;
}

static struct vmop_error *open_times(struct vmop_times *times,
				     const struct vmop_times_options *options)
{
	struct vmop_error *err = options->id ? check_process(options->id) : NULL;
	if (err)
		return err;
	times->scope = options->scope;
	times->tid = options->scope == VMOP_SCOPE_THREAD ? gettid() : 0;
	vmop_steal_clock_find(&times->clock);
	times->no_bpf = open_run_time(times, options);
	times->subtracts = times->run_time ? vmop_run_time_subtracts(times->run_time)
					   : vmop_kernel_subtracts();
	if (times->no_bpf && options->scope == VMOP_SCOPE_ALL) {
		err = times->no_bpf;
		times->no_bpf = NULL;
	}
	if (times->no_bpf && options->scope == VMOP_SCOPE_PROCESS)
		err = open_task_clock(times, options->id);
	return err ? err : vmop_time_sample_read(times, true, &times->opened);
}

struct vmop_error *vmop_times_open(const struct vmop_times_options *options,
				   struct vmop_times **ret)
{
	struct vmop_times_options copy;
	struct vmop_error *err = copy_options(options, &copy);
	*ret = NULL;
	if (err)
		return err;
	struct vmop_times *times = calloc(1, sizeof(*times));
	if (!times)
		return &vmop_error_no_memory;
	err = open_times(times, &copy);
	if (err) {
		vmop_times_close(times);
		return err;
	}
	*ret = times;
	return NULL;
}

void vmop_times_close(struct vmop_times *times)
{
	if (!times)
		return;
	vmop_run_time_destroy(times->run_time);
	vmop_counters_close(times->task_clock);
	vmop_error_destroy(times->no_bpf);
	free(times->reason);
	free(times);
}

/* ---- results -------------------------------------------------------------------------------- */

static void set_exact(struct vmop_time *ret, bool has_clock, bool is_subtracted)
{
	if (!has_clock)
		ret->flags |= VMOP_TIME_NO_STOLEN;
	ret->unstolen_ns = is_subtracted ? ret->virtual_ns
					 : vmop_clock_between_ns(ret->stolen_ns, ret->virtual_ns);
	if (is_subtracted)
		ret->flags |= VMOP_TIME_SUBTRACTED;
}

/*
 * Estimate by the share of steal in the time in which CPUs were not idle: whoever ran, lost that
 * much. Return why not, or NULL.
 */
static const char *set_estimate(const struct vmop_time_sample *from,
				const struct vmop_time_sample *to, struct vmop_time *ret)
{
	ret->stolen_ns = 0;
	if (!from->is_machine_known || !to->is_machine_known)
		return "the steal of all CPUs cannot be read from /proc/stat";
	if (ret->real_ns < ESTIMATE_MIN_NS)
		return "an estimate needs 100 ms or more";
	uint64_t idle_ns = vmop_clock_between_ns(from->machine.idle_ns, to->machine.idle_ns);
	uint64_t steal_ns = vmop_clock_between_ns(from->machine.steal_ns, to->machine.steal_ns);
	uint64_t busy_ns = vmop_clock_between_ns(idle_ns, ret->real_ns * to->machine.n_cpus);
	if (steal_ns > busy_ns)
		busy_ns = steal_ns;
	double share = busy_ns ? (double)steal_ns / (double)busy_ns : 0;
	ret->stolen_ns = (uint64_t)(share * (double)ret->virtual_ns);
	ret->unstolen_ns = ret->virtual_ns - ret->stolen_ns;
	ret->flags |= VMOP_TIME_ESTIMATE;
	return NULL;
}

/* Set stolen and unstolen time. Return why they are not exact, or NULL. */
static const char *set_stolen(const struct vmop_times *times, const struct vmop_time_sample *from,
			      const struct vmop_time_sample *to, struct vmop_time *ret)
{
	bool has_clock = times->run_time && times->clock.kind != VMOP_STEAL_UNREADABLE;
	/* The kernel's own CPU time; perf's task-clock contains steal in all kernels. */
	bool is_subtracted = times->subtracts == VMOP_SUBTRACTS_YES && !times->task_clock;
	const char *reason = times->no_bpf ? times->no_bpf->message : times->clock.reason;
	if (times->clock.is_absent)
		reason = times->clock.reason;
	else if (times->subtracts == VMOP_SUBTRACTS_UNKNOWN)
		reason = "this kernel has no type information that says whether its CPU time "
			 "contains steal";
	else if (has_clock || is_subtracted) {
		set_exact(ret, has_clock, is_subtracted);
		return has_clock ? NULL : reason;
	} else {
		const char *no_estimate = set_estimate(from, to, ret);
		if (!no_estimate)
			return reason;
		reason = no_estimate;
	}
	ret->stolen_ns = 0;
	ret->flags |= VMOP_TIME_NO_STOLEN | VMOP_TIME_NO_UNSTOLEN;
	return reason;
}

static struct vmop_error *set_result(struct vmop_times *times, const struct vmop_time_sample *from,
				     const struct vmop_time_sample *to, struct vmop_time *ret)
{
	*ret = (struct vmop_time){
		.real_ns = vmop_clock_between_ns(from->real_ns, to->real_ns),
		.virtual_ns = vmop_clock_between_ns(from->virtual_ns, to->virtual_ns),
		.user_ns = vmop_clock_between_ns(from->user_ns, to->user_ns),
		.system_ns = vmop_clock_between_ns(from->system_ns, to->system_ns),
		.stolen_ns = vmop_clock_between_ns(from->stolen_ns, to->stolen_ns),
		.n_tasks = to->n_tasks,
	};
	if (times->task_clock)
		ret->flags |= VMOP_TIME_NO_SPLIT;
	const char *reason = set_stolen(times, from, to, ret);
	if (to->is_incomplete) {
		ret->flags |= VMOP_TIME_INCOMPLETE;
		reason = "more than 65,536 tasks lived at once";
	}
	free(times->reason);
	times->reason = reason ? strdup(reason) : NULL;
	return reason && !times->reason ? &vmop_error_no_memory : NULL;
}

struct vmop_error *vmop_times_read(struct vmop_times *times, struct vmop_time *ret)
{
	struct vmop_time_sample now;
	struct vmop_error *err = vmop_time_sample_read(times, false, &now);
	return err ? err : set_result(times, &times->opened, &now, ret);
}

struct vmop_error *vmop_times_begin(struct vmop_times *times)
{
	times->has_begun = true;
	return vmop_time_sample_read(times, true, &times->begun);
}

struct vmop_error *vmop_times_end(struct vmop_times *times, struct vmop_time *ret)
{
	struct vmop_time_sample now;
	if (!times->has_begun)
		return vmop_error_new(VMOP_ERROR_USAGE, "a region ends that has not begun");
	struct vmop_error *err = vmop_time_sample_read(times, false, &now);
	return err ? err : set_result(times, &times->begun, &now, ret);
}

const char *vmop_times_reason(const struct vmop_times *times)
{
	return times->reason;
}

/* ---- threads -------------------------------------------------------------------------------- */

size_t vmop_times_n_tasks(const struct vmop_times *times)
{
	size_t n = 0;
	if (times->run_time && times->scope != VMOP_SCOPE_THREAD)
		vmop_run_time_tasks(times->run_time, &n);
	return n;
}

int vmop_times_task(const struct vmop_times *times, size_t i, struct vmop_task_time *ret)
{
	size_t n;
	if (i >= vmop_times_n_tasks(times))
		return -1;
	const struct vmop_run_time_task *task = &vmop_run_time_tasks(times->run_time, &n)[i];
	*ret = (struct vmop_task_time){
		.pid = task->tgid,
		.tid = task->tid,
		.is_over = task->has_ended,
		.time = {.virtual_ns = task->sums.virtual_ns,
			 .user_ns = task->sums.user_ns,
			 .system_ns = task->sums.system_ns,
			 .stolen_ns = task->sums.steal_ns,
			 .n_tasks = 1},
	};
	memcpy(ret->name, task->comm, sizeof(task->comm));
	set_stolen(times, &times->opened, &times->opened, &ret->time);
	return 0;
}
