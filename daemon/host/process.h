// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's processes with their names and mappings. Records keep them up to date; /proc has the
 * processes that ran before the first record.
 *
 * /proc is read after sampling begins, so a record can be older than a process's known_ns. Such a
 * record changes nothing.
 *
 * This folder has the host's processes, images and kernel. profile/ calls it for each record and
 * each sample, guest/ and xen/ use its images. All functions belong to the sampling thread, unless
 * a header names another. Data meets the files in this order:
 *
 *	procfs.h, proc-text.h, maps.h	/proc at the start, and after lost records
 *	process.h, idmap.h, pool.h	a record or sample finds its process
 *	task.h, short-lived.h		the row that a process or thread has in a session
 *	mapping.h, regions.h		a mapping becomes a region with an image
 *	image.h, unattributed.h		the image of a sample, or the reason why it has none
 *	kernel.h, text-map.h		the kernel's text, with symbols from kernel-cache.h
 *	examine.h, jit/perf-maps.h, jit/jitdumps.h	build-ids and names of sampled images before
 *			they are stored, read on threads of their own (readers.h)
 */
#ifndef VMOP_DAEMON_HOST_PROCESS_H
#define VMOP_DAEMON_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/idmap.h"
#include "daemon/host/image.h"
#include "daemon/host/pool.h"
#include "daemon/host/regions.h"
#include "daemon/host/task.h"
#include "libutil/proc-text.h"
#include "vmop/record.h"

struct vmop_domain;

#define VMOP_PROCESSES_MAX 65536
#define VMOP_THREADS_MAX 65536 /* with VMOP_SETUP_SEPARATE_THREAD */
#define VMOP_REGIONS_TOTAL_MAX (512 * 1024)

/* The state of a process's regions. */
enum vmop_maps_state {
	VMOP_MAPS_KNOWN,
	VMOP_MAPS_UNREAD, /* a sample has shown the process, and /proc is not read yet */
	VMOP_MAPS_DENIED,
	VMOP_MAPS_GONE, /* the process ended before /proc was read */
};

struct vmop_process {
	uint32_t pid;
	int32_t n_threads;
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0 not known */
	uint32_t born;	   /* vmop_tasks.interval of its fork record, plus 1; 0: no record */
	uint64_t known_ns; /* time of the last read of /proc; 0: never */
	struct vmop_regions *regions;
	struct vmop_task task;	    /* the process as a whole */
	struct vmop_domain *domain; /* the guest whose VMM or worker it is; NULL: no guest */
	uint64_t mount_ns;	    /* inode; 0 not known */
	uint32_t worker_of;	    /* of a kernel worker: the pid in its name; 0: none */
	uint32_t n_kvm_vcpus;	    /* mapped, when /proc was read */
	uint8_t maps;		    /* enum vmop_maps_state */
	uint64_t jitdump_at;	    /* where it has last mapped a jitdump; 0: never */
	bool is_kthread;
	bool wants_exe;	       /* the next mapped file is its program */
	uint64_t reread_ns;    /* earliest time of the next read of incomplete maps */
	bool is_queued;	       /* in the list of processes that attribute.c reads */
	bool is_loss;	       /* n_maps_unread counts it */
	uint32_t kernel_space; /* of daemon/stack/kernel-spaces.h; 0: none */
	bool leader_exited, has_exited;
	struct vmop_thread *threads;	  /* with VMOP_SEPARATE_THREAD */
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
	const char *root;		  /* the parent of /proc; NULL: a replay, without /proc */
	struct vmop_proc_text *proc_text; /* NULL: no time limit */
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_idmap by_pid, by_tid;
	struct vmop_pool pool, thread_pool;
	struct vmop_process *exited;
	struct vmop_thread *exited_threads;
	struct vmop_regions_budget budget;
	bool separate_threads;
	unsigned reader_nice; /* of threads that read files and that samples do not wait for */
	uint32_t check_cursor;
	uint64_t boot_to_monotonic_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	uint64_t generation;	       /* grows when pointers to processes become invalid */
	uint64_t n_refused;	       /* processes that did not fit */
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
 * Add a process with an unknown pid, whose maps are read later. On the per-sample path. NULL: no
 * room.
 */
struct vmop_process *vmop_processes_meet(struct vmop_processes *processes, uint32_t pid);

/* Return the task of thread tid, or the process's task if there is no room. */
struct vmop_task *vmop_processes_thread(struct vmop_processes *processes,
					struct vmop_process *process, uint32_t tid);

/* Apply a record. Each may return the record's process, or NULL. */
struct vmop_process *vmop_processes_fork(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *fork);
struct vmop_process *vmop_processes_exit(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *exit);
struct vmop_process *vmop_processes_comm(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_comm_record *comm);
struct vmop_process *vmop_processes_mmap(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_mmap_record *mmap);

/* Read /proc/PID, and add the process if it is new. NULL: no such process. */
struct vmop_process *vmop_processes_read(struct vmop_processes *processes, uint32_t pid);

/* Read the maps of process again, and its name if that is unknown. */
void vmop_processes_read_maps(struct vmop_processes *processes, struct vmop_process *process);

/* Mark process as ended. The sweep after the store of its samples frees it. */
void vmop_processes_retire(struct vmop_processes *processes, struct vmop_process *process);

/* Retire process, or up to n processes in turn, if it ended without a record. */
void vmop_processes_check_one(struct vmop_processes *processes, struct vmop_process *process);
void vmop_processes_check(struct vmop_processes *processes, unsigned n);

/* Free ended processes and threads that have nothing left to store. */
void vmop_processes_sweep(struct vmop_processes *processes);

#endif
