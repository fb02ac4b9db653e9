// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/user-stacks.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/guest/guest-file.h"
#include "daemon/guest/stacks/file-tables.h"
#include "daemon/guest/stacks/host-file.h"
#include "libsym/symtab.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

enum { PAGE_BYTES = 4096, STACK_COPY_BYTES = 64 << 10, SHORT_COPY_BYTES = 8 << 10 };

/* How long after a file was read it is read again, if some of its pages were absent. */
#define RETRY_NS (30 * VMOP_NS_PER_S)

/* Files of all processes together. Code of further ones is unreadable until the next begin. */
#define MAX_FILES 1024u
#define MAX_TABLES_BYTES ((size_t)128 << 20)

/* A file that a guest has mapped, or its vDSO. */
struct file {
	struct vmop_guest_code_key key;
	struct vmop_cfi_table *table;
	struct vmop_symtab *symtab;
	enum vmop_code_state state;
	uint64_t read_ns; /* CLOCK_MONOTONIC */
};

struct vmop_user_stacks {
	struct vmop_guest *guest;
	const struct vmop_guest_snapshot *snapshot; /* NULL: no begin yet */
	struct vmop_unwinder *unwinder;
	bool has_symbols;
	unsigned sp; /* DWARF number of the stack pointer */
	struct file *files;
	size_t n_files, files_capacity;
	size_t tables_bytes;
	uint64_t files_until_cpu_ns;		  /* of the thread's CPU time; 0: no limit */
	const struct vmop_guest_process *process; /* of the present call */
	uint8_t copy[STACK_COPY_BYTES];
};

static size_t table_bytes(const struct file *file)
{
	struct vmop_cfi_facts facts = {0};
	if (file->table)
		vmop_cfi_table_facts(file->table, &facts);
	return facts.table_bytes;
}

static void drop_file(struct vmop_user_stacks *stacks, size_t i)
{
	struct file *file = &stacks->files[i];
	stacks->tables_bytes -= table_bytes(file);
	vmop_cfi_table_destroy(file->table);
	vmop_symtab_destroy(file->symtab);
	*file = stacks->files[--stacks->n_files];
}

static void drop_files(struct vmop_user_stacks *stacks)
{
	while (stacks->n_files)
		drop_file(stacks, stacks->n_files - 1);
}

/* Drop the files of which pages were absent that may be there now, so that they are read again. */
static void drop_incomplete_files(struct vmop_user_stacks *stacks)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = stacks->n_files; i-- > 0;) {
		const struct file *file = &stacks->files[i];
		bool is_whole = file->table ? !vmop_cfi_table_is_partial(file->table)
					    : file->state != VMOP_CODE_UNREADABLE;
		if (!is_whole && now_ns - file->read_ns > RETRY_NS)
			drop_file(stacks, i);
	}
}

void vmop_user_stacks_destroy(struct vmop_user_stacks *stacks)
{
	if (!stacks)
		return;
	drop_files(stacks);
	free(stacks->files);
	vmop_unwinder_destroy(stacks->unwinder);
	free(stacks);
}

struct vmop_error *vmop_user_stacks_create(struct vmop_guest *guest, bool has_symbols,
					   struct vmop_user_stacks **ret)
{
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	struct vmop_user_stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return &vmop_error_no_memory;
	bool is_arm64 = strcmp(kernel->architecture, "arm64") == 0;
	stacks->guest = guest;
	stacks->has_symbols = has_symbols;
	stacks->sp = is_arm64 ? 31 : 7; /* vmop/stack.h */
	struct vmop_error *err =
		vmop_unwinder_create(is_arm64 ? EM_AARCH64 : EM_X86_64, &stacks->unwinder);
	if (err) {
		vmop_user_stacks_destroy(stacks);
		return err;
	}
	*ret = stacks;
	return NULL;
}

void vmop_user_stacks_begin(struct vmop_user_stacks *stacks,
			    const struct vmop_guest_snapshot *snapshot, uint64_t max_cpu_ns)
{
	stacks->snapshot = snapshot;
	stacks->files_until_cpu_ns =
		max_cpu_ns ? vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) + max_cpu_ns : 0;
	if (stacks->n_files == MAX_FILES || stacks->tables_bytes > MAX_TABLES_BYTES)
		drop_files(stacks);
	drop_incomplete_files(stacks);
}

/* ---- files ----------------------------------------------------------------- */

/* Return a descriptor of this machine's debug file or of its copy of a guest's file, or -1. */
static int open_host_file(const struct vmop_guest_code_key *key)
{
	struct vmop_build_id id;
	if (!vmop_guest_code_key_build_id(key, &id))
		return -1;
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = vmop_host_file_open_debug(root, &id);
	return fd < 0 ? vmop_host_file_open(root, &id, NULL) : fd;
}

/* Read symbols from this machine's files, which are whole, or else from the guest's page cache. */
static void read_symbols(struct vmop_user_stacks *stacks, struct file *file, uint64_t handle)
{
	struct vmop_error *err = NULL;
	_cleanup_close_ int fd = open_host_file(&file->key);
	if (fd < 0)
		err = vmop_guest_file_copy(stacks->guest, handle, &fd);
	if (!err)
		err = vmop_symtab_read_elf(fd, "a guest's file", 0, &file->symtab);
	vmop_error_destroy(err);
}

static bool may_read(const struct vmop_user_stacks *stacks)
{
	return !stacks->files_until_cpu_ns ||
	       vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) < stacks->files_until_cpu_ns;
}

/*
 * Return the file of a mapping, read at the first call. NULL: it is generated code, or it cannot be
 * read now; *ret_is_late shows that it can be read later.
 */
static const struct file *find_file(struct vmop_user_stacks *stacks,
				    const struct vmop_guest_process *process,
				    const struct vmop_guest_vma *vma, bool *ret_is_late)
{
	struct vmop_guest_code_mapping mapping;
	*ret_is_late = false;
	if (!vmop_guest_code_mapping_init(&mapping, process, vma))
		return NULL;
	for (size_t i = 0; i < stacks->n_files; i++)
		if (memcmp(&stacks->files[i].key, &mapping.key, sizeof(mapping.key)) == 0)
			return &stacks->files[i];
	*ret_is_late = !may_read(stacks);
	if (*ret_is_late || stacks->n_files == MAX_FILES ||
	    stacks->tables_bytes > MAX_TABLES_BYTES ||
	    !vmop_array_reserve(stacks->files, stacks->files_capacity, stacks->n_files + 1))
		return NULL;
	struct file *file = &stacks->files[stacks->n_files++];
	*file = (struct file){.key = mapping.key, .read_ns = vmop_clock_ns(CLOCK_MONOTONIC)};
	file->state = vmop_guest_table_build(stacks->guest, &mapping, NULL, &file->table);
	stacks->tables_bytes += table_bytes(file);
	if (mapping.file && stacks->has_symbols)
		read_symbols(stacks, file, mapping.file);
	return file;
}

static bool find_code(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	struct vmop_user_stacks *stacks = arg;
	const struct vmop_guest_vma *vma = vmop_guest_process_vma(stacks->process, address);
	if (!vma)
		return false;
	bool is_late;
	const struct file *file = find_file(stacks, stacks->process, vma, &is_late);
	*ret = (struct vmop_code_piece){.start = vma->start,
					.end = vma->end,
					.offset = vma->file_offset_bytes,
					.state = is_late     ? VMOP_CODE_PENDING
						 : vma->file ? VMOP_CODE_UNREADABLE
							     : VMOP_CODE_NO_TABLE};
	if (file) {
		ret->state = file->state;
		ret->table = file->table;
	}
	return true;
}

/* ---- stacks ---------------------------------------------------------------- */

/*
 * Copy max_bytes of the stack from sp on, or up to the first page that is absent. Return the bytes.
 */
static size_t copy_stack(struct vmop_user_stacks *stacks, uint64_t pgd_gpa, uint64_t sp,
			 size_t max_bytes)
{
	size_t n = 0;
	while (n < max_bytes && sp + n >= sp) {
		size_t len = PAGE_BYTES - (size_t)((sp + n) % PAGE_BYTES);
		if (len > max_bytes - n)
			len = max_bytes - n;
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
	uint64_t sp = regs[stacks->sp];
	/* Most stacks are short, and each page of them takes several reads. */
	const size_t sizes[] = {PAGE_BYTES - sp % PAGE_BYTES, SHORT_COPY_BYTES, STACK_COPY_BYTES};
	const struct vmop_code_space space = {.find = find_code, .arg = stacks};
	*ret = (struct vmop_unwound){.end = VMOP_STACK_UNREADABLE};
	stacks->process =
		stacks->snapshot ? vmop_guest_snapshot_by_pid(stacks->snapshot, pid) : NULL;
	if (!stacks->process || !stacks->process->vma_count)
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct vmop_stack_capture capture = {
			.user_regs = regs,
			.user_stack = stacks->copy,
			.user_stack_bytes = copy_stack(stacks, pgd_gpa, sp, sizes[i]),
			.user_stack_asked_bytes = sizes[i],
		};
		vmop_unwind(stacks->unwinder, &space, &capture, frames, max_frames, ret);
		if (ret->end != VMOP_STACK_COPY_SHORT || capture.user_stack_bytes < sizes[i])
			return;
	}
}

void vmop_user_stacks_place(struct vmop_user_stacks *stacks, uint32_t pid, uint64_t address,
			    struct vmop_user_place *ret)
{
	const struct vmop_guest_process *process =
		stacks->snapshot ? vmop_guest_snapshot_by_pid(stacks->snapshot, pid) : NULL;
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, address) : NULL;
	*ret = (struct vmop_user_place){0};
	if (!vma)
		return;
	ret->path = vma->path;
	ret->offset = address - vma->start + vma->file_offset_bytes;
	bool is_late;
	const struct file *file = find_file(stacks, process, vma, &is_late);
	const struct vmop_symbol *symbol =
		file && file->symtab ? vmop_symtab_find(file->symtab, ret->offset) : NULL;
	if (!symbol)
		return;
	ret->symbol = symbol->name;
	ret->symbol_offset = ret->offset - symbol->offset;
}
