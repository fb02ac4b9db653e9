// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/processes.h"

#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libguest/tasks/account.h"
#include "libguest/tasks/files.h"
#include "libguest/tasks/names.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/snapshot-build.h"
#include "libguest/tasks/vmas.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MAX_TASKS 65536u
#define MAX_CPUS 4096u
#define TRIES 3
#define VM_EXEC 4u
#define MAX_PID_LEVEL 32u /* include/linux/pid_namespace.h: MAX_PID_NS_LEVEL */

struct reader {
	struct vmop_guest_kernel *kernel;
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	struct vmop_guest_files *files;
	struct vmop_guest_names *names;
	struct vmop_guest_snapshot *snapshot;
	unsigned int flags;
	uint64_t special_ops; /* special_mapping_vmops, the operations of the vDSO and similar
				 mappings; 0: not known yet */
	/* of the current process */
	struct vmop_guest_raw_vma *raw;
	struct vmop_guest_vma *vmas;
	uint32_t *paths;
	size_t raw_size, vmas_size, paths_size;
	uint32_t count;
	bool no_memory;
};

static uint64_t at(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(reader->layout, field);
}

static uint64_t load(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(reader->space, at(reader, base, field));
}

static uint32_t load32(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u32(reader->space, at(reader, base, field));
}

static bool has(const struct reader *reader, enum vmop_layout_field field)
{
	return vmop_layout_has(reader->layout, field);
}

static void drop_caches(struct reader *reader)
{
	vmop_guest_memory_forget(reader->space->memory);
	vmop_guest_space_forget(reader->space);
	vmop_guest_space_take_fault(reader->space);
}

/* --- one task --------------------------------------------------------------------------- */

static void read_comm(const struct reader *reader, uint64_t task, char *ret)
{
	char comm[16];
	vmop_guest_space_read(reader->space, at(reader, task, VMOP_LAYOUT_TASK_COMM), comm,
			      sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	memset(ret, 0, sizeof(comm));
	strcpy(ret, comm);
}

/*
 * Return the gpa of the page table of mm (mm->pgd is a kernel address; CR3 holds its frame); 0: a
 * kernel thread.
 */
static uint64_t read_pgd(const struct reader *reader, uint64_t mm)
{
	uint64_t gpa;
	if (!mm)
		return 0;
	uint64_t pgd = load(reader, mm, VMOP_LAYOUT_MM_PGD);
	if (!vmop_guest_space_translate(reader->space, pgd, &gpa, NULL)) {
		reader->space->fault = true;
		return 0;
	}
	return gpa;
}

/*
 * Return the pid in the innermost namespace: struct pid holds a task's number in each of its
 * namespaces, the innermost last.
 */
static uint32_t read_ns_pid(const struct reader *reader, uint64_t task, uint32_t pid)
{
	if (!has(reader, VMOP_LAYOUT_TASK_THREAD_PID) || !has(reader, VMOP_LAYOUT_PID_LEVEL) ||
	    !has(reader, VMOP_LAYOUT_PID_NUMBERS) || !has(reader, VMOP_LAYOUT_UPID_NR) ||
	    !has(reader, VMOP_LAYOUT_UPID_SIZE) || !pid)
		return pid;
	uint64_t object = load(reader, task, VMOP_LAYOUT_TASK_THREAD_PID);
	if (!object)
		return pid; /* the task is exiting */
	uint32_t level = load32(reader, object, VMOP_LAYOUT_PID_LEVEL);
	if (level > MAX_PID_LEVEL) {
		reader->space->fault = true;
		return pid;
	}
	uint64_t number =
		at(reader, object, VMOP_LAYOUT_PID_NUMBERS) +
		(uint64_t)level * vmop_layout_value(reader->layout, VMOP_LAYOUT_UPID_SIZE);
	return load32(reader, number, VMOP_LAYOUT_UPID_NR);
}

static uint64_t read_task(const struct reader *reader, uint64_t task,
			  struct vmop_guest_process *ret)
{
	uint64_t mm = load(reader, task, VMOP_LAYOUT_TASK_MM);
	*ret = (struct vmop_guest_process){
		.task = task,
		.pid = load32(reader, task, VMOP_LAYOUT_TASK_TGID),
		.pgd_gpa = read_pgd(reader, mm),
	};
	ret->ns_pid = read_ns_pid(reader, task, ret->pid);
	if (has(reader, VMOP_LAYOUT_TASK_PARENT)) {
		uint64_t parent = load(reader, task, VMOP_LAYOUT_TASK_PARENT);
		ret->ppid = load32(reader, parent, VMOP_LAYOUT_TASK_TGID);
	}
	if (has(reader, VMOP_LAYOUT_TASK_START))
		ret->start_time_ns = load(reader, task, VMOP_LAYOUT_TASK_START);
	ret->account = vmop_guest_account_read(reader->space, reader->layout, task);
	read_comm(reader, task, ret->comm);
	return mm;
}

/* --- its mappings ------------------------------------------------------------------------- */

static bool grow(struct reader *reader)
{
	size_t n = (size_t)reader->count + 1;
	reader->no_memory = !vmop_array_reserve(reader->raw, reader->raw_size, n) ||
			    !vmop_array_reserve(reader->vmas, reader->vmas_size, n) ||
			    !vmop_array_reserve(reader->paths, reader->paths_size, n);
	return !reader->no_memory;
}

static bool take_raw(const struct vmop_guest_raw_vma *vma, void *arg)
{
	struct reader *reader = arg;
	if (!grow(reader))
		return false;
	reader->raw[reader->count++] = *vma;
	return true;
}

/*
 * Write the name that /proc/PID/maps prints for memory without a file (kernel: fs/proc/task_mmu.c).
 */
static void anonymous_name(const struct reader *reader, uint64_t mm,
			   const struct vmop_guest_raw_vma *vma, char *ret, size_t size)
{
	if (reader->special_ops && has(reader, VMOP_LAYOUT_VMA_OPS) &&
	    has(reader, VMOP_LAYOUT_VMA_PRIVATE) && has(reader, VMOP_LAYOUT_SPECIAL_NAME) &&
	    load(reader, vma->address, VMOP_LAYOUT_VMA_OPS) == reader->special_ops) {
		uint64_t special = load(reader, vma->address, VMOP_LAYOUT_VMA_PRIVATE);
		vmop_guest_space_string(reader->space,
					load(reader, special, VMOP_LAYOUT_SPECIAL_NAME), ret, size);
		return;
	}
	const char *name = "//anon";
	if (has(reader, VMOP_LAYOUT_MM_BRK) && has(reader, VMOP_LAYOUT_MM_START_BRK) &&
	    vma->start < load(reader, mm, VMOP_LAYOUT_MM_BRK) &&
	    vma->end > load(reader, mm, VMOP_LAYOUT_MM_START_BRK))
		name = "[heap]";
	if (has(reader, VMOP_LAYOUT_MM_START_STACK)) {
		uint64_t stack = load(reader, mm, VMOP_LAYOUT_MM_START_STACK);
		if (vma->start <= stack && vma->end >= stack)
			name = "[stack]";
	}
	strncpy(ret, name, size - 1);
	ret[size - 1] = '\0';
}

/* Return the address at which the process maps the first page of the file of a mapping; 0: none. */
static uint64_t first_page(const struct reader *reader, uint32_t index)
{
	const struct vmop_guest_raw_vma *vma = &reader->raw[index];
	/* The loader maps the pieces of a file next to each other. */
	for (uint32_t i = index + 1; i-- > 0 && index - i < 8;)
		if (reader->raw[i].file == vma->file && reader->raw[i].page_offset == 0)
			return reader->raw[i].start;
	return 0;
}

static struct vmop_error *name_vma(struct reader *reader, uint64_t mm, uint64_t pgd_gpa,
				   uint32_t index, uint32_t out)
{
	const struct vmop_guest_raw_vma *raw = &reader->raw[index];
	struct vmop_guest_vma *vma = &reader->vmas[out];
	char path[VMOP_GUEST_PATH_MAX];
	struct vmop_error *err;
	*vma = (struct vmop_guest_vma){.start = raw->start,
				       .end = raw->end,
				       .file = raw->file,
				       .vm_flags = (uint32_t)raw->flags};
	if (raw->file) {
		vma->file_offset_bytes =
			raw->page_offset * vmop_paging_page_bytes(&reader->space->paging);
		err = vmop_guest_names_file(reader->names, raw->file, path, &reader->paths[out]);
	} else {
		anonymous_name(reader, mm, raw, path, sizeof(path));
		err = vmop_guest_snapshot_text(reader->snapshot, path, &reader->paths[out]);
	}
	bool is_vdso = !raw->file && strcmp(path, "[vdso]") == 0;
	if (err || (reader->flags & VMOP_GUEST_NO_BUILD_IDS) || !(raw->flags & VM_EXEC) ||
	    !(raw->file || is_vdso) || reader->space->fault)
		return err;
	vma->build_id_len_bytes = vmop_guest_files_build_id(
		reader->files, reader->kernel, reader->layout, raw->file, path, pgd_gpa,
		is_vdso ? raw->start : first_page(reader, index), vma->build_id);
	return NULL;
}

/*
 * Find the operations of special mappings: mm->context.vdso points to the vDSO, and similar
 * mappings have the same operations.
 */
static void learn_special_ops(struct reader *reader, uint64_t mm)
{
	if (reader->special_ops || !has(reader, VMOP_LAYOUT_MM_VDSO) ||
	    !has(reader, VMOP_LAYOUT_VMA_OPS))
		return;
	uint64_t vdso = load(reader, mm, VMOP_LAYOUT_MM_VDSO);
	for (uint32_t i = 0; i < reader->count && vdso; i++)
		if (reader->raw[i].start == vdso && !reader->raw[i].file)
			reader->special_ops =
				load(reader, reader->raw[i].address, VMOP_LAYOUT_VMA_OPS);
}

/*
 * Read the mappings of a process into reader->vmas. Set *ret_whole to whether they are consistent.
 */
static struct vmop_error *read_vmas(struct reader *reader, uint64_t mm, uint64_t pgd_gpa,
				    uint32_t *ret_count, bool *ret_whole)
{
	reader->count = 0;
	*ret_count = 0;
	*ret_whole = vmop_guest_vmas_walk(reader->space, reader->layout, mm, take_raw, reader);
	if (reader->no_memory)
		return &vmop_error_no_memory;
	if (*ret_whole)
		learn_special_ops(reader, mm);
	for (uint32_t i = 0; *ret_whole && i < reader->count; i++) {
		if (!(reader->flags & VMOP_GUEST_ALL_VMAS) && !(reader->raw[i].flags & VM_EXEC))
			continue;
		struct vmop_error *err = name_vma(reader, mm, pgd_gpa, i, (*ret_count)++);
		if (err)
			return err;
		if (!vmop_guest_budget_step(reader->space->budget) || reader->space->fault)
			*ret_whole = false;
	}
	return NULL;
}

/* Read one process once. Set *ret_whole to whether it did not change meanwhile. */
static struct vmop_error *read_process(struct reader *reader, uint64_t task, bool *ret_whole)
{
	struct vmop_guest_process process;
	uint32_t cgroup, count = 0;
	*ret_whole = false;
	vmop_guest_space_take_fault(reader->space);
	uint64_t mm = read_task(reader, task, &process);
	if (reader->space->fault)
		return NULL;
	struct vmop_error *err = vmop_guest_names_cgroup(reader->names, task, &cgroup);
	if (err)
		return err;
	*ret_whole = true;
	if (mm)
		err = read_vmas(reader, mm, process.pgd_gpa, &count, ret_whole);
	if (err || vmop_guest_space_take_fault(reader->space) || !*ret_whole) {
		*ret_whole = false;
		return err;
	}
	return vmop_guest_snapshot_add(reader->snapshot, &process, cgroup, reader->vmas,
				       reader->paths, count);
}

/* --- all tasks ------------------------------------------------------------------------------ */

struct tasks {
	uint64_t *task;
	size_t size;
	uint32_t count;
};

static struct vmop_error *add_task(struct tasks *tasks, uint64_t task)
{
	if (!vmop_array_reserve(tasks->task, tasks->size, (size_t)tasks->count + 1))
		return &vmop_error_no_memory;
	tasks->task[tasks->count++] = task;
	return NULL;
}

/*
 * Walk init_task.tasks, a circular list of all leaders of thread groups. A list that does not
 * return to its head is torn; Brent's algorithm finds other cycles.
 */
static struct vmop_error *list_tasks(struct reader *reader, struct tasks *tasks, bool *ret_whole)
{
	uint64_t offset = vmop_layout_value(reader->layout, VMOP_LAYOUT_TASK_TASKS);
	uint64_t head = vmop_guest_kernel_symbol(reader->kernel, "init_task") + offset;
	uint64_t node = head, seen = head;
	uint32_t until = 1;
	tasks->count = 0;
	*ret_whole = false;
	vmop_guest_space_take_fault(reader->space);
	for (uint32_t i = 1; i <= MAX_TASKS && vmop_guest_budget_step(reader->space->budget); i++) {
		struct vmop_error *err = add_task(tasks, node - offset);
		if (err)
			return err;
		node = vmop_guest_space_u64(reader->space, node);
		if (vmop_guest_space_take_fault(reader->space) ||
		    !vmop_guest_space_is_kernel(reader->space, node))
			return NULL;
		if (node == head) {
			*ret_whole = true;
			return NULL;
		}
		if (node == seen)
			return NULL;
		if (i == until) {
			seen = node;
			until *= 2;
		}
	}
	return NULL;
}

static struct vmop_error *list_tasks_tried(struct reader *reader, struct tasks *tasks,
					   uint64_t *retries, size_t *torn)
{
	for (int try = 0; try < TRIES; try++) {
		bool whole;
		struct vmop_error *err = list_tasks(reader, tasks, &whole);
		if (err || whole)
			return err;
		++*retries;
		drop_caches(reader);
	}
	++*torn; /* processes after the break are missing */
	return NULL;
}

static struct vmop_error *read_all(struct reader *reader, struct tasks *tasks, uint64_t *retries,
				   size_t *torn)
{
	struct vmop_error *err = list_tasks_tried(reader, tasks, retries, torn);
	for (uint32_t i = 0; !err && i < tasks->count; i++) {
		bool whole = false;
		for (int try = 0; try < TRIES && !whole && !err; try++) {
			if (try) {
				++*retries;
				drop_caches(reader);
			}
			err = read_process(reader, tasks->task[i], &whole);
		}
		*torn += !whole;
		if (!reader->space->budget->steps_left || !reader->space->budget->bytes_left) {
			*torn += tasks->count - i - 1;
			break;
		}
	}
	return err;
}

static void reader_cleanup(struct reader *reader)
{
	vmop_guest_names_free(reader->names);
	vmop_guest_snapshot_free(reader->snapshot);
	free(reader->raw);
	free(reader->vmas);
	free(reader->paths);
}

static void tasks_cleanup(struct tasks *tasks)
{
	free(tasks->task);
}

static struct vmop_error *unknown_layout(const struct vmop_guest_kernel *kernel)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "kernel %s has no BTF, and no profile was given for it",
			      kernel->info.release);
}

static struct vmop_error *reader_init(struct reader *reader, struct vmop_guest_kernel *kernel,
				      const struct vmop_layout *layout,
				      struct vmop_guest_files *files, unsigned int flags)
{
	*reader = (struct reader){
		.kernel = kernel,
		.space = &kernel->space,
		.layout = layout,
		.files = files,
		.flags = flags,
		.special_ops = vmop_guest_kernel_symbol(kernel, "special_mapping_vmops")};
	if (!vmop_layout_has_processes(layout))
		return unknown_layout(kernel);
	struct vmop_error *err = vmop_guest_snapshot_new(&reader->snapshot);
	return err ? err : vmop_guest_names_new(kernel, layout, reader->snapshot, &reader->names);
}

static struct vmop_error *reader_finish(struct reader *reader, size_t torn,
					struct vmop_guest_snapshot **ret)
{
	const struct vmop_guest_kernel *kernel = reader->kernel;
	struct vmop_error *err = vmop_guest_snapshot_finish(
		reader->snapshot, torn, &kernel->space.paging, kernel->info.has_kpti);
	if (!err)
		*ret = vmop_steal(&reader->snapshot);
	return err;
}

struct vmop_error *vmop_guest_processes_read(struct vmop_guest_kernel *kernel,
					     const struct vmop_layout *layout,
					     struct vmop_guest_files *files, unsigned int flags,
					     uint64_t *retries, struct vmop_guest_snapshot **ret)
{
	_cleanup_(reader_cleanup) struct reader reader = {0};
	_cleanup_(tasks_cleanup) struct tasks tasks = {0};
	size_t torn = 0;
	struct vmop_error *err = reader_init(&reader, kernel, layout, files, flags);
	if (!err)
		err = read_all(&reader, &tasks, retries, &torn);
	return err ? err : reader_finish(&reader, torn, ret);
}

uint64_t vmop_guest_processes_first(struct vmop_guest_kernel *kernel,
				    const struct vmop_layout *layout)
{
	const struct reader reader = {.space = &kernel->space, .layout = layout};
	uint64_t idle = vmop_guest_kernel_symbol(kernel, "init_task");
	uint64_t next = idle ? load(&reader, idle, VMOP_LAYOUT_TASK_TASKS) : 0;
	uint64_t task = next - vmop_layout_value(layout, VMOP_LAYOUT_TASK_TASKS);
	bool is_first = next && load32(&reader, task, VMOP_LAYOUT_TASK_TGID) == 1;
	return is_first && !kernel->space.fault ? task : 0;
}

/* --- one process ---------------------------------------------------------------------------- */

/* Return the leader of a task's thread group if it is that of a process; 0: it is not. */
static uint64_t leader_of(struct reader *reader, uint64_t task, uint32_t pid,
			  uint64_t start_time_ns)
{
	uint64_t leader = has(reader, VMOP_LAYOUT_TASK_LEADER)
				  ? load(reader, task, VMOP_LAYOUT_TASK_LEADER)
				  : task;
	bool is_same = vmop_guest_space_is_kernel(reader->space, leader) &&
		       load32(reader, leader, VMOP_LAYOUT_TASK_TGID) == pid &&
		       load32(reader, leader, VMOP_LAYOUT_TASK_PID) == pid &&
		       (!has(reader, VMOP_LAYOUT_TASK_START) ||
			load(reader, leader, VMOP_LAYOUT_TASK_START) == start_time_ns);
	return !vmop_guest_space_take_fault(reader->space) && is_same ? leader : 0;
}

uint64_t vmop_guest_processes_leader(struct vmop_guest_kernel *kernel,
				     const struct vmop_layout *layout, uint64_t task, uint32_t pid,
				     uint64_t start_time_ns)
{
	struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	drop_caches(&reader);
	return leader_of(&reader, task, pid, start_time_ns);
}

uint64_t vmop_guest_processes_page_table(struct vmop_guest_kernel *kernel,
					 const struct vmop_layout *layout, uint64_t leader)
{
	struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	drop_caches(&reader);
	uint64_t mm = load(&reader, leader, VMOP_LAYOUT_TASK_MM);
	uint64_t pgd_gpa = mm ? read_pgd(&reader, mm) : 0;
	return vmop_guest_space_take_fault(reader.space) ? 0 : pgd_gpa;
}

struct vmop_error *vmop_guest_processes_read_one(struct vmop_guest_kernel *kernel,
						 const struct vmop_layout *layout,
						 struct vmop_guest_files *files, uint64_t task,
						 uint32_t pid, uint64_t start_time_ns,
						 uint64_t *retries,
						 struct vmop_guest_snapshot **ret)
{
	_cleanup_(reader_cleanup) struct reader reader = {0};
	struct vmop_error *err = reader_init(&reader, kernel, layout, files, 0);
	bool is_whole = false;
	for (int try = 0; try < TRIES && !is_whole && !err; try++) {
		if (try) {
			++*retries;
			drop_caches(&reader);
		}
		uint64_t leader = leader_of(&reader, task, pid, start_time_ns);
		if (!leader)
			return vmop_error_new(VMOP_ERROR_NOT_FOUND,
					      "the guest's process %u has ended", pid);
		err = read_process(&reader, leader, &is_whole);
	}
	/* The memory of a task that ended meanwhile may be another's. */
	vmop_guest_memory_forget(reader.space->memory);
	if (!err && (!is_whole || !leader_of(&reader, task, pid, start_time_ns)))
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND,
				     "the guest's process %u ended while it was read", pid);
	return err ? err : reader_finish(&reader, 0, ret);
}

/* --- current tasks ---------------------------------------------------------------------------- */

/*
 * On x86-64 it is in pcpu_hot (6.2 to 6.14) or in the variable current_task. arm64 keeps it in
 * SP_EL0, and for entries from user space in __entry_task. Each task switch writes __entry_task and
 * the run queue's field.
 */
uint64_t vmop_guest_processes_current_address(const struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout)
{
	const struct reader reader = {.layout = layout};
	if (kernel->space.paging.arch == VMOP_PAGING_ARM64) {
		uint64_t entry = vmop_guest_kernel_symbol(kernel, "__entry_task");
		uint64_t queues = vmop_guest_kernel_symbol(kernel, "runqueues");
		if (entry || !queues || !has(&reader, VMOP_LAYOUT_RQ_CURR))
			return entry;
		return at(&reader, queues, VMOP_LAYOUT_RQ_CURR);
	}
	uint64_t hot = vmop_guest_kernel_symbol(kernel, "pcpu_hot");
	if (hot && has(&reader, VMOP_LAYOUT_PCPU_HOT_CURRENT))
		return at(&reader, hot, VMOP_LAYOUT_PCPU_HOT_CURRENT);
	return vmop_guest_kernel_symbol(kernel, "current_task");
}

struct vmop_error *vmop_guest_processes_current(struct vmop_guest_kernel *kernel,
						const struct vmop_layout *layout,
						struct vmop_guest_current *ret, size_t max,
						size_t *ret_count)
{
	struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	*ret_count = 0;
	if (!vmop_layout_has_processes(layout))
		return unknown_layout(kernel);
	uint64_t offsets = vmop_guest_kernel_symbol(kernel, "__per_cpu_offset");
	uint64_t variable = vmop_guest_processes_current_address(kernel, layout);
	uint32_t cpus = kernel->info.cpus < MAX_CPUS ? kernel->info.cpus : MAX_CPUS;
	if (!offsets || !variable)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "kernel %s: the location of its current tasks is unknown",
				      kernel->info.release);
	for (uint32_t cpu = 0; cpu < cpus && *ret_count < max; cpu++) {
		vmop_guest_space_take_fault(reader.space);
		uint64_t base = vmop_guest_space_u64(reader.space, offsets + 8 * (uint64_t)cpu);
		uint64_t task = vmop_guest_space_u64(reader.space, base + variable);
		struct vmop_guest_current current = {
			.vcpu = cpu,
			.task = task,
			.pid = load32(&reader, task, VMOP_LAYOUT_TASK_TGID),
			.tid = load32(&reader, task, VMOP_LAYOUT_TASK_PID),
			.pgd_gpa = read_pgd(&reader, load(&reader, task, VMOP_LAYOUT_TASK_MM)),
		};
		read_comm(&reader, task, current.comm);
		current.is_idle = current.tid == 0;
		if (!vmop_guest_space_take_fault(reader.space))
			ret[(*ret_count)++] = current;
	}
	return NULL;
}
