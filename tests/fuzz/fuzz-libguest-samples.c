// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: what a sample shows of a guest whose memory is damaged: files by inode and by
 * path, single processes, the numbers for samples, and the threads with their stacks.
 * The guests are synthetic ones with the lists of early and of late kernels, and one more that
 * tests/rigs/capture-guest saved if VMOP_FUZZ_IMAGE names its file `ram`.
 * 	byte 0		the read
 * 	byte 1		the guest (low bits), and the object to read
 * 	then patches	(damaged-guest.h)
 */
#include "libguest/tasks/files.h"
#include "libguest/tasks/inodes.h"
#include "libguest/tasks/numbers.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/processes.h"
#include "libguest/tasks/threads.h"
#include "tests/fuzz/damaged-guest.h"
#include "vmop/guest-numbers.h"

#define EXEC_BYTES (UINT64_C(2) << 20)
#define EXEC_STEPS 1000
#define MAX_VISITS 12u /* threads: each costs microseconds */
#define MAX_OBJECTS 64u

struct target {
	struct damaged_guest damaged; /* first: the callback of damaged_note() gets it */
	struct vmop_guest *guest;
	struct vmop_guest_inode inode[MAX_OBJECTS];
	char path[MAX_OBJECTS][64];
	struct vmop_guest_process process[MAX_OBJECTS];
	size_t inodes, processes;
};

enum { OLD, NEW, ARM64, CAPTURED, TARGETS };
static struct target targets[TARGETS];
static struct synthetic made[TARGETS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- looking ------------------------------------------------------------------------ */

static void check_file(const struct vmop_guest_inode_file *file)
{
	if (strlen(file->path) >= VMOP_GUEST_PATH_MAX ||
	    file->build_id_len_bytes > VMOP_GUEST_BUILD_ID_MAX)
		abort();
}

static void read_pages(struct target *target, uint64_t mapping)
{
	uint8_t content[3 * DAMAGED_PAGE];
	uint64_t size;
	size_t got;
	damaged_begin(&target->damaged, EXEC_BYTES, EXEC_STEPS);
	vmop_error_destroy(vmop_guest_read_mapping(target->guest, mapping, 700, content,
						   sizeof(content), &got));
	if (got > sizeof(content))
		abort();
	vmop_error_destroy(vmop_guest_mapping_size(target->guest, mapping, &size));
}

static void look_at_inode(struct target *target, unsigned int which)
{
	struct vmop_guest *guest = target->guest;
	struct vmop_guest_inode_file file;
	uint64_t retries = 0;
	if (!target->inodes)
		return;
	const struct vmop_guest_inode *inode = &target->inode[which % target->inodes];
	struct vmop_error *err = vmop_guest_inodes_find(
		guest->inodes, guest->kernel, &guest->layout, guest->files, inode, &retries, &file);
	if (!err)
		check_file(&file);
	vmop_error_destroy(err);
	read_pages(target, inode->mapping);
}

/* The identity as a program would read it in the damaged memory. */
static void look_at_damaged_inode(struct target *target, unsigned int which)
{
	struct vmop_guest *guest = target->guest;
	struct vmop_guest_space *space = &guest->kernel->space;
	const int32_t *at = guest->layout.value;
	struct vmop_guest_inode_file file;
	uint64_t retries = 0;
	if (!target->inodes)
		return;
	struct vmop_guest_inode inode = target->inode[which % target->inodes];
	inode.superblock =
		vmop_guest_space_u64(space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_SUPER]);
	inode.number =
		vmop_guest_space_u64(space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_NUMBER]);
	inode.generation = vmop_guest_space_u32(
		space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_GENERATION]);
	struct vmop_error *err =
		vmop_guest_inodes_find(guest->inodes, guest->kernel, &guest->layout, guest->files,
				       &inode, &retries, &file);
	if (!err)
		check_file(&file);
	vmop_error_destroy(err);
}

static void look_at_path(struct target *target, unsigned int which)
{
	struct vmop_guest *guest = target->guest;
	struct vmop_guest_inode_file file;
	uint64_t retries = 0;
	const char *path = target->inodes ? target->path[which % target->inodes] : "/";
	uint64_t task = which & 1 ? target->process[which % target->processes].task : 0;
	struct vmop_error *err =
		vmop_guest_inodes_find_path(guest->inodes, guest->kernel, &guest->layout,
					    guest->files, task, path, &retries, &file);
	if (!err)
		check_file(&file);
	vmop_error_destroy(err);
}

/* Code of a process and of the kernel, by page tables that are damaged. */
static void look_at_code(struct target *target, unsigned int which)
{
	static const uint64_t addresses[] = {0x400000, 0x401000, 0x7f0000000000, 0x7ffffffff000};
	struct vmop_guest *guest = target->guest;
	uint8_t code[DAMAGED_PAGE];
	const struct vmop_guest_process *process = &target->process[which % target->processes];
	vmop_guest_read_process(guest, process->task, process->pid, process->start_time_ns,
				addresses[which % 4], code, sizeof(code));
	vmop_guest_read_kernel(guest,
			       guest->kernel->info.text_start + which * (uint64_t)sizeof(code),
			       code, sizeof(code));
}

static void look_at_process(struct target *target, unsigned int which)
{
	struct vmop_guest *guest = target->guest;
	struct vmop_guest_snapshot *snapshot = NULL;
	uint64_t retries = 0;
	const struct vmop_guest_process *process = &target->process[which % target->processes];
	vmop_error_destroy(vmop_guest_processes_read_one(
		guest->kernel, &guest->layout, guest->files, process->task, process->pid,
		process->start_time_ns, &retries, &snapshot));
	if (snapshot && (vmop_guest_snapshot_count(snapshot) != 1 ||
			 vmop_guest_snapshot_get(snapshot, 0)->pid != process->pid))
		abort();
	vmop_guest_snapshot_free(snapshot);
}

/* The bytes and the number of visits of one execution: lists that bend back have no end. */
struct visits {
	size_t bytes, n;
};

static bool take_thread(const struct vmop_guest_thread *thread, void *arg)
{
	struct visits *visits = arg;
	for (size_t i = 0; i < thread->stack_bytes; i += 64)
		visits->bytes += thread->stack[i];
	if (thread->stack_bytes)
		visits->bytes += thread->stack[thread->stack_bytes - 1];
	if (strnlen(thread->comm, sizeof(thread->comm)) == sizeof(thread->comm) ||
	    (thread->stack_bytes && (thread->is_running || thread->is_torn)))
		abort();
	return ++visits->n < MAX_VISITS;
}

/* Every second one is known. */
static bool knows_thread(const struct vmop_guest_thread *thread, void *arg)
{
	(void)arg;
	return (thread->tid + thread->switches) & 1;
}

static void look_at_threads(struct target *target, unsigned int which)
{
	struct vmop_guest *guest = target->guest;
	uint64_t retries = 0;
	uint64_t switches;
	size_t torn;
	struct visits visits = {0};
	vmop_error_destroy(vmop_guest_threads_read(guest->kernel, &guest->layout,
						   which & 1 ? knows_thread : NULL, take_thread,
						   &visits, &retries, &torn));
	vmop_guest_threads_switches(guest->kernel, &guest->layout, &switches);
	if (vmop_layout_has_threads(&guest->layout,
				    guest->kernel->space.paging.arch == VMOP_PAGING_ARM64))
		vmop_guest_thread_still_waits(guest->kernel, &guest->layout,
					      target->process[0].task, 7);
}

static void look_at_numbers(struct target *target)
{
	struct vmop_guest_numbers numbers;
	vmop_error_destroy(
		vmop_guest_numbers_find(target->guest->kernel, &target->guest->layout, &numbers));
	if (numbers.stack_bytes > 65536 || numbers.page_shift > 16)
		abort();
}

static void look(struct target *target, uint8_t what, unsigned int which)
{
	damaged_begin(&target->damaged, EXEC_BYTES, EXEC_STEPS);
	switch (what % 12) {
	case 0:
	case 1:
	case 2:
		look_at_inode(target, which);
		break;
	case 3:
	case 4:
		look_at_damaged_inode(target, which);
		break;
	case 5:
	case 6:
		look_at_path(target, which);
		break;
	case 7:
	case 8:
		look_at_process(target, which);
		look_at_code(target, which);
		break;
	case 9:
	case 10:
		look_at_threads(target, which);
		break;
	default:
		look_at_numbers(target);
	}
}

/* --- setting up ----------------------------------------------------------------------- */

static void look_at_all(struct damaged_guest *damaged)
{
	for (unsigned int what = 0; what < 12; what++)
		for (unsigned int which = 0; which < MAX_OBJECTS; which++)
			look((struct target *)damaged, (uint8_t)what, which);
}

/* Take the inode of a struct file. */
static void note_file(struct target *target, uint64_t file, const char *path)
{
	struct vmop_guest_space *space = &target->guest->kernel->space;
	const int32_t *at = target->guest->layout.value;
	struct vmop_guest_inode inode = {
		.mapping =
			vmop_guest_space_u64(space, file + (uint32_t)at[VMOP_LAYOUT_FILE_MAPPING]),
		.inode = vmop_guest_space_u64(space, file + (uint32_t)at[VMOP_LAYOUT_FILE_INODE]),
	};
	inode.superblock =
		vmop_guest_space_u64(space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_SUPER]);
	inode.number =
		vmop_guest_space_u64(space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_NUMBER]);
	inode.generation = vmop_guest_space_u32(
		space, inode.inode + (uint32_t)at[VMOP_LAYOUT_INODE_GENERATION]);
	if (vmop_guest_space_take_fault(space))
		abort();
	snprintf(target->path[target->inodes], sizeof(target->path[0]), "%s", path);
	target->inode[target->inodes++] = inode;
}

static void note_objects(struct target *target)
{
	struct vmop_guest_snapshot *snapshot;
	if (vmop_guest_snapshot_processes(target->guest, 0, &snapshot))
		abort();
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		if (process->vma_count || i == 0)
			target->process[target->processes++ % MAX_OBJECTS] = *process;
		for (uint32_t j = 0; j < process->vma_count && target->inodes < MAX_OBJECTS; j++)
			if (process->vmas[j].file)
				note_file(target, process->vmas[j].file, process->vmas[j].path);
	}
	vmop_guest_snapshot_free(snapshot);
	if (target->processes > MAX_OBJECTS)
		target->processes = MAX_OBJECTS;
}

static void set_up(struct target *target)
{
	target->guest = target->damaged.guest;
	target->guest->max_read_bytes = EXEC_BYTES;
	note_objects(target);
	damaged_note(&target->damaged, look_at_all);
}

static void set_up_all(void)
{
	for (int i = 0; i < CAPTURED; i++) {
		synthetic_make(&made[i], &(struct synthetic_options){
						 .kallsyms = i == OLD	? SYNTHETIC_BEFORE_NAMES
							     : i == NEW ? SYNTHETIC_AFTER_INDEX
									: SYNTHETIC_ALL_RELATIVE,
						 .vma_list = i == OLD,
						 .arm64 = i == ARM64,
						 .stacks = true});
		damaged_open_synthetic(&targets[i].damaged, &made[i]);
		set_up(&targets[i]);
	}
	const char *image = getenv("VMOP_FUZZ_IMAGE");
	if (image) {
		damaged_open_file(&targets[CAPTURED].damaged, image);
		set_up(&targets[CAPTURED]);
	}
	fprintf(stderr, "fuzz-libguest-samples: pages of the guests: %zu, %zu, %zu, %zu\n",
		targets[OLD].damaged.pages, targets[NEW].damaged.pages,
		targets[ARM64].damaged.pages, targets[CAPTURED].damaged.pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct damaged_patch patches[DAMAGED_MAX_PATCHES];
	if (!targets[0].guest)
		set_up_all();
	if (size < 2)
		return 0;
	struct target *target = &targets[data[1] % TARGETS];
	if (!target->guest)
		target = &targets[NEW];
	size_t count = damaged_apply(&target->damaged, data + 2, size - 2, patches);
	look(target, data[0], data[1] / TARGETS);
	damaged_take_back(patches, count);
	return 0;
}
