// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/open-event.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* armv8_pmuv3's config1: allow reads by the counted task (Documentation/arm64/perf.rst). */
#define ARM64_USER_ACCESS 2

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

int vmop_open_call(struct perf_event_attr *attr, pid_t tid, int cpu, int group_fd)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
}

static struct vmop_error *not_permitted(const char *name, bool is_other_task)
{
	_cleanup_free_ char *level = NULL;
	vmop_error_destroy(vmop_io_read_file(PARANOID_PATH, 64, &level, NULL));
	if (level)
		level[strcspn(level, "\n")] = '\0';
	return vmop_error_new(VMOP_ERROR_CANT,
			      "%s: not permitted%s (kernel.perf_event_paranoid is %s): run as root "
			      "or with CAP_PERFMON",
			      name,
			      is_other_task ? ", perhaps because the task is another user's" : "",
			      level ? level : "unknown");
}

struct vmop_error *vmop_open_refusal(const char *name, int os_errno, bool is_other_task)
{
	struct vmop_error *err;
	switch (os_errno) {
	case EACCES:
	case EPERM:
		return not_permitted(name, is_other_task);
	case ENOENT:
	case EOPNOTSUPP:
	case ENXIO:
		return vmop_error_new(VMOP_ERROR_CANT, "%s: nothing on this machine counts it",
				      name);
	case EINVAL:
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: the kernel does not count it for this task or CPU",
				      name);
	case ENODEV:
		return vmop_error_new(VMOP_ERROR_CANT, "%s: the CPU is offline", name);
	case EBUSY:
	case ENOSPC:
		return vmop_error_new(VMOP_ERROR_CANT, "%s: others use the counters that it needs",
				      name);
	case EMFILE:
	case ENFILE:
		return vmop_error_new(
			VMOP_ERROR_LIMIT,
			"%s: too many open files: each event takes one for each thread "
			"(ulimit -n)",
			name);
	case ESRCH:
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: the thread has ended", name);
		if (err != &vmop_error_no_memory)
			err->os_errno = ESRCH;
		return err;
	default:
		return vmop_error_os(os_errno, "%s", name);
	}
}

/* Return the attributes with which the kernel gets the event. */
static struct perf_event_attr attr_for(const struct vmop_set_event *event, bool is_leader,
				       bool is_alone, const struct vmop_counters_options *options)
{
	struct perf_event_attr attr = event->attr;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!is_alone)
		attr.read_format |= PERF_FORMAT_GROUP;
	attr.disabled = is_leader;
	attr.enable_on_exec = is_leader && options->flags & VMOP_COUNTERS_ON_EXEC;
	attr.inherit = options->scope == VMOP_SCOPE_PROCESS;
	return attr;
}

/* Return whether the page of such an event may be read by the calling thread on arm64. */
static bool wants_user_access(const struct vmop_set_event *event,
			      const struct vmop_counters_options *options)
{
#ifdef __aarch64__
	return event->is_pmus && !event->attr.config1 && event->attr.type <= PERF_TYPE_RAW &&
	       options->scope == VMOP_SCOPE_THREAD && options->id == 0 &&
	       !(options->flags & VMOP_COUNTERS_NO_PAGE);
#else
	(void)event;
	(void)options;
	return false;
#endif
}

static int open_attr(const struct vmop_set_event *event,
		     const struct vmop_counters_options *options, struct perf_event_attr *attr,
		     pid_t tid, int group_fd)
{
	int cpu = options->scope == VMOP_SCOPE_CPU ? options->id : -1;
	if (wants_user_access(event, options)) {
		attr->config1 = ARM64_USER_ACCESS;
		int fd = vmop_open_call(attr, tid, cpu, group_fd);
		if (fd >= 0)
			return fd;
		attr->config1 = 0;
	}
	return vmop_open_call(attr, tid, cpu, group_fd);
}

/* Leave out the kernel if that is permitted and still gives a true count. */
static struct vmop_error *concede_kernel(struct vmop_set_event *event, bool is_wanted,
					 bool *ret_changed)
{
	*ret_changed = false;
	if (event->attr.exclude_kernel || event->needs_kernel || (!event->is_clock && !is_wanted))
		return NULL;
	*ret_changed = true;
	return vmop_set_event_leave_out_kernel(event);
}

/* Open one event; *ret stays -1 if it was excluded. */
static struct vmop_error *open_event(struct vmop_event_set *set, size_t i,
				     const struct vmop_counters_options *options, pid_t tid,
				     int group_fd, int *ret)
{
	struct vmop_set_event *event = &set->events[i];
	bool is_alone = vmop_event_set_group_size(set, event->leader) == 1;
	bool concedes = options->flags & VMOP_COUNTERS_USER_IF_NEEDED;
	struct perf_event_attr attr = attr_for(event, event->leader == i, is_alone, options);
	*ret = open_attr(event, options, &attr, tid, group_fd);
	if (*ret < 0 && (errno == EACCES || errno == EPERM)) {
		bool is_changed;
		struct vmop_error *err = concede_kernel(event, concedes, &is_changed);
		if (err)
			return err;
		attr = attr_for(event, event->leader == i, is_alone, options);
		errno = EACCES;
		if (is_changed)
			*ret = open_attr(event, options, &attr, tid, group_fd);
	}
	if (*ret >= 0)
		return NULL;
	int os_errno = errno;
	struct vmop_error *refusal = vmop_open_refusal(event->name, os_errno, tid > 0);
	bool is_whole = os_errno == ESRCH || os_errno == EMFILE || os_errno == ENFILE;
	if (is_whole || !(options->flags & VMOP_COUNTERS_SOME) ||
	    refusal->code == VMOP_ERROR_NO_MEMORY)
		return refusal;
	/* The reason stands beside the name. */
	size_t prefix = strlen(event->name) + 2;
	struct vmop_error *err = vmop_event_set_exclude(set, i, refusal->message + prefix);
	vmop_error_destroy(refusal);
	return err;
}

/* Leave out the kernel as the options demand it. */
static struct vmop_error *leave_out_kernel(struct vmop_event_set *set, size_t i)
{
	struct vmop_set_event *event = &set->events[i];
	if (event->reason || event->attr.exclude_kernel)
		return NULL;
	if (event->is_clock)
		return vmop_event_set_exclude(set, i, VMOP_CLOCK_COUNTS_BOTH);
	return event->needs_kernel ? vmop_event_set_exclude(set, i, VMOP_ONLY_IN_KERNEL)
				   : vmop_set_event_leave_out_kernel(event);
}

struct vmop_error *vmop_open_events(struct vmop_event_set *set,
				    const struct vmop_counters_options *options, pid_t tid,
				    int *fds)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < set->n; i++) {
		struct vmop_set_event *event = &set->events[i];
		if (options->flags & VMOP_COUNTERS_USER_ONLY)
			err = leave_out_kernel(set, i);
		if (!err && options->flags & VMOP_COUNTERS_GUEST_ONLY && event->is_pmus &&
		    !event->reason && !event->attr.exclude_host)
			err = vmop_set_event_leave_out_host(event);
		if (!err && event->reason && !(options->flags & VMOP_COUNTERS_SOME))
			err = vmop_error_new(VMOP_ERROR_CANT, "%s: %s", event->name, event->reason);
		int group_fd = event->leader == i ? -1 : fds[event->leader];
		if (!err && !event->reason)
			err = open_event(set, i, options, tid, group_fd, &fds[i]);
	}
	return err;
}
