// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A set of counters inside the library. counters.c opens and describes it; event-set.c resolves its
 * events; targets.c finds the threads of a process; read.c reads it; region.c and watch.c are built
 * on it. vmop.h has the contract.
 */
#ifndef VMOP_LIBVMOP_COUNTERS_H
#define VMOP_LIBVMOP_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libvmop/event-set.h"
#include "libvmop/vmop.h"

struct vmop_counter {
	struct vmop_count last;
	/* For regions: see region.c. */
	struct vmop_count begun;
	uint64_t cost, spread, largest;
};

struct vmop_counters {
	/* The fastest read needs these: they lie together. */
	uintptr_t owner; /* the thread whose pages these are; 0: no pages */
	size_t n_pages;	 /* events.n */
	/* For each event its page, or &vmop_no_page: it is read by read(2). */
	const struct perf_event_mmap_page **pages;
	struct vmop_event_set events;
	struct vmop_counter *counters; /* events.n of them */
	size_t n_targets;
	int *fds;		  /* [target * events.n + event]; -1: not counted on this target */
	struct vmop_count *ended; /* for regions: room for one read of the set */
	uint64_t *group;	  /* room for one read of the largest group */
	bool is_started, is_cost_known;
	struct vmop_counters *next, *previous; /* fork.c */
};

/* A page with index 0: its event is never on a counter. */
extern const struct perf_event_mmap_page vmop_no_page;

/* Return the number of the calling thread: unique among those that are alive. */
static inline uintptr_t vmop_thread_self(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* Return the descriptor of an event for a target, or -1. */
static inline int vmop_counters_fd(const struct vmop_counters *counters, size_t target, size_t i)
{
	return counters->fds[target * counters->events.n + i];
}

/* Unmap all pages: from now on the set is read by read(2). */
void vmop_counters_unmap(struct vmop_counters *counters);

#endif
