// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a guest whose memory is damaged in any way.
 * There are at most two guests: a captured one, if VMOP_FUZZ_IMAGE names the file `ram` that
 * tests/rigs/capture-guest saved, and the small synthetic one.  An input is a list of patches for
 * one of them and the reads to do.  The patches are undone afterwards, so an execution takes some
 * microseconds.  Patches change pages that the reads of an undamaged guest need: the first read
 * runs on protected memory and records these pages.
 * 	byte 0		the reads, and the guest
 * 	then patches:	op, position (3 bytes: page, offset), value
 * 	  op even	the next 1 to 8 bytes
 * 	  op odd	the 8 bytes at another position (3 bytes): cycles, cross links
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libguest/guest-internal.h"
#include "libguest/kernel/btf.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/tasks/files.h"
#include "libguest/tasks/page-cache.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/processes.h"
#include "libguest/tasks/vmas.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define PAGE 4096u
#define MAX_PAGES 4096u
#define MAX_PATCHES 32
#define EXEC_BYTES (UINT64_C(2) << 20)
#define EXEC_STEPS 4000

struct target {
	uint8_t *ram;
	size_t len;
	struct vmop_guest *guest;
	uint64_t page[MAX_PAGES]; /* offsets of pages that are read */
	size_t pages;
	uint64_t task[64], mm[64], file[64]; /* some of the undamaged guest's */
	size_t tasks, mms, files;
};

static struct target captured, synthetic;
static struct synthetic made;
static struct target *noting; /* the guest whose pages are being recorded */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- the pages that matter -------------------------------------------------------- */

static void note_page(int signal, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;
	(void)context;
	if (!noting || at < noting->ram || at >= noting->ram + noting->len) {
		struct sigaction action = {.sa_handler = SIG_DFL};
		sigaction(signal, &action, NULL);
		return;
	}
	uint64_t page = (uint64_t)(at - noting->ram) & ~(uint64_t)(PAGE - 1);
	if (noting->pages < MAX_PAGES)
		noting->page[noting->pages++] = page;
	mprotect(noting->ram + page, PAGE, PROT_READ | PROT_WRITE);
}

/* --- looking ------------------------------------------------------------------------ */

static void budget(struct target *target, uint64_t bytes, uint64_t steps)
{
	target->guest->budget =
		(struct vmop_guest_budget){.bytes_left = bytes, .steps_left = steps};
	vmop_guest_memory_forget(target->guest->memory);
	vmop_guest_space_forget(&target->guest->kernel->space);
	vmop_guest_space_take_fault(&target->guest->kernel->space);
}

static void look_at_processes(struct target *target, unsigned int flags)
{
	struct vmop_guest_snapshot *snapshot = NULL;
	struct vmop_guest_files *files;
	uint64_t retries = 0;
	if (vmop_guest_files_new(&files))
		abort();
	struct vmop_error *err = vmop_guest_processes_read(
		target->guest->kernel, &target->guest->layout, files, flags, &retries, &snapshot);
	for (size_t i = 0; snapshot && i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		if (process->vma_count && !vmop_guest_process_vma(process, process->vmas[0].start))
			abort(); /* mappings must be sorted */
		if (strnlen(process->comm, 16) == 16 || strlen(process->cgroup) > 4096)
			abort();
	}
	vmop_error_destroy(err);
	vmop_guest_snapshot_free(snapshot);
	vmop_guest_files_free(files);
}

static void look_at_modules(struct target *target)
{
	struct vmop_guest_module_set *modules = NULL;
	uint64_t retries = 0;
	struct vmop_error *err = vmop_guest_modules_read(
		target->guest->kernel, &target->guest->layout, NULL, &retries, &modules);
	struct vmop_guest_symbol symbol;
	for (size_t i = 0; modules && i < vmop_guest_module_set_symbol_count(modules); i++)
		vmop_guest_module_set_symbol(modules, i, &symbol);
	vmop_error_destroy(err);
	vmop_guest_module_set_free(modules);
}

static bool no_more(const struct vmop_guest_raw_vma *vma, void *arg)
{
	struct target *target = arg;
	if (target && vma->file && target->files < 64)
		target->file[target->files++] = vma->file;
	return true;
}

static void look_at_mappings(struct target *target, uint8_t which)
{
	if (target->mms)
		vmop_guest_vmas_walk(&target->guest->kernel->space, &target->guest->layout,
				     target->mm[which % target->mms], no_more, NULL);
}

static void look_at_file(struct target *target, uint8_t which)
{
	uint8_t content[3 * PAGE];
	char path[VMOP_GUEST_PATH_MAX];
	size_t got;
	uint64_t size;
	if (!target->files)
		return;
	uint64_t file = target->file[which % target->files];
	struct vmop_guest_kernel *kernel = target->guest->kernel;
	vmop_guest_path_of_file(kernel, &target->guest->layout, file, path);
	uint64_t mapping;
	struct vmop_error *err =
		vmop_guest_page_cache_of_file(kernel, &target->guest->layout, file, &mapping);
	vmop_error_destroy(err);
	if (err)
		return;
	vmop_error_destroy(vmop_guest_page_cache_read(kernel, &target->guest->layout, mapping,
						      which * 700, content, sizeof(content), &got));
	vmop_error_destroy(
		vmop_guest_page_cache_size(kernel, &target->guest->layout, mapping, &size));
}

static void look_at_current(struct target *target)
{
	struct vmop_guest_current current[4];
	size_t count;
	vmop_error_destroy(vmop_guest_processes_current(
		target->guest->kernel, &target->guest->layout, current, 4, &count));
	/* restore the clock, so that each execution sees the same time */
	uint64_t clock = target->guest->kernel->clock;
	vmop_guest_kernel_check(target->guest->kernel);
	vmop_guest_kernel_placement_fits(target->guest->kernel);
	target->guest->kernel->clock = clock;
}

static void look_at_btf(void)
{
	struct vmop_btf *btf;
	struct vmop_layout layout;
	struct vmop_error *err = vmop_btf_open(synthetic_at(&made, made.btf), made.btf_bytes, &btf);
	if (!err) {
		vmop_layout_from_btf(btf, &layout);
		vmop_btf_close(btf);
	}
	vmop_error_destroy(err);
}

static void look(struct target *target, uint8_t what)
{
	budget(target, EXEC_BYTES, EXEC_STEPS);
	switch (what & 15) {
	case 0:
	case 1:
		look_at_processes(target, VMOP_GUEST_ALL_VMAS);
		break;
	case 2:
		look_at_processes(target, 0);
		break;
	case 3:
	case 4:
		look_at_modules(target);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		look_at_mappings(target, what >> 4);
		break;
	case 9:
	case 10:
	case 11:
		look_at_file(target, what >> 4);
		break;
	case 12:
		if (target == &synthetic)
			look_at_btf();
		break;
	default:
		look_at_current(target);
	}
}

/* --- patches ------------------------------------------------------------------------ */

struct patch {
	uint8_t *at;
	uint8_t old[8];
	unsigned int len;
};

/* Return eight bytes in one of the recorded pages. */
static uint8_t *place(struct target *target, const uint8_t *at)
{
	size_t page = (size_t)(at[0] | (at[1] & 15) << 8) % target->pages;
	return target->ram + target->page[page] + (size_t)(at[1] >> 4 | at[2] << 4) % (PAGE - 8);
}

static size_t apply(struct target *target, const uint8_t *data, size_t size, struct patch *patches)
{
	size_t count = 0, at = 0;
	while (count < MAX_PATCHES && size - at >= 4) {
		struct patch *patch = &patches[count];
		uint8_t op = data[at];
		patch->at = place(target, data + at + 1);
		patch->len = op & 1 ? 8 : (op >> 1) % 8 + 1;
		at += 4;
		if (size - at < (op & 1 ? 3 : patch->len))
			break;
		memcpy(patch->old, patch->at, 8);
		if (op & 1) {
			uint8_t value[8]; /* can overlap the destination */
			memcpy(value, place(target, data + at), 8);
			memcpy(patch->at, value, 8);
			at += 3;
		} else {
			memcpy(patch->at, data + at, patch->len);
			at += patch->len;
		}
		count++;
	}
	return count;
}

static void take_back(const struct patch *patches, size_t count)
{
	while (count--)
		memcpy(patches[count].at, patches[count].old, 8);
}

/* --- setting up ----------------------------------------------------------------------- */

static void note_objects(struct target *target)
{
	struct vmop_guest_snapshot *snapshot;
	struct vmop_guest *guest = target->guest;
	if (vmop_guest_snapshot_processes(guest, 0, &snapshot))
		abort();
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		if (!process->pgd_gpa || target->mms == 64)
			continue;
		uint64_t mm = vmop_guest_space_u64(
			&guest->kernel->space,
			process->task + (uint32_t)guest->layout.value[VMOP_LAYOUT_TASK_MM]);
		target->mm[target->mms++] = mm;
		vmop_guest_vmas_walk(&guest->kernel->space, &guest->layout, mm, no_more, target);
	}
	vmop_guest_snapshot_free(snapshot);
}

static void set_up(struct target *target)
{
	struct vmop_guest_memory *memory;
	struct vmop_error *err = vmop_guest_memory_open_buffer(target->ram, target->len, &memory);
	if (!err)
		err = vmop_guest_open_memory(memory, &target->guest);
	if (!err)
		err = vmop_guest_find_kernel(target->guest);
	if (err) {
		fprintf(stderr, "fuzz-libguest: %s\n", err->message);
		exit(1);
	}
	note_objects(target);
	noting = target;
	mprotect(target->ram, target->len, PROT_NONE);
	for (unsigned int what = 0; what < 256; what++)
		if ((what & 15) != 12)
			look(target, (uint8_t)what);
	mprotect(target->ram, target->len, PROT_READ | PROT_WRITE);
	noting = NULL;
}

/* Private memory: patches never reach the file. */
static void map_captured(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	captured.len = (size_t)st.st_size;
	captured.ram = mmap(NULL, captured.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
			    fd, 0);
	close(fd);
	if (captured.ram == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	set_up(&captured);
}

static void set_up_all(void)
{
	struct sigaction action = {.sa_sigaction = note_page, .sa_flags = SA_SIGINFO}, before;
	sigaction(SIGSEGV, &action, &before);
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	synthetic.len = SYNTHETIC_RAM_BYTES;
	synthetic.ram = mmap(NULL, synthetic.len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (synthetic.ram == MAP_FAILED)
		abort();
	memcpy(synthetic.ram, made.ram, synthetic.len);
	free(made.ram);
	made.ram = synthetic.ram;
	set_up(&synthetic);
	/* also the symbol tables, BTF and page tables, which some reads need */
	for (uint64_t at = 0; at < made.used && synthetic.pages < MAX_PAGES; at += PAGE)
		synthetic.page[synthetic.pages++] = SYNTHETIC_TEXT_GPA + at;
	synthetic.page[synthetic.pages++ % MAX_PAGES] = SYNTHETIC_TRAMPOLINE_GPA;
	const char *image = getenv("VMOP_FUZZ_IMAGE");
	if (image)
		map_captured(image);
	sigaction(SIGSEGV, &before, NULL);
	fprintf(stderr, "fuzz-libguest: %zu pages of a made guest, %zu of a captured one\n",
		synthetic.pages, captured.pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patch patches[MAX_PATCHES];
	if (!synthetic.pages)
		set_up_all();
	if (size < 2)
		return 0;
	struct target *target = data[1] & 7 && captured.pages ? &captured : &synthetic;
	size_t count = apply(target, data + 2, size - 2, patches);
	look(target, data[0]);
	take_back(patches, count);
	return 0;
}
