// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/user-stacks.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/guest-file.h"
#include "daemon/guest/stacks/file-tables.h"
#include "libsym/symtab.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

enum { PAGE_BYTES = 4096, STACK_COPY_BYTES = 64 << 10 };

/* Files of all processes together. Code of further ones is unreadable. */
#define MAX_FILES 1024u

/* A file that a guest has mapped, or its vDSO. */
struct file {
	struct vmop_guest_code_key key;
	struct vmop_cfi_table *table;
	struct vmop_symtab *symtab;
	enum vmop_code_state state;
};

struct vmop_user_stacks {
	struct vmop_guest *guest;
	struct vmop_guest_snapshot *snapshot;
	struct vmop_unwinder *unwinder;
	unsigned sp; /* DWARF number of the stack pointer */
	struct file *files;
	size_t n_files, files_capacity;
	const struct vmop_guest_process *process; /* of the present call */
	uint8_t copy[STACK_COPY_BYTES];
};

void vmop_user_stacks_destroy(struct vmop_user_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->n_files; i++) {
		vmop_cfi_table_destroy(stacks->files[i].table);
		vmop_symtab_destroy(stacks->files[i].symtab);
	}
	free(stacks->files);
	vmop_unwinder_destroy(stacks->unwinder);
	vmop_guest_snapshot_free(stacks->snapshot);
	free(stacks);
}

struct vmop_error *vmop_user_stacks_create(struct vmop_guest *guest, struct vmop_user_stacks **ret)
{
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	struct vmop_user_stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return &vmop_error_no_memory;
	bool is_arm64 = strcmp(kernel->architecture, "arm64") == 0;
	stacks->guest = guest;
	stacks->sp = is_arm64 ? 31 : 7; /* vmop/stack.h */
	struct vmop_error *err =
		vmop_unwinder_create(is_arm64 ? EM_AARCH64 : EM_X86_64, &stacks->unwinder);
	if (!err)
		err = vmop_guest_snapshot_processes(guest, 0, &stacks->snapshot);
	if (err) {
		vmop_user_stacks_destroy(stacks);
		return err;
	}
	*ret = stacks;
	return NULL;
}

/* ---- files ----------------------------------------------------------------- */

static void read_symbols(struct vmop_user_stacks *stacks, struct file *file, uint64_t handle)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_guest_file_copy(stacks->guest, handle, &fd);
	if (!err)
		err = vmop_symtab_read_elf(fd, "a guest's file", 0, &file->symtab);
	vmop_error_destroy(err);
}

/*
 * Return the file of a mapping, read at the first call, or NULL: it is generated code, or there are
 * too many files.
 */
static const struct file *find_file(struct vmop_user_stacks *stacks,
				    const struct vmop_guest_process *process,
				    const struct vmop_guest_vma *vma)
{
	struct vmop_guest_code_mapping mapping;
	if (!vmop_guest_code_mapping_init(&mapping, process, vma))
		return NULL;
	for (size_t i = 0; i < stacks->n_files; i++)
		if (memcmp(&stacks->files[i].key, &mapping.key, sizeof(mapping.key)) == 0)
			return &stacks->files[i];
	if (stacks->n_files == MAX_FILES ||
	    !vmop_array_reserve(stacks->files, stacks->files_capacity, stacks->n_files + 1))
		return NULL;
	struct file *file = &stacks->files[stacks->n_files++];
	*file = (struct file){.key = mapping.key};
	file->state = vmop_guest_table_build(stacks->guest, &mapping, &file->table);
	if (mapping.file)
		read_symbols(stacks, file, mapping.file);
	return file;
}

static bool find_code(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	struct vmop_user_stacks *stacks = arg;
	const struct vmop_guest_vma *vma = vmop_guest_process_vma(stacks->process, address);
	if (!vma)
		return false;
	const struct file *file = find_file(stacks, stacks->process, vma);
	*ret = (struct vmop_code_piece){.start = vma->start,
					.end = vma->end,
					.offset = vma->file_offset_bytes,
					.state = vma->file ? VMOP_CODE_UNREADABLE
							   : VMOP_CODE_NO_TABLE};
	if (file) {
		ret->state = file->state;
		ret->table = file->table;
	}
	return true;
}

/* ---- stacks ---------------------------------------------------------------- */

/* Copy the stack from sp on up to the first page that is absent. Return the bytes. */
static size_t copy_stack(struct vmop_user_stacks *stacks, uint64_t pgd_gpa, uint64_t sp)
{
	size_t n = 0;
	while (n < sizeof(stacks->copy) && sp + n >= sp) {
		size_t len = PAGE_BYTES - (size_t)((sp + n) % PAGE_BYTES);
		if (len > sizeof(stacks->copy) - n)
			len = sizeof(stacks->copy) - n;
		if (!vmop_guest_read_user(stacks->guest, pgd_gpa, sp + n, stacks->copy + n, len))
			break;
		n += len;
	}
	return n;
}

void vmop_user_stacks_unwind(struct vmop_user_stacks *stacks, uint32_t pid, uint64_t pgd_gpa,
			     const uint64_t *regs, struct vmop_stack_frame *frames,
			     size_t max_frames, struct vmop_unwound *ret)
{
	*ret = (struct vmop_unwound){.end = VMOP_STACK_UNREADABLE};
	stacks->process = vmop_guest_snapshot_by_pid(stacks->snapshot, pid);
	if (!stacks->process || !stacks->process->vma_count)
		return;
	const struct vmop_stack_capture capture = {
		.user_regs = regs,
		.user_stack = stacks->copy,
		.user_stack_bytes = copy_stack(stacks, pgd_gpa, regs[stacks->sp]),
		.user_stack_asked_bytes = sizeof(stacks->copy),
	};
	const struct vmop_code_space space = {.find = find_code, .arg = stacks};
	vmop_unwind(stacks->unwinder, &space, &capture, frames, max_frames, ret);
}

void vmop_user_stacks_place(struct vmop_user_stacks *stacks, uint32_t pid, uint64_t address,
			    struct vmop_user_place *ret)
{
	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(stacks->snapshot, pid);
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, address) : NULL;
	*ret = (struct vmop_user_place){0};
	if (!vma)
		return;
	ret->path = vma->path;
	ret->offset = address - vma->start + vma->file_offset_bytes;
	const struct file *file = find_file(stacks, process, vma);
	const struct vmop_symbol *symbol =
		file && file->symtab ? vmop_symtab_find(file->symtab, ret->offset) : NULL;
	if (!symbol)
		return;
	ret->symbol = symbol->name;
	ret->symbol_offset = ret->offset - symbol->offset;
}
