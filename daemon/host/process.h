// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's processes: what each is called and what it has mapped, kept up by
 * records as they come and by /proc for what ran before.
 *
 * /proc is read after sampling began, so records can be older than what was
 * read: what a process's known_ns is later than is in it already.
 */
#ifndef VMOP_DAEMON_HOST_PROCESS_H
#define VMOP_DAEMON_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/idmap.h"
#include "daemon/host/image.h"
#include "daemon/host/pool.h"
#include "daemon/host/proc-text.h"
#include "daemon/host/regions.h"
#include "daemon/host/task.h"
#include "vmop/record.h"

struct vmop_domain;

#define VMOP_PROCESSES_MAX 65536
#define VMOP_THREADS_MAX 65536 /* that are kept apart, with VMOP_SETUP_SEPARATE_THREAD */
#define VMOP_REGIONS_TOTAL_MAX (512 * 1024)

/* What the regions of a process are worth. */
enum vmop_maps_state {
	VMOP_MAPS_KNOWN,
	VMOP_MAPS_UNREAD, /* it turned up by a sample: /proc is still to be read */
	VMOP_MAPS_DENIED,
	VMOP_MAPS_GONE, /* it was over before they could be read */
};

struct vmop_process {
	uint32_t pid;
	int32_t n_threads;
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0 not known */
	uint32_t born;	   /* vmop_tasks.interval of its fork record, plus 1; 0: there was none */
	uint64_t known_ns; /* when /proc was read for it; 0: never */
	struct vmop_regions *regions;
	struct vmop_task task;	    /* the process as a whole */
	struct vmop_domain *domain; /* the guest that it works for; NULL: none */
	uint64_t mount_ns;	    /* inode; 0 not known */
	uint32_t worker_of;	    /* kernel worker: the pid its name has; 0: none */
	uint32_t n_kvm_vcpus;	    /* mapped, when /proc was read */
	uint8_t maps;		    /* enum vmop_maps_state */
	bool is_kthread;
	bool wants_exe;	    /* the next file mapped is what it executes */
	uint64_t reread_ns; /* when maps that did not explain a sample may be read again */
	bool is_queued;	    /* in attribute's list of those to read */
	bool is_loss;	    /* a sample found its maps unread, and n_maps_unread has it */
	bool leader_exited, has_exited;
	struct vmop_thread *threads;	  /* those that are kept apart */
	struct vmop_process *prev, *next; /* of those that have exited */
};

struct vmop_thread {
	uint32_t tid;
	struct vmop_process *process;
	struct vmop_task task;
	bool has_exited;
	struct vmop_thread *prev, *next;		 /* of those that have exited */
	struct vmop_thread *sibling_prev, *sibling_next; /* of its process */
};

struct vmop_processes {
	const char *root;		  /* of /proc; NULL: there is none to look at */
	struct vmop_proc_text *proc_text; /* NULL: there is no time limit */
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_idmap by_pid, by_tid;
	struct vmop_pool pool, thread_pool;
	struct vmop_process *exited;
	struct vmop_thread *exited_threads;
	struct vmop_regions_budget budget;
	bool separate_threads;
	uint32_t check_cursor;
	uint64_t boot_to_monotonic_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	uint64_t generation;	       /* moves on when pointers to processes go stale */
	uint64_t n_refused;	       /* processes that there was no room for */
	uint64_t n_maps_unread;	       /* processes with samples whose maps could not be read */
};

struct vmop_error *vmop_processes_init(struct vmop_processes *processes, const char *root,
				       struct vmop_images *images, struct vmop_tasks *tasks,
				       bool separate_threads);
void vmop_processes_deinit(struct vmop_processes *processes);

static inline struct vmop_process *vmop_processes_get(const struct vmop_processes *processes,
						      uint32_t pid)
{
	return vmop_idmap_get(&processes->by_pid, pid);
}

/*
 * On the per-sample path, for a pid not known so far: a process whose maps are
 * still to be read.  NULL: no room.
 */
struct vmop_process *vmop_processes_meet(struct vmop_processes *processes, uint32_t pid);

/* The task of thread tid, which is kept apart; of the process when there is no room. */
struct vmop_task *vmop_processes_thread(struct vmop_processes *processes,
					struct vmop_process *process, uint32_t tid);

/* Records. Each may return the process concerned, or NULL. */
struct vmop_process *vmop_processes_fork(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *fork);
struct vmop_process *vmop_processes_exit(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *exit);
struct vmop_process *vmop_processes_comm(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_comm_record *comm);
struct vmop_process *vmop_processes_mmap(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_mmap_record *mmap);

/* Reads /proc/PID, for a process known or not. NULL: there is none such. */
struct vmop_process *vmop_processes_read(struct vmop_processes *processes, uint32_t pid);

/* Reads the maps (and the name, where it isn't known) of process again. */
void vmop_processes_read_maps(struct vmop_processes *processes, struct vmop_process *process);

/* Marks it as over: it is freed by the sweep after its samples are stored. */
void vmop_processes_retire(struct vmop_processes *processes, struct vmop_process *process);

/* Retires process, or up to n in turn, if it is over and no record told so. */
void vmop_processes_check_one(struct vmop_processes *processes, struct vmop_process *process);
void vmop_processes_check(struct vmop_processes *processes, unsigned n);

/* Frees what has exited and has nothing left to be stored. */
void vmop_processes_sweep(struct vmop_processes *processes);

#endif
