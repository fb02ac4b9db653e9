// SPDX-License-Identifier: GPL-2.0-or-later
/* perf_event_open(2) for the events of a set, and the reasons of its refusals. */
#ifndef VMOP_LIBVMOP_OPEN_EVENT_H
#define VMOP_LIBVMOP_OPEN_EVENT_H

#include <sys/types.h>

#include "libutil/error.h"
#include "libvmop/event-set.h"
#include "libvmop/vmop.h"

/*
 * Open each event of a set for a thread, or with VMOP_SCOPE_CPU (tid -1) for the CPU in options.
 * fds has set->n elements, -1 before; the caller closes those that are open, also after an error.
 * With VMOP_COUNTERS_SOME, refused events get their reason and stay -1. os_errno of the error is
 * ESRCH if the thread has ended.
 */
struct vmop_error *vmop_open_events(struct vmop_event_set *set,
				    const struct vmop_counters_options *options, pid_t tid,
				    int *fds);

/* Return a new error for the errno of a refused event. */
struct vmop_error *vmop_open_refusal(const char *name, int os_errno, bool is_other_task);

/* Call perf_event_open(2). Return the descriptor, close-on-exec, or -1 with errno. */
int vmop_open_call(struct perf_event_attr *attr, pid_t tid, int cpu, int group_fd);

#endif
