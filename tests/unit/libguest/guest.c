// SPDX-License-Identifier: GPL-2.0-or-later
/* A whole synthetic guest: what libguest finds in it, and the effect of damage. */
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/libguest/opened.h"

static void expect(struct vmop_error *err, enum vmop_error_code code)
{
	assert_non_null(err);
	assert_int_equal(err->code, code);
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
}

/* --- the kernel --------------------------------------------------------------------- */

struct seen {
	size_t count;
	size_t kernel;
	char last_modules[256];
};

static bool see(const struct vmop_guest_symbol *symbol, void *arg)
{
	struct seen *seen = arg;
	if (!symbol->module) {
		const struct synthetic_symbol *truth = &made.symbols[seen->kernel++];
		assert_string_equal(symbol->name, truth->name);
		assert_int_equal(symbol->address, truth->address);
		assert_int_equal(symbol->type, truth->type);
	} else {
		char line[96];
		snprintf(line, sizeof(line), "%llx %c %s [%s];",
			 (unsigned long long)symbol->address, symbol->type, symbol->name,
			 symbol->module);
		strncat(seen->last_modules, line,
			sizeof(seen->last_modules) - 1 - strlen(seen->last_modules));
	}
	seen->count++;
	return true;
}

static void check_symbols(void)
{
	struct seen seen = {0};
	assert_null(vmop_guest_each_symbol(guest, see, &seen));
	assert_int_equal(seen.kernel, made.symbol_count);
	assert_string_equal(seen.last_modules, "ffffffffc0001000 t module_function [testmod];"
					       "ffffffffc0003000 d module_data [testmod];"
					       "ffffffffc0100000 t bpf_prog_0011_x [bpf];");
}

/* Kernels to 5.6 make the names of BPF programs on demand. */
static void bpf_programs_of_old_kernels(void **state)
{
	static const char *const names[] = {"bpf_prog_0123456789abcdef_named",
					    "bpf_prog_0123456789abcdef_of its own BTF",
					    "bpf_prog_0123456789abcdef"};
	(void)state;
	open_found(&(struct synthetic_options){
		.kallsyms = SYNTHETIC_BEFORE_NAMES, .vma_list = true, .bpf_programs = true});
	assert_int_equal(vmop_guest_module_count(guest), 4);
	for (size_t i = 0; i < 3; i++) {
		const struct vmop_guest_module *module = vmop_guest_module_get(guest, i + 1);
		assert_int_equal(module->kind, VMOP_GUEST_TEXT_BPF);
		assert_string_equal(module->name, names[i]);
		assert_int_equal(module->start % 4096, 0x40);
		assert_int_equal(module->len_bytes, 2 * 4096 - 0x40);
		assert_int_equal(module->symbols, 1);
	}
	close_guest();
}

static void every_layout_of_the_symbol_table(void **state)
{
	(void)state;
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++) {
		for (int levels = 4; levels <= 5; levels++) {
			struct synthetic_options options = {.kallsyms =
								    (enum synthetic_kallsyms)form,
							    .five_levels = levels == 5};
			open_found(&options);
			const struct vmop_guest_kernel_info *info = vmop_guest_kernel_info(guest);
			assert_string_equal(info->release, "6.99.0-test");
			assert_int_equal(info->text_start, SYNTHETIC_TEXT);
			assert_int_equal(info->text_gpa, SYNTHETIC_TEXT_GPA);
			assert_int_equal(info->root_gpa, made.root_gpa);
			assert_int_equal(info->levels, levels);
			assert_string_equal(info->search_method, "trampoline");
			assert_string_equal(info->offsets_source, "BTF");
			check_symbols();
			close_guest();
		}
	}
}

static void found_by_a_scan(void **state)
{
	(void)state;
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++) {
		struct synthetic_options options = {.kallsyms = (enum synthetic_kallsyms)form,
						    .no_trampoline = true};
		open_found(&options);
		assert_string_equal(vmop_guest_kernel_info(guest)->search_method, "vmcoreinfo");
		check_symbols();
		close_guest();
		options.no_vmcoreinfo = true;
		open_found(&options);
		assert_string_equal(vmop_guest_kernel_info(guest)->search_method, "kallsyms");
		check_symbols();
		close_guest();
	}
}

static void no_linux_is_one_line(void **state)
{
	(void)state;
	uint8_t *ram = calloc(1, 4 << 20);
	struct vmop_guest_memory *memory;
	assert_null(vmop_guest_memory_open_buffer(ram, 4 << 20, &memory));
	assert_null(vmop_guest_open_memory(memory, &guest));
	expect(vmop_guest_find_kernel(guest), VMOP_ERROR_NOT_FOUND);
	assert_null(vmop_guest_kernel_info(guest));
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_NONE);
	struct vmop_guest_snapshot *snapshot;
	expect(vmop_guest_snapshot_processes(guest, 0, &snapshot), VMOP_ERROR_NOT_FOUND);
	vmop_guest_close(guest);
	free(ram);
}

static void reboots_are_noticed(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_UNCERTAIN);
	synthetic_put_u64(&made, made.jiffies, 1010);
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_CURRENT);
	synthetic_put_u64(&made, made.jiffies, 1009);
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_GONE);
	synthetic_put_u64(&made, made.jiffies, 1011);
	memset(made.ram + made.root_gpa, 0, 4096);
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_GONE);
	close_guest();
}

static void symbols_at_addresses(void **state)
{
	struct vmop_guest_symbol symbol;
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	assert_true(vmop_guest_symbol_at(guest, SYNTHETIC_TEXT + 16 * 8 + 5, &symbol));
	assert_string_equal(symbol.name, "filler_7");
	assert_int_equal(symbol.len_bytes, 16);
	assert_true(vmop_guest_symbol_at(guest, UINT64_C(0xffffffffc0001010), &symbol));
	assert_string_equal(symbol.name, "module_function");
	assert_string_equal(symbol.module, "testmod");
	assert_true(vmop_guest_symbol_at(guest, UINT64_C(0xffffffffc010007f), &symbol));
	assert_string_equal(symbol.module, "bpf");
	assert_false(vmop_guest_symbol_at(guest, UINT64_C(0xffffffffc0100080), &symbol));
	assert_false(vmop_guest_symbol_at(guest, 0, &symbol));
	uint64_t address;
	assert_true(vmop_guest_symbol_address(guest, "filler_4711", &address));
	assert_int_equal(address, SYNTHETIC_TEXT + 16 * 4712);
	assert_false(vmop_guest_symbol_address(guest, "filler_", &address));
	close_guest();
}

/* --- modules ------------------------------------------------------------------------ */

static void modules_change(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	assert_int_equal(vmop_guest_module_count(guest), 2);
	const struct vmop_guest_module *module = vmop_guest_module_get(guest, 0);
	assert_string_equal(module->name, "testmod");
	assert_int_equal(module->kind, VMOP_GUEST_TEXT_MODULE);
	assert_int_equal(module->text_start, UINT64_C(0xffffffffc0001000));
	assert_int_equal(module->text_len_bytes, 8192);
	assert_int_equal(module->build_id_len_bytes, 20);
	assert_int_equal(module->build_id[19], 0xcd);
	assert_int_equal(vmop_guest_module_get(guest, 1)->kind, VMOP_GUEST_TEXT_BPF);
	bool changed = true;
	assert_null(vmop_guest_refresh_modules(guest, &changed));
	assert_false(changed);
	synthetic_put_u64(&made, made.modules_head, made.modules_head);
	assert_null(vmop_guest_refresh_modules(guest, &changed));
	assert_true(changed);
	assert_int_equal(vmop_guest_module_count(guest), 1);
	close_guest();
}

static void hostile_modules(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	uint64_t node = synthetic_member(&made, made.module, VMOP_LAYOUT_MODULE_LIST);
	synthetic_put_u64(&made, node, node); /* a list that does not return to its head */
	expect(vmop_guest_refresh_modules(guest, NULL), VMOP_ERROR_CORRUPT);
	assert_int_equal(vmop_guest_module_count(guest), 2); /* the previous modules are kept */
	synthetic_put_u64(&made, node, 0x1000);
	expect(vmop_guest_refresh_modules(guest, NULL), VMOP_ERROR_CORRUPT);
	synthetic_put_u64(&made, node, made.modules_head);
	synthetic_put_u32(&made,
			  synthetic_member(&made, made.module_kallsyms, VMOP_LAYOUT_MOD_NUM_SYMTAB),
			  UINT32_MAX);
	synthetic_put_u32(&made, synthetic_member(&made, made.module, VMOP_LAYOUT_MODULE_STATE), 1);
	expect(vmop_guest_refresh_modules(guest, NULL), VMOP_ERROR_CORRUPT);
	/* a kernel whose module list is damaged from the start is still a kernel */
	assert_null(vmop_guest_find_kernel(guest));
	assert_int_equal(vmop_guest_module_count(guest), 0);
	close_guest();
}

/* --- processes ------------------------------------------------------------------------ */

static struct vmop_guest_snapshot *snapshot_of(unsigned int flags)
{
	struct vmop_guest_snapshot *snapshot = NULL;
	struct vmop_error *err = vmop_guest_snapshot_processes(guest, flags, &snapshot);
	if (err)
		fail_msg("%s", err->message);
	return snapshot;
}

static void check_worker(const struct vmop_guest_snapshot *snapshot)
{
	const struct vmop_guest_process *worker = vmop_guest_snapshot_by_pid(snapshot, 2);
	assert_non_null(worker);
	assert_string_equal(worker->comm, "worker");
	assert_string_equal(worker->cgroup, "/box");
	assert_int_equal(worker->ns_pid, 77);
	assert_int_equal(worker->ppid, 1);
	assert_int_equal(worker->pgd_gpa, 0xb00000);
	assert_int_equal(worker->vma_count, 2);
	assert_int_equal(worker->vmas[0].start, 0x401000);
	assert_int_equal(worker->vmas[0].file_offset_bytes, 0x1000);
	assert_string_equal(worker->vmas[0].path, "/bin/worker");
	assert_int_equal(worker->vmas[0].build_id_len_bytes, 20);
	assert_int_equal(worker->vmas[0].build_id[0], 0xab);
	assert_string_equal(worker->vmas[1].path, "//anon");
}

static void processes_and_mappings(void **state)
{
	(void)state;
	for (int list = 0; list < 2; list++) {
		open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
						       .vma_list = list});
		struct vmop_guest_snapshot *snapshot = snapshot_of(0);
		assert_int_equal(vmop_guest_snapshot_count(snapshot), SYNTHETIC_PROCESSES);
		assert_int_equal(vmop_guest_snapshot_torn(snapshot), 0);
		check_worker(snapshot);
		vmop_guest_snapshot_free(snapshot);
		snapshot = snapshot_of(VMOP_GUEST_ALL_VMAS | VMOP_GUEST_NO_BUILD_IDS);
		const struct vmop_guest_process *worker = vmop_guest_snapshot_by_pid(snapshot, 2);
		assert_int_equal(worker->vma_count, 4);
		assert_string_equal(worker->vmas[3].path, "[stack]");
		assert_int_equal(worker->vmas[1].build_id_len_bytes, 0);
		vmop_guest_snapshot_free(snapshot);
		close_guest();
	}
}

static void looking_up_in_a_snapshot(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	struct vmop_guest_snapshot *snapshot = snapshot_of(VMOP_GUEST_ALL_VMAS);
	/* with a PCID and the bit that suppresses the flush */
	assert_non_null(vmop_guest_snapshot_by_cr3(snapshot, 0x8000000000b00123));
	assert_null(vmop_guest_snapshot_by_cr3(snapshot, 0xb01000));
	assert_null(vmop_guest_snapshot_by_cr3(snapshot, 0));
	const struct vmop_guest_process *worker = vmop_guest_snapshot_by_pid(snapshot, 2);
	assert_string_equal(worker->comm, "worker");
	assert_int_equal(vmop_guest_process_vma(worker, 0x401000)->start, 0x401000);
	assert_int_equal(vmop_guest_process_vma(worker, 0x401fff)->start, 0x401000);
	assert_null(vmop_guest_process_vma(worker, 0x402000));
	assert_null(vmop_guest_snapshot_by_pid(snapshot, 3));
	vmop_guest_snapshot_free(snapshot);
	close_guest();
}

static void current_tasks(void **state)
{
	(void)state;
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++) {
		struct vmop_guest_current current[2];
		size_t count;
		open_found(&(struct synthetic_options){.kallsyms = (enum synthetic_kallsyms)form});
		assert_null(vmop_guest_current_tasks(guest, current, 2, &count));
		assert_int_equal(count, 1);
		assert_int_equal(current[0].pid, 2);
		assert_int_equal(current[0].pgd_gpa, 0xb00000);
		assert_false(current[0].is_idle);
		close_guest();
	}
}

static void without_btf_there_are_symbols_only(void **state)
{
	struct vmop_guest_snapshot *snapshot;
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX, .no_btf = true});
	assert_false(vmop_guest_kernel_info(guest)->has_processes);
	expect(vmop_guest_snapshot_processes(guest, 0, &snapshot), VMOP_ERROR_NOT_FOUND);
	close_guest();
}

/* Write a profile with all offsets of the synthetic guest. */
static void write_profile(int fd)
{
	char name[96];
	assert_true(fd >= 0);
	dprintf(fd, "[kernel]\nrelease = 6.99.0-test\n[offsets]\n");
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		if (made.layout.value[i] >= 0)
			dprintf(fd, "%s = %d\n", vmop_layout_name(i, name, sizeof(name)),
				made.layout.value[i]);
	close(fd);
}

static void a_directory_of_profiles(void **state)
{
	char directory[] = "/tmp/vmop-profiles-XXXXXX", path[64];
	(void)state;
	open_with(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX, .no_btf = true});
	assert_non_null(mkdtemp(directory));
	guest->profile = strdup(directory);
	assert_null(
		vmop_guest_find_kernel(guest)); /* the directory has no profile for this kernel */
	assert_false(vmop_guest_kernel_info(guest)->has_processes);
	snprintf(path, sizeof(path), "%s/6.99.0-test", directory);
	write_profile(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_null(vmop_guest_find_kernel(guest));
	assert_true(vmop_guest_kernel_info(guest)->has_processes);
	assert_string_equal(vmop_guest_kernel_info(guest)->offsets_source, "profile");
	unlink(path);
	rmdir(directory);
	close_guest();
}

static void a_profile_in_the_place_of_btf(void **state)
{
	char path[] = "/tmp/vmop-profile-XXXXXX";
	(void)state;
	open_with(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX, .no_btf = true});
	int fd = mkstemp(path);
	write_profile(fd);
	guest->profile = strdup(path);
	assert_null(vmop_guest_find_kernel(guest));
	assert_string_equal(vmop_guest_kernel_info(guest)->offsets_source, "profile");
	struct vmop_guest_snapshot *snapshot = snapshot_of(0);
	check_worker(snapshot);
	vmop_guest_snapshot_free(snapshot);
	check_symbols();
	fd = open(path, O_WRONLY | O_TRUNC);
	dprintf(fd, "[kernel]\nrelease = 5.4.0\n"); /* another kernel's */
	close(fd);
	assert_null(vmop_guest_find_kernel(guest));
	assert_false(vmop_guest_kernel_info(guest)->has_processes);
	assert_string_equal(vmop_guest_kernel_info(guest)->offsets_source, "");
	unlink(path);
	close_guest();
}

/* Expect that process 2 is left out as torn, and that others are reported. */
static void expect_torn(void)
{
	struct vmop_guest_snapshot *snapshot = snapshot_of(VMOP_GUEST_ALL_VMAS);
	assert_true(vmop_guest_snapshot_torn(snapshot) > 0);
	assert_null(vmop_guest_snapshot_by_pid(snapshot, 2));
	assert_non_null(vmop_guest_snapshot_by_pid(snapshot, 1));
	assert_true(vmop_guest_last_cost(guest).retries > 0);
	vmop_guest_snapshot_free(snapshot);
}

static void hostile_mappings(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	uint64_t root = synthetic_member(&made, made.mm[2], VMOP_LAYOUT_MM_TREE_ROOT);
	uint64_t leaf = synthetic_get_u64(&made, root);
	uint64_t slots = synthetic_member(&made, made.tree_node, VMOP_LAYOUT_MAPLE_RANGE_SLOT);
	uint64_t old = synthetic_get_u64(&made, slots + 8);
	uint64_t inner = made.tree_node |
			 (uint64_t)(uint32_t)made.layout.value[VMOP_LAYOUT_MAPLE_RANGE_TYPE] << 3 |
			 2;
	synthetic_put_u64(&made, root, inner); /* an inner node that is its own child */
	for (int i = 0; i < 16; i++)
		synthetic_put_u64(&made, slots + 8 * (uint64_t)i, inner);
	expect_torn();
	close_guest();
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	synthetic_put_u64(&made, slots + 8,
			  synthetic_get_u64(&made, slots + 16)); /* the same mapping twice */
	expect_torn();
	synthetic_put_u64(&made, slots + 8, old);
	synthetic_put_u64(&made, root, leaf | 15 << 3); /* a type that does not exist */
	expect_torn();
	synthetic_put_u64(&made, root, leaf);
	synthetic_put_u32(&made, synthetic_member(&made, made.mm[2], VMOP_LAYOUT_MM_MAP_COUNT), 5);
	expect_torn();
	synthetic_put_u32(&made, synthetic_member(&made, made.mm[2], VMOP_LAYOUT_MM_MAP_COUNT), 4);
	synthetic_put_u64(&made, synthetic_member(&made, made.vma[1], VMOP_LAYOUT_VMA_END),
			  UINT64_MAX);
	expect_torn();
	close_guest();
	/* the list of kernels to 6.0, as a cycle */
	open_found(
		&(struct synthetic_options){.kallsyms = SYNTHETIC_BEFORE_NAMES, .vma_list = true});
	synthetic_put_u64(&made, synthetic_member(&made, made.vma[3], VMOP_LAYOUT_VMA_NEXT),
			  made.vma[0]);
	expect_torn();
	close_guest();
}

static void hostile_paths(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	/* a dentry that is its grandparent: longer than any path */
	uint64_t parent = synthetic_member(&made, made.dentry, VMOP_LAYOUT_DENTRY_PARENT);
	uint64_t bin = synthetic_get_u64(&made, parent);
	synthetic_put_u64(&made, synthetic_member(&made, bin, VMOP_LAYOUT_DENTRY_PARENT),
			  made.dentry);
	struct vmop_guest_snapshot *snapshot = snapshot_of(0);
	const struct vmop_guest_process *worker = vmop_guest_snapshot_by_pid(snapshot, 2);
	assert_non_null(worker);
	assert_true(strlen(worker->vmas[0].path) < 4096);
	vmop_guest_snapshot_free(snapshot);
	/* a name without an end, and one that is not text */
	uint64_t name = synthetic_get_u64(
		&made, synthetic_member(&made, made.dentry, VMOP_LAYOUT_DENTRY_NAME));
	memset(synthetic_at(&made, name), 0x1b, 1024);
	snapshot = snapshot_of(0);
	vmop_guest_snapshot_free(snapshot);
	close_guest();
}

static void hostile_task_rings(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	uint64_t last = synthetic_member(&made, made.task[2], VMOP_LAYOUT_TASK_TASKS);
	uint64_t second = synthetic_member(&made, made.task[1], VMOP_LAYOUT_TASK_TASKS);
	synthetic_put_u64(&made, last, second); /* a cycle without the head */
	struct vmop_guest_snapshot *snapshot = snapshot_of(0);
	assert_true(vmop_guest_snapshot_torn(snapshot) > 0);
	assert_true(vmop_guest_snapshot_count(snapshot) < 16);
	check_worker(snapshot);
	vmop_guest_snapshot_free(snapshot);
	synthetic_put_u64(&made, last, UINT64_C(0xdead000000000100));
	snapshot = snapshot_of(0);
	assert_true(vmop_guest_snapshot_torn(snapshot) > 0);
	vmop_guest_snapshot_free(snapshot);
	close_guest();
}

static void all_but_symbols_without_symbols(void **state)
{
	struct vmop_guest_symbol symbol;
	struct vmop_guest_current current[2];
	struct seen seen = {0};
	uint8_t content[64];
	size_t count;
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	vmop_guest_drop_symbols(guest);
	vmop_guest_drop_symbols(guest);
	assert_null(vmop_guest_each_symbol(guest, see, &seen));
	assert_int_equal(seen.count, 3); /* the modules' */
	assert_false(vmop_guest_symbol_at(guest, SYNTHETIC_TEXT, &symbol));
	struct vmop_guest_snapshot *snapshot = snapshot_of(0);
	check_worker(snapshot);
	vmop_guest_snapshot_free(snapshot);
	synthetic_put_u64(&made, made.jiffies, 5000);
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_CURRENT);
	assert_null(vmop_guest_current_tasks(guest, current, 2, &count));
	assert_int_equal(count, 1);
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, sizeof(content), &count));
	assert_int_equal(count, sizeof(content));
	synthetic_put_u64(&made, made.bpf_head, made.bpf_head);
	bool changed = false;
	assert_null(vmop_guest_refresh_modules(guest, &changed));
	assert_true(changed);
	assert_int_equal(vmop_guest_module_count(guest), 1);
	assert_null(vmop_guest_find_kernel(guest));
	assert_true(vmop_guest_symbol_at(guest, SYNTHETIC_TEXT, &symbol));
	close_guest();
}

/* --- files ------------------------------------------------------------------------------ */

static void files_from_the_page_cache(void **state)
{
	uint8_t content[3 * 4096];
	size_t got;
	uint64_t size;
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	assert_null(vmop_guest_file_size(guest, made.file, &size));
	assert_int_equal(size, 8192);
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, 8192, &got));
	assert_int_equal(got, 8192);
	assert_memory_equal(content, made.ram + 0xc00000, 8192);
	/* absent pages are zero and end the count; pages after them are read */
	assert_null(vmop_guest_read_file(guest, made.file, 100, content, sizeof(content), &got));
	assert_int_equal(got, 8192 - 100);
	assert_int_equal(content[8192], 0);
	expect(vmop_guest_read_file(guest, 0x1234, 0, content, 10, &got), VMOP_ERROR_NOT_FOUND);
	expect(vmop_guest_file_size(guest, made.vma[0], &size), VMOP_ERROR_NOT_FOUND);
	/* a page that the file had, and another one has now */
	uint64_t mapping = synthetic_get_u64(
		&made, synthetic_member(&made, made.inode, VMOP_LAYOUT_INODE_MAPPING));
	synthetic_give_page(&made, mapping + 0x400);
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, 4096, &got));
	assert_int_equal(got, 0);
	assert_int_equal(content[0], 0);
	synthetic_give_page(&made, mapping);
	/* a node that is its own child */
	uint64_t slots = synthetic_member(&made, made.xa_node, VMOP_LAYOUT_XA_NODE_SLOTS);
	synthetic_put_u64(&made, slots, made.xa_node + 2);
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, 4096, &got));
	assert_int_equal(got, 0);
	/* a page struct far outside RAM */
	synthetic_put_u64(&made, slots, UINT64_C(0xffffea7fffff0000));
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, 4096, &got));
	assert_int_equal(got, 0);
	assert_null(vmop_guest_read_file(guest, made.file, UINT64_MAX - 10, content, 4096, &got));
	assert_int_equal(got, 0);
	close_guest();
}

/* --- damage everywhere --------------------------------------------------------------------- */

/* Any content of RAM gives a result or an error, in bounded time. */
/* Map a page of the worker, in tables at free addresses. */
static void map_user_page(uint64_t address, uint64_t gpa)
{
	uint64_t table = SYNTHETIC_USER_PGD_GPA, next = 0xb10000;
	for (int level = 3; level > 0; level--, next += 4096) {
		uint64_t entry = next | 7;
		memset(made.ram + next, 0, 4096);
		memcpy(made.ram + table + 8 * (address >> (12 + 9 * level) & 511), &entry, 8);
		table = next;
	}
	uint64_t entry = gpa | 7;
	memcpy(made.ram + table + 8 * (address >> 12 & 511), &entry, 8);
}

static void memory_of_a_process(void **state)
{
	const uint64_t address = 0x401000, gpa = 0xb20000;
	uint8_t page[4096], other[8192];
	(void)state;
	open_found(&(struct synthetic_options){0});
	uint64_t task = made.task[2];
	assert_false(vmop_guest_read_process(guest, task, 2, 2000, address, page, sizeof(page)));
	map_user_page(address, gpa);
	memset(made.ram + gpa, 0x5a, 4096);
	assert_true(vmop_guest_read_process(guest, task, 2, 2000, address, page, sizeof(page)));
	assert_memory_equal(page, made.ram + gpa, sizeof(page));
	/* Not mapped, another process, a kernel thread, an address of the kernel. */
	assert_false(vmop_guest_read_process(guest, task, 2, 2000, address, other, sizeof(other)));
	assert_false(vmop_guest_read_process(guest, task, 2, 2001, address, page, 8));
	assert_false(vmop_guest_read_process(guest, task, 3, 2000, address, page, 8));
	assert_false(vmop_guest_read_process(guest, made.task[1], 1, 1000, address, page, 8));
	assert_false(vmop_guest_read_process(guest, task, 2, 2000, SYNTHETIC_TEXT, page, 8));
	assert_false(vmop_guest_read_process(guest, UINT64_MAX, 2, 2000, address, page, 8));
	/* A page table that is anywhere. */
	synthetic_put_u64(&made, synthetic_member(&made, made.mm[2], VMOP_LAYOUT_MM_PGD),
			  UINT64_C(0xdeadbeefdeadb000));
	assert_false(vmop_guest_read_process(guest, task, 2, 2000, address, page, 8));
	close_guest();
}

static void random_damage(void **state)
{
	uint64_t random = 88172645463325252ull;
	(void)state;
	for (int round = 0; round < 200; round++) {
		open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
						       .vma_list = round % 2});
		for (int i = 0; i < 2000; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* structs and strings, by bytes and by pointers to other places */
			uint64_t at = SYNTHETIC_TEXT + 0x14000 + random % 0x60000;
			if (random >> 63)
				*synthetic_at(&made, at) = (uint8_t)(random >> 32);
			else if (at % 8 == 0)
				synthetic_put_u64(&made, at,
						  SYNTHETIC_TEXT +
							  (random >> 20) % SYNTHETIC_IMAGE_BYTES);
		}
		struct vmop_guest_snapshot *snapshot = NULL;
		struct vmop_guest_current current[4];
		uint8_t content[64];
		size_t count;
		vmop_error_destroy(
			vmop_guest_snapshot_processes(guest, VMOP_GUEST_ALL_VMAS, &snapshot));
		vmop_guest_snapshot_free(snapshot);
		vmop_error_destroy(vmop_guest_refresh_modules(guest, NULL));
		vmop_error_destroy(vmop_guest_current_tasks(guest, current, 4, &count));
		vmop_error_destroy(vmop_guest_read_file(guest, made.file, 0, content, 64, &count));
		vmop_error_destroy(vmop_guest_find_kernel(guest));
		close_guest();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_of_the_symbol_table),
		cmocka_unit_test(bpf_programs_of_old_kernels),
		cmocka_unit_test(found_by_a_scan),
		cmocka_unit_test(no_linux_is_one_line),
		cmocka_unit_test(reboots_are_noticed),
		cmocka_unit_test(symbols_at_addresses),
		cmocka_unit_test(modules_change),
		cmocka_unit_test(hostile_modules),
		cmocka_unit_test(processes_and_mappings),
		cmocka_unit_test(looking_up_in_a_snapshot),
		cmocka_unit_test(current_tasks),
		cmocka_unit_test(without_btf_there_are_symbols_only),
		cmocka_unit_test(a_profile_in_the_place_of_btf),
		cmocka_unit_test(a_directory_of_profiles),
		cmocka_unit_test(hostile_mappings),
		cmocka_unit_test(hostile_paths),
		cmocka_unit_test(hostile_task_rings),
		cmocka_unit_test(all_but_symbols_without_symbols),
		cmocka_unit_test(files_from_the_page_cache),
		cmocka_unit_test(memory_of_a_process),
		cmocka_unit_test(random_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
