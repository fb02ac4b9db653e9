// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's tasks, from init_task on, with their mm_structs and mappings (kernel:
 * include/linux/sched.h, include/linux/mm_types.h).
 *
 * The caller is guest.c. Data meets the files of tasks/ in this order:
 *  1. processes.c walks the list of tasks and reads each process.
 *  2. vmas.c walks the mappings of one mm_struct.
 *  3. names.c reads each path of a file or cgroup once for a snapshot, by paths.c.
 *  4. files.c finds build-ids in the first pages of mapped files, by page-cache.c or by a process's
 *     page table. It keeps build-ids from snapshot to snapshot.
 *  5. snapshot.c stores the processes (snapshot-build.h) and answers look-ups (snapshot.h).
 *
 * The addresses that a sample showed (vmop/guest-context.h) meet two more files:
 *  1. numbers.c finds the numbers by which a sample's task, page and stack are read.
 *  2. inodes.c finds the file of a page's inode.  lookup.c finds an inode by its path.
 *
 * Thread: as for the vmop_guest that is read. Snapshots are immutable once finished.
 */
#ifndef VMOP_LIBGUEST_TASKS_PROCESSES_H
#define VMOP_LIBGUEST_TASKS_PROCESSES_H

#include "libguest/types.h"

struct vmop_guest_files;
struct vmop_guest_kernel;
struct vmop_guest_snapshot;
struct vmop_layout;

/*
 * As vmop_guest_snapshot_processes() in guest.h. *retries counts repeated reads. A process that
 * stays inconsistent after some tries is left out.
 */
struct vmop_error *vmop_guest_processes_read(struct vmop_guest_kernel *kernel,
					     const struct vmop_layout *layout,
					     struct vmop_guest_files *files, unsigned int flags,
					     uint64_t *retries, struct vmop_guest_snapshot **ret);

/*
 * As vmop_guest_snapshot_process() in guest.h. A process that stays inconsistent after some tries
 * is VMOP_ERROR_NOT_FOUND too.
 */
struct vmop_error *vmop_guest_processes_read_one(struct vmop_guest_kernel *kernel,
						 const struct vmop_layout *layout,
						 struct vmop_guest_files *files, uint64_t task,
						 uint32_t pid, uint64_t start_time_ns,
						 uint64_t *retries,
						 struct vmop_guest_snapshot **ret);

/*
 * Return the leader of the process of a task, or 0: the task is no longer one of this process. pid
 * and start_time_ns are the leader's.
 */
uint64_t vmop_guest_processes_leader(struct vmop_guest_kernel *kernel,
				     const struct vmop_layout *layout, uint64_t task, uint32_t pid,
				     uint64_t start_time_ns);

/* Return the gpa of the page table of a leader's process; 0: a kernel thread, or not readable. */
uint64_t vmop_guest_processes_page_table(struct vmop_guest_kernel *kernel,
					 const struct vmop_layout *layout, uint64_t leader);

/*
 * Return the task_struct of the guest's first process (pid 1), or 0 before it was started or when
 * it cannot be read.
 */
uint64_t vmop_guest_processes_first(struct vmop_guest_kernel *kernel,
				    const struct vmop_layout *layout);

/*
 * Return the address, relative to a CPU's per-CPU area (__per_cpu_offset), at which the CPU keeps a
 * pointer to its current task. 0: unknown.
 */
uint64_t vmop_guest_processes_current_address(const struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout);

/* As vmop_guest_current_tasks() in guest.h. */
struct vmop_error *vmop_guest_processes_current(struct vmop_guest_kernel *kernel,
						const struct vmop_layout *layout,
						struct vmop_guest_current *ret, size_t max,
						size_t *ret_count);

#endif
