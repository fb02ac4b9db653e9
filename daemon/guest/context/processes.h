// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes of a guest that contexts showed and that need more than a context has: those that
 * are in no list, because they live too short, and those with generated code. A process is
 * requested at its first sample, and read by the watching thread soon after.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_PROCESSES_H
#define VMOP_DAEMON_GUEST_CONTEXT_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "libguest/guest.h"

/* Slots; three quarters of them are used. */
#define VMOP_GUEST_SEEN_SLOTS 2048u

enum vmop_guest_seen_state {
	VMOP_GUEST_SEEN_NEW = 0, /* not requested yet */
	VMOP_GUEST_SEEN_PENDING,
	VMOP_GUEST_SEEN_FOUND,
	VMOP_GUEST_SEEN_NONE, /* it was gone, or it has no perf map */
};

struct vmop_guest_seen_key {
	uint64_t start_time_ns; /* by the guest's clock */
	uint64_t pid;		/* 64 bits, so that the key has no padding */
};

struct vmop_guest_seen {
	struct vmop_guest_seen_key key;
	bool has_entry;			/* this slot of the table is in use */
	uint32_t used_in, requested_in; /* numbers of intervals, from 1; 0: none */
	uint8_t n_tries;		/* requests in the interval requested_in */
	char comm[16];			/* with a perf map */
	/* The process with its mappings, by a request of its own. */
	enum vmop_guest_seen_state state;
	struct vmop_guest_snapshot *snapshot;
	const struct vmop_guest_process *process; /* in snapshot */
	/* The names of its generated code. */
	enum vmop_guest_seen_state map_state;
	uint32_t map_requested_in;
	uint64_t map_due_ns, map_pause_ns; /* CLOCK_MONOTONIC: when the map is read again */
	struct vmop_image *generated;	   /* its generated code, referenced; NULL: no map */
};

/* Zeroed: without room. */
struct vmop_guest_processes {
	struct vmop_guest_seen *slots; /* a hash table with linear probing */
	uint32_t n;
	uint32_t interval; /* number of the present one */
};

/* Make room. False: out of memory. */
bool vmop_guest_processes_init(struct vmop_guest_processes *processes);
void vmop_guest_processes_deinit(struct vmop_guest_processes *processes,
				 struct vmop_images *images);

/*
 * Return the process, which is added if it was not there; NULL: no room. Valid until the next
 * vmop_guest_processes_next_interval. On the per-sample path.
 */
struct vmop_guest_seen *vmop_guest_processes_get(struct vmop_guest_processes *processes,
						 uint32_t pid, uint64_t start_time_ns);
/* Return the process, or NULL: it is not there. */
struct vmop_guest_seen *vmop_guest_processes_find(const struct vmop_guest_processes *processes,
						  uint32_t pid, uint64_t start_time_ns);

/* Take over the answer to a request: a snapshot with one process; NULL: it was gone. */
void vmop_guest_seen_take(struct vmop_guest_seen *seen, struct vmop_guest_snapshot *snapshot);

/* Begin the next interval. Drops processes that had no sample in the last two. */
void vmop_guest_processes_next_interval(struct vmop_guest_processes *processes,
					struct vmop_images *images);

#endif
