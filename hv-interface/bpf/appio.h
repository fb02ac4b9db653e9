// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Application I/O counted in the kernel, for unmodified programs: one process with its threads and
 * the children that it makes. The kernel's side is appio.bpf.c; appio-counts.h has the terms. A
 * vmop that was built without libbpf has appio-none.c instead: nothing is counted.
 */
#ifndef VMOP_HV_INTERFACE_BPF_APPIO_H
#define VMOP_HV_INTERFACE_BPF_APPIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hv-interface/appio-counts.h"
#include "libutil/error.h"

struct vmop_appio;

/* Losses of the counting. Each is 0 if everything was counted. */
struct vmop_appio_facts {
	uint64_t n_tasks;	    /* threads, from the first on */
	uint64_t n_left_out;	    /* calls that have no thread and no descriptor */
	uint64_t n_foreign;	    /* system calls of an ABI that is not counted */
	uint64_t n_restarts;	    /* calls that were restarted after a signal, counted once */
	uint64_t n_unsure;	    /* interrupted calls whose end is not known: not counted */
	uint64_t n_unread;	    /* vectors that could not be read: without bytes or shortness */
	uint64_t n_lost_tasks;	    /* threads that are not counted for want of memory */
	uint64_t n_missed;	    /* events for which the kernel did not run the program */
	uint64_t n_unseen_faults;   /* faults whose mapping is not known */
	uint64_t n_unseen_programs; /* executed without the library, where there is one */
	uint64_t file_faults, major_faults; /* of threads without a number */
	/* Each is NULL, or why something is not counted; static. */
	const char *no_counts; /* anything at all */
	const char *no_faults; /* page faults in mapped files */
	const char *no_major_faults;
	const char *no_uring;	  /* requests of io_uring */
	const char *no_open_peak; /* the most open descriptors */
};

/*
 * Load and attach the programs, which count nothing yet. has_times needs a second one, at the start
 * of each system call. Free with vmop_appio_destroy. VMOP_ERROR_CANT: the kernel has no such
 * programs or does not permit them; the message completes "not by BPF: ...".
 */
struct vmop_error *vmop_appio_create(bool has_times, struct vmop_appio **ret);

/* Count the threads of a process and their children: from its next execve(2) on, or from now on. */
struct vmop_error *vmop_appio_adopt(struct vmop_appio *appio, pid_t pid, bool on_exec);

void vmop_appio_destroy(struct vmop_appio *appio); /* NULL is allowed */

/* Take no more counts. Those that are there can still be read. */
void vmop_appio_stop(struct vmop_appio *appio);

/* Receives the counts of one read. */
struct vmop_appio_sink {
	void *data;
	/* A thread: number from 1 on. Called before the first entry. */
	struct vmop_error *(*put_task)(void *data, uint32_t number,
				       const struct vmop_appio_task *task);
	/* An entry; entry->name may be empty. key->task is 0 for the rest that has no thread. */
	struct vmop_error *(*put_entry)(void *data, const struct vmop_appio_key *key,
					const struct vmop_appio_entry *entry);
};

/* Pass all counts since the start to the sink. */
struct vmop_error *vmop_appio_read(struct vmop_appio *appio, const struct vmop_appio_sink *sink,
				   struct vmop_appio_facts *ret);

#endif
