// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "daemon/host/mapping.h"
#include "daemon/host/maps.h"
#include "libutil/clock.h"
#include "libutil/error.h"

#define KTHREADD_PID 2
/* Free objects for samples of pids without a record. */
#define POOL_RESERVE 64

static void keep_reserve(struct vmop_processes *processes)
{
	vmop_pool_fill(&processes->pool, POOL_RESERVE);
	if (processes->separate_threads)
		vmop_pool_fill(&processes->thread_pool, POOL_RESERVE);
}

static uint64_t boot_to_monotonic_ns(void)
{
	/* In this order, the time between the two reads cannot make the difference negative. */
	uint64_t monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t boot_ns = vmop_clock_ns(CLOCK_BOOTTIME);
	return boot_ns > monotonic_ns ? boot_ns - monotonic_ns : 0;
}

struct vmop_error *vmop_processes_init(struct vmop_processes *processes, const char *root,
				       struct vmop_images *images, struct vmop_tasks *tasks,
				       bool separate_threads)
{
	*processes = (struct vmop_processes){
		.root = root,
		.images = images,
		.tasks = tasks,
		.separate_threads = separate_threads,
		.budget.max = VMOP_REGIONS_TOTAL_MAX,
		.boot_to_monotonic_ns = boot_to_monotonic_ns(),
	};
	vmop_pool_init(&processes->pool, sizeof(struct vmop_process), VMOP_PROCESSES_MAX);
	vmop_pool_init(&processes->thread_pool, sizeof(struct vmop_thread), VMOP_THREADS_MAX);
	if (!vmop_idmap_init(&processes->by_pid, VMOP_PROCESSES_MAX) ||
	    (separate_threads && !vmop_idmap_init(&processes->by_tid, VMOP_THREADS_MAX)))
		return &vmop_error_no_memory;
	keep_reserve(processes);
	return NULL;
}

static void process_free(struct vmop_processes *processes, struct vmop_process *process)
{
	if (vmop_processes_get(processes, process->pid) == process)
		vmop_idmap_remove(&processes->by_pid, process->pid);
	vmop_regions_unref(process->regions, processes->images, &processes->budget);
	vmop_task_deinit(processes->tasks, &process->task);
	vmop_pool_put(&processes->pool, process);
	processes->generation++;
}

static void thread_free(struct vmop_processes *processes, struct vmop_thread *thread)
{
	DL_DELETE2(thread->process->threads, thread, sibling_prev, sibling_next);
	if (vmop_idmap_get(&processes->by_tid, thread->tid) == thread)
		vmop_idmap_remove(&processes->by_tid, thread->tid);
	vmop_task_deinit(processes->tasks, &thread->task);
	vmop_pool_put(&processes->thread_pool, thread);
}

void vmop_processes_deinit(struct vmop_processes *processes)
{
	if (!processes->by_pid.slots)
		return;
	struct vmop_process *process;
	for (uint32_t i = 0; (process = vmop_idmap_next(&processes->by_pid, &i));)
		vmop_processes_retire(processes, process);
	vmop_tasks_stored(processes->tasks, NULL);
	vmop_processes_sweep(processes);
	vmop_pool_deinit(&processes->pool);
	vmop_pool_deinit(&processes->thread_pool);
	vmop_idmap_deinit(&processes->by_pid);
	vmop_idmap_deinit(&processes->by_tid);
}

/* Return the name that stands for a value that is no pid; "": a process, whose name is not known
 * yet. */
static const char *name_of(uint32_t pid)
{
	switch (pid) {
	case 0:
		return "[idle]";
	case VMOP_PID_SWITCHING:
		return "[task switch]";
	case VMOP_PID_NEAR_SWITCH:
		return "[near a switch]";
	case VMOP_PID_NO_TASK:
		return "[unknown task]";
	default:
		return "";
	}
}

struct vmop_process *vmop_processes_meet(struct vmop_processes *processes, uint32_t pid)
{
	struct vmop_process *process = vmop_pool_get(&processes->pool);
	if (process && !vmop_idmap_put(&processes->by_pid, pid, process)) {
		vmop_pool_put(&processes->pool, process);
		process = NULL;
	}
	if (!process) {
		processes->n_refused++;
		return NULL;
	}
	process->pid = pid;
	process->n_threads = 1;
	process->maps =
		vmop_pid_is_process(pid) && processes->root ? VMOP_MAPS_UNREAD : VMOP_MAPS_KNOWN;
	process->task.pid = pid;
	process->task.is_current = true;
	strcpy(process->task.comm, name_of(pid));
	return process;
}

static void thread_retire(struct vmop_processes *processes, struct vmop_thread *thread)
{
	if (thread->has_exited)
		return;
	thread->has_exited = true;
	thread->task.is_current = false;
	thread->task.is_over = true;
	DL_APPEND(processes->exited_threads, thread);
}

struct vmop_task *vmop_processes_thread(struct vmop_processes *processes,
					struct vmop_process *process, uint32_t tid)
{
	struct vmop_thread *thread = vmop_idmap_get(&processes->by_tid, tid);
	if (thread && thread->process == process)
		return &thread->task;
	if (thread && !thread->has_exited)
		return &process->task; /* a tid has one process: a record was lost */
	if (!(thread = vmop_pool_get(&processes->thread_pool)))
		return &process->task;
	if (!vmop_idmap_put(&processes->by_tid, tid, thread)) {
		vmop_pool_put(&processes->thread_pool, thread);
		return &process->task;
	}
	DL_APPEND2(process->threads, thread, sibling_prev, sibling_next);
	thread->tid = tid;
	thread->process = process;
	thread->task.pid = process->pid;
	thread->task.tid = tid;
	thread->task.start_ns = tid == process->pid ? process->start_ns : 0;
	thread->task.is_current = true;
	memcpy(thread->task.comm, process->task.comm, sizeof(thread->task.comm));
	thread->task.cgroup = vmop_text_ref(process->task.cgroup);
	if (process->task.exe)
		thread->task.exe = vmop_image_ref(process->task.exe);
	/* A sample between its exit record and its end: no other record retires it. */
	if (process->has_exited)
		thread_retire(processes, thread);
	return &thread->task;
}

static void threads_retire(struct vmop_processes *processes, const struct vmop_process *process)
{
	struct vmop_thread *thread;
	DL_FOREACH2(process->threads, thread, sibling_next)
	thread_retire(processes, thread);
}

void vmop_processes_retire(struct vmop_processes *processes, struct vmop_process *process)
{
	if (process->has_exited)
		return;
	threads_retire(processes, process);
	process->has_exited = true;
	process->task.is_current = false;
	process->task.is_over = true;
	DL_APPEND(processes->exited, process);
}

/* Make a process for pid, and retire an earlier process of that pid. NULL: no room. */
static struct vmop_process *begin(struct vmop_processes *processes, uint32_t pid)
{
	struct vmop_process *old = vmop_processes_get(processes, pid);
	if (old) {
		vmop_processes_retire(processes, old);
		vmop_idmap_remove(&processes->by_pid, pid);
		processes->generation++;
	}
	keep_reserve(processes);
	return vmop_processes_meet(processes, pid);
}

/* Whether /proc was read after the time of a record, and so has its content. */
static bool is_known(const struct vmop_process *process, uint64_t time_ns)
{
	return process->known_ns && time_ns <= process->known_ns;
}

struct vmop_process *vmop_processes_fork(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *fork)
{
	struct vmop_process *process = vmop_processes_get(processes, fork->pid);
	if (process && !process->has_exited && is_known(process, time_ns))
		return process;		     /* /proc was read since */
	if (fork->pid == fork->parent_pid) { /* a thread */
		if (process)
			process->n_threads++;
		return process;
	}
	process = begin(processes, fork->pid);
	if (!process)
		return NULL;
	process->start_ns = process->task.start_ns = time_ns;
	process->born = processes->tasks->interval + 1;
	const struct vmop_process *parent = vmop_processes_get(processes, fork->parent_pid);
	process->is_kthread = fork->parent_pid == KTHREADD_PID || (parent && parent->is_kthread);
	if (!parent)
		return process;
	process->maps = parent->maps;
	process->regions = vmop_regions_ref(parent->regions);
	process->mount_ns = parent->mount_ns;
	process->jitdump_at = parent->jitdump_at;
	process->task.cgroup = vmop_text_ref(parent->task.cgroup);
	process->task.exe = parent->task.exe ? vmop_image_ref(parent->task.exe) : NULL;
	memcpy(process->task.comm, parent->task.comm, sizeof(process->task.comm));
	return process;
}

struct vmop_process *vmop_processes_exit(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_task_record *exit)
{
	struct vmop_process *process = vmop_processes_get(processes, exit->pid);
	/* /proc rounds the start of a process down. */
	if (!process || process->has_exited || time_ns < process->start_ns)
		return NULL; /* the record is of an earlier process of that pid */
	if (processes->separate_threads) {
		struct vmop_thread *thread = vmop_idmap_get(&processes->by_tid, exit->tid);
		if (thread && thread->process == process)
			thread_retire(processes, thread);
	}
	if (exit->tid == exit->pid)
		process->leader_exited = true;
	if (!is_known(process, time_ns))
		process->n_threads--;
	if (process->leader_exited && process->n_threads <= 0)
		vmop_processes_retire(processes, process);
	return process;
}

/* Use the name of a thread only with VMOP_SEPARATE_THREAD, except the first thread's. */
static void thread_comm(struct vmop_processes *processes, struct vmop_process *process,
			uint32_t tid, const char *comm)
{
	struct vmop_task *task = vmop_processes_thread(processes, process, tid);
	if (task == &process->task || !strncmp(task->comm, comm, sizeof(task->comm) - 1))
		return;
	if (task->id.number)
		vmop_task_renew(processes->tasks, task);
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
}

/* execve(2) has removed all mappings. */
static void executed(struct vmop_processes *processes, struct vmop_process *process)
{
	vmop_regions_unref(process->regions, processes->images, &processes->budget);
	process->regions = NULL;
	process->jitdump_at = 0;
	process->maps = VMOP_MAPS_KNOWN; /* records have all later mappings */
	process->wants_exe = true;
	process->is_kthread = false;
	process->leader_exited = false;
	process->n_threads = 1;
	process->n_kvm_vcpus = 0;
	/* One thread is left, under another name, which is another task. */
	struct vmop_thread *thread;
	DL_FOREACH2(process->threads, thread, sibling_next)
	if (vmop_idmap_get(&processes->by_tid, thread->tid) == thread)
		vmop_idmap_remove(&processes->by_tid, thread->tid);
	threads_retire(processes, process);
}

/* Kernel workers with their owner's pid in their name. */
static uint32_t worker_of(const char *comm)
{
	static const char *const formats[] = {"vhost-%u", "kvm-pit/%u", "kvm-nx-lpage-recovery-%u"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		unsigned pid;
		if (sscanf(comm, formats[i], &pid) == 1)
			return pid;
	}
	return 0;
}

struct vmop_process *vmop_processes_comm(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_comm_record *comm)
{
	struct vmop_process *process = vmop_processes_get(processes, comm->pid);
	if (process && is_known(process, time_ns))
		return process;
	if (!process && !(process = begin(processes, comm->pid)))
		return NULL;
	keep_reserve(processes);
	if (comm->tid != comm->pid && !comm->is_exec) {
		if (processes->separate_threads)
			thread_comm(processes, process, comm->tid, comm->comm);
		return process;
	}
	if (comm->is_exec || strncmp(process->task.comm, comm->comm, VMOP_COMM_BYTES - 1) != 0) {
		if (process->task.id.number)
			vmop_task_renew(processes->tasks, &process->task);
		snprintf(process->task.comm, VMOP_COMM_BYTES, "%s", comm->comm);
	}
	if (comm->is_exec) {
		executed(processes, process);
	} else {
		if (process->is_kthread)
			process->worker_of = worker_of(comm->comm);
		if (processes->separate_threads)
			thread_comm(processes, process, comm->tid, comm->comm);
	}
	return process;
}

struct vmop_process *vmop_processes_mmap(struct vmop_processes *processes, uint64_t time_ns,
					 const struct vmop_mmap_record *mmap)
{
	struct vmop_process *process = vmop_processes_get(processes, mmap->pid);
	if (process && is_known(process, time_ns))
		return process;
	if (!process && !(process = begin(processes, mmap->pid)))
		return NULL;
	uint64_t end;
	if (!mmap->len_bytes || __builtin_add_overflow(mmap->start, mmap->len_bytes, &end))
		return process;
	struct vmop_build_id build_id = {.len_bytes = mmap->build_id_len_bytes};
	if (build_id.len_bytes > sizeof(build_id.bytes))
		build_id.len_bytes = 0;
	memcpy(build_id.bytes, mmap->build_id, build_id.len_bytes);
	struct vmop_mapping mapping = {
		.start = mmap->start,
		.end = end,
		.file_offset_bytes = mmap->file_offset_bytes,
		.dev_major = mmap->dev_major,
		.dev_minor = mmap->dev_minor,
		.inode = mmap->inode,
		.build_id = &build_id,
		.path = mmap->path ? mmap->path : "",
	};
	vmop_mapping_add(processes, process, &mapping);
	return process;
}

void vmop_processes_check_one(struct vmop_processes *processes, struct vmop_process *process)
{
	char path[PATH_MAX];
	if (!processes->root || !vmop_pid_is_process(process->pid) || process->has_exited)
		return;
	snprintf(path, sizeof(path), "%s/proc/%u", processes->root, process->pid);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		vmop_processes_retire(processes, process);
}

void vmop_processes_check(struct vmop_processes *processes, unsigned n)
{
	for (; n; n--) {
		struct vmop_process *process =
			vmop_idmap_next(&processes->by_pid, &processes->check_cursor);
		if (!process) {
			processes->check_cursor = 0;
			return;
		}
		vmop_processes_check_one(processes, process);
	}
}

void vmop_processes_sweep(struct vmop_processes *processes)
{
	struct vmop_thread *thread, *next_thread;
	processes->boot_to_monotonic_ns = boot_to_monotonic_ns(); /* grows by a suspend */
	DL_FOREACH_SAFE(processes->exited_threads, thread, next_thread)
	{
		if (vmop_task_is_pending(&thread->task))
			continue;
		DL_DELETE(processes->exited_threads, thread);
		thread_free(processes, thread);
	}
	struct vmop_process *process, *next;
	DL_FOREACH_SAFE(processes->exited, process, next)
	{
		if (process->threads || vmop_task_is_pending(&process->task))
			continue;
		DL_DELETE(processes->exited, process);
		process_free(processes, process);
	}
	keep_reserve(processes);
}

struct scan {
	struct vmop_processes *processes;
	struct vmop_process *process;
	char exe[PATH_MAX];
};

static void scan_line(void *arg, const struct vmop_maps_line *line)
{
	struct scan *scan = arg;
	unsigned vcpu;
	if (!line->is_executable) {
		if (sscanf(line->path, "anon_inode:kvm-vcpu:%u", &vcpu) == 1 &&
		    vcpu >= scan->process->n_kvm_vcpus && vcpu < UINT16_MAX)
			scan->process->n_kvm_vcpus = vcpu + 1;
		return;
	}
	/* Processes can't map addresses in the kernel's half. */
	if (!strcmp(line->path, "[vsyscall]"))
		return;
	struct vmop_mapping mapping = {
		.start = line->start,
		.end = line->end,
		.file_offset_bytes = line->file_offset_bytes,
		.dev_major = line->dev_major,
		.dev_minor = line->dev_minor,
		.inode = line->inode,
		.path = line->path,
	};
	if (*scan->exe && !strcmp(line->path, scan->exe)) {
		scan->process->wants_exe = true;
		*scan->exe = '\0';
	}
	vmop_mapping_add(scan->processes, scan->process, &mapping);
}

void vmop_processes_read_maps(struct vmop_processes *processes, struct vmop_process *process)
{
	struct scan scan = {.processes = processes, .process = process};
	if (process->is_kthread) {
		process->maps = VMOP_MAPS_KNOWN;
		return;
	}
	vmop_procfs_readlink(processes->root, scan.exe, sizeof(scan.exe), "/proc/%u/exe",
			     process->pid);
	process->wants_exe = false;
	int os_errno = vmop_maps_read(processes->proc_text, processes->root, process->pid,
				      scan_line, &scan);
	if (!os_errno) {
		process->maps = VMOP_MAPS_KNOWN;
		return;
	}
	process->maps = os_errno == EACCES || os_errno == EPERM ? VMOP_MAPS_DENIED : VMOP_MAPS_GONE;
}

struct vmop_process *vmop_processes_read(struct vmop_processes *processes, uint32_t pid)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_procfs_stat stat;
	struct vmop_process *process = vmop_processes_get(processes, pid);
	if (!vmop_procfs_stat(processes->root, pid, &stat)) {
		if (process) {
			process->maps = VMOP_MAPS_GONE;
			vmop_processes_retire(processes, process);
		}
		return NULL;
	}
	if (!process || process->has_exited)
		process = begin(processes, pid);
	if (!process)
		return NULL;
	long ticks = sysconf(_SC_CLK_TCK);
	uint64_t start_ns = stat.start_ticks * (VMOP_NS_PER_S / (uint64_t)ticks);
	start_ns -= start_ns < processes->boot_to_monotonic_ns ? start_ns
							       : processes->boot_to_monotonic_ns;
	/* A fork record's time is exact, /proc's is rounded down to a tick. */
	if (process->start_ns < start_ns ||
	    process->start_ns - start_ns > 2 * VMOP_NS_PER_S / (uint64_t)ticks)
		process->start_ns = process->task.start_ns = start_ns;
	process->known_ns = now_ns;
	vmop_regions_unref(process->regions, processes->images, &processes->budget);
	process->regions = NULL;
	process->n_threads = (int32_t)stat.n_threads;
	process->is_kthread = stat.is_kthread;
	memcpy(process->task.comm, stat.comm, sizeof(stat.comm));
	if (stat.is_kthread) {
		/* stat cuts the name, comm has kernel threads' in full (Linux 5.17). */
		char comm[64];
		if (vmop_procfs_read(processes->root, comm, sizeof(comm), "/proc/%u/comm", pid) > 0)
			process->worker_of = worker_of(comm);
	}
	vmop_processes_read_maps(processes, process);
	return process;
}
