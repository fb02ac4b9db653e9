// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a guest whose memory is damaged in any way.
 * There are at most two guests: a captured one, if VMOP_FUZZ_IMAGE names the file `ram` that
 * tests/rigs/capture-guest saved, and the small synthetic one.  An input is a list of patches for
 * one of them (damaged-guest.h) and the reads to do.
 * 	byte 0		the reads
 * 	byte 1		the guest
 * 	then patches
 */
#include "libguest/kernel/btf.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/tasks/files.h"
#include "libguest/tasks/page-cache.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/processes.h"
#include "libguest/tasks/vmas.h"
#include "tests/fuzz/damaged-guest.h"

#define EXEC_BYTES (UINT64_C(2) << 20)
#define EXEC_STEPS 4000

struct target {
	struct damaged_guest damaged; /* first: the callback of damaged_note() gets it */
	struct vmop_guest *guest;
	uint64_t mm[64], file[64]; /* some of the undamaged guest's */
	size_t mms, files;
};

static struct target captured, synthetic;
static struct synthetic made;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- looking ------------------------------------------------------------------------ */

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
	uint8_t content[3 * DAMAGED_PAGE];
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
	damaged_begin(&target->damaged, EXEC_BYTES, EXEC_STEPS);
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

static void look_at_all(struct damaged_guest *damaged)
{
	for (unsigned int what = 0; what < 256; what++)
		if ((what & 15) != 12)
			look((struct target *)damaged, (uint8_t)what);
}

static void set_up(struct target *target)
{
	target->guest = target->damaged.guest;
	note_objects(target);
	damaged_note(&target->damaged, look_at_all);
}

static void set_up_all(void)
{
	struct damaged_guest *damaged = &synthetic.damaged;
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	damaged_open_synthetic(damaged, &made);
	set_up(&synthetic);
	/* also the symbol tables, BTF and page tables, which some reads need */
	for (uint64_t at = 0; at < made.used && damaged->pages < DAMAGED_MAX_PAGES;
	     at += DAMAGED_PAGE)
		damaged->page[damaged->pages++] = SYNTHETIC_TEXT_GPA + at;
	damaged->page[damaged->pages++ % DAMAGED_MAX_PAGES] = SYNTHETIC_TRAMPOLINE_GPA;
	const char *image = getenv("VMOP_FUZZ_IMAGE");
	if (image) {
		damaged_open_file(&captured.damaged, image);
		set_up(&captured);
	}
	fprintf(stderr, "fuzz-libguest: %zu pages of a made guest, %zu of a captured one\n",
		damaged->pages, captured.damaged.pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct damaged_patch patches[DAMAGED_MAX_PATCHES];
	if (!synthetic.damaged.pages)
		set_up_all();
	if (size < 2)
		return 0;
	struct target *target = data[1] & 7 && captured.damaged.pages ? &captured : &synthetic;
	size_t count = damaged_apply(&target->damaged, data + 2, size - 2, patches);
	look(target, data[0]);
	damaged_take_back(patches, count);
	return 0;
}
