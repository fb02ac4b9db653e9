// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/guest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libguest/guest-internal.h"
#include "libguest/kernel/kallsyms.h"
#include "libguest/kernel/orc.h"
#include "libguest/tasks/files.h"
#include "libguest/tasks/inodes.h"
#include "libguest/tasks/numbers.h"
#include "libguest/tasks/page-cache.h"
#include "libguest/tasks/processes.h"
#include "libguest/tasks/threads.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/log.h"

/* arch/x86/include/asm/cpufeatures.h: X86_FEATURE_PTI is bit 11 of word 7 */
#define PTI_WORD 7
#define PTI_BIT 11

/* --- accounts ------------------------------------------------------------------ */

void vmop_guest_begin(struct vmop_guest *guest, uint64_t read_bytes, uint64_t steps)
{
	guest->begun_cpu_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	guest->begun_read_bytes = vmop_guest_memory_read_bytes(guest->memory);
	guest->last = (struct vmop_guest_cost){0};
	guest->budget = (struct vmop_guest_budget){
		.bytes_left = guest->max_read_bytes ? guest->max_read_bytes : read_bytes,
		.steps_left = steps};
	vmop_guest_memory_forget(guest->memory);
	if (guest->kernel)
		vmop_guest_space_forget(&guest->kernel->space);
}

void vmop_guest_end(struct vmop_guest *guest)
{
	guest->last.cpu_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - guest->begun_cpu_ns;
	guest->last.read_bytes =
		vmop_guest_memory_read_bytes(guest->memory) - guest->begun_read_bytes;
	guest->total.cpu_ns += guest->last.cpu_ns;
	guest->total.read_bytes += guest->last.read_bytes;
	guest->total.retries += guest->last.retries;
}

struct vmop_guest_cost vmop_guest_last_cost(const struct vmop_guest *guest)
{
	return guest->last;
}

struct vmop_guest_cost vmop_guest_total_cost(const struct vmop_guest *guest)
{
	return guest->total;
}

uint64_t vmop_guest_ram_bytes(const struct vmop_guest *guest)
{
	return vmop_guest_memory_ram_bytes(guest->memory);
}

/* --- opening --------------------------------------------------------------------- */

static void forget_kernel(struct vmop_guest *guest)
{
	vmop_guest_inodes_free(vmop_steal(&guest->inodes));
	vmop_guest_files_free(vmop_steal(&guest->files));
	vmop_guest_module_set_free(vmop_steal(&guest->modules));
	vmop_guest_kernel_free(vmop_steal(&guest->kernel));
}

void vmop_guest_close(struct vmop_guest *guest)
{
	if (!guest)
		return;
	forget_kernel(guest);
	vmop_guest_memory_close(guest->memory);
	free(guest->profile);
	free(guest);
}

static void guest_cleanup(struct vmop_guest **guest)
{
	vmop_guest_close(*guest);
}

static struct vmop_error *guest_new(const struct vmop_guest_options *options,
				    struct vmop_guest **ret)
{
	struct vmop_guest *guest = calloc(1, sizeof(*guest));
	if (!guest)
		return &vmop_error_no_memory;
	*ret = guest;
	if (options) {
		guest->max_read_bytes = options->max_read_bytes;
		if (options->profile && !(guest->profile = strdup(options->profile)))
			return &vmop_error_no_memory;
	}
	return NULL;
}

static struct vmop_error *guest_ready(struct vmop_guest **guest, struct vmop_guest **ret)
{
	vmop_guest_memory_set_budget((*guest)->memory, &(*guest)->budget);
	*ret = vmop_steal(guest);
	return NULL;
}

struct vmop_error *vmop_guest_open_pid(pid_t pid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_error *err = guest_new(options, &guest);
	if (!err)
		err = vmop_guest_memory_open_pid(pid, options ? options->qmp_socket : NULL,
						 &guest->memory);
	if (err)
		return err;
	guest->is_live = true;
	return guest_ready(&guest, ret);
}

struct vmop_error *vmop_guest_open_xen(uint32_t domid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_error *err = guest_new(options, &guest);
	if (!err)
		err = vmop_guest_memory_open_xen(domid, &guest->memory);
	if (err)
		return err;
	guest->is_live = true;
	return guest_ready(&guest, ret);
}

struct vmop_error *vmop_guest_open_file(const char *path, const struct vmop_guest_options *options,
					struct vmop_guest **ret)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_error *err = guest_new(options, &guest);
	if (!err)
		err = vmop_guest_memory_open_file(path, &guest->memory);
	return err ? err : guest_ready(&guest, ret);
}

struct vmop_error *vmop_guest_open_memory(struct vmop_guest_memory *memory, struct vmop_guest **ret)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_error *err = guest_new(NULL, &guest);
	if (err) {
		vmop_guest_memory_close(memory);
		return err;
	}
	guest->memory = memory;
	return guest_ready(&guest, ret);
}

/* --- the kernel -------------------------------------------------------------------- */

/*
 * Read the offsets from the profile for this kernel. A directory need not contain one. A profile
 * that cannot be used is logged; then no processes are read.
 */
static bool layout_from_profile(struct vmop_guest *guest)
{
	const char *release = guest->kernel->info.release;
	char path[PATH_MAX];
	struct stat st;
	if (!guest->profile)
		return false;
	snprintf(path, sizeof(path), "%s", guest->profile);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		/* The guest chooses this string: it must not lead out of the directory. */
		if (strchr(release, '/') || release[0] == '.')
			return false;
		snprintf(path, sizeof(path), "%s/%s", guest->profile, release);
		if (access(path, F_OK) < 0)
			return false;
	}
	struct vmop_error *err = vmop_layout_from_profile(path, release, &guest->layout);
	if (err)
		vmop_log_and_destroy(VMOP_LOG_WARNING, err);
	return !err;
}

static void read_layout(struct vmop_guest *guest)
{
	struct vmop_guest_kernel_info *info = &guest->kernel->info;
	memset(&guest->layout, 0xff, sizeof(guest->layout)); /* -1: unknown */
	if (vmop_guest_kernel_read_btf(guest->kernel)) {
		guest->layout = *guest->kernel->layout;
		info->offsets_source = "BTF";
	} else if (layout_from_profile(guest)) {
		info->offsets_source = "profile";
	}
	info->has_processes = vmop_layout_has_processes(&guest->layout);
}

static void read_kpti(struct vmop_guest *guest)
{
	struct vmop_guest_space *space = &guest->kernel->space;
	uint64_t cpu = vmop_guest_kernel_symbol(guest->kernel, "boot_cpu_data");
	if (!cpu || !vmop_layout_has(&guest->layout, VMOP_LAYOUT_CPUINFO_CAPABILITY))
		return;
	uint32_t word = vmop_guest_space_u32(
		space,
		cpu + 4 * PTI_WORD + (uint32_t)guest->layout.value[VMOP_LAYOUT_CPUINFO_CAPABILITY]);
	guest->kernel->info.has_kpti = !vmop_guest_space_take_fault(space) && (word >> PTI_BIT & 1);
}

static struct vmop_error *read_modules(struct vmop_guest *guest, bool *ret_changed)
{
	struct vmop_guest_module_set *now;
	struct vmop_error *err = vmop_guest_modules_read(
		guest->kernel, &guest->layout, guest->modules, &guest->last.retries, &now);
	if (err)
		return err;
	*ret_changed = now != guest->modules;
	if (*ret_changed)
		vmop_guest_module_set_free(guest->modules);
	guest->modules = now;
	guest->kernel->info.modules = (uint32_t)vmop_guest_module_set_count(now);
	return NULL;
}

static struct vmop_error *find_kernel(struct vmop_guest *guest)
{
	struct vmop_error *err = vmop_guest_kernel_find(guest->memory, &guest->budget,
							guest->is_live, &guest->kernel);
	if (!err)
		err = vmop_guest_files_new(&guest->files);
	if (!err)
		err = vmop_guest_inodes_new(&guest->inodes);
	if (err)
		return err;
	read_layout(guest);
	read_kpti(guest);
	bool changed;
	err = read_modules(guest, &changed);
	if (err && err->code == VMOP_ERROR_CORRUPT) {
		/* the kernel's own symbols are useful without modules */
		vmop_log_and_destroy(VMOP_LOG_INFO, err);
		err = NULL;
	}
	return err;
}

struct vmop_error *vmop_guest_find_kernel(struct vmop_guest *guest)
{
	forget_kernel(guest);
	vmop_guest_begin(guest, VMOP_GUEST_SCAN_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err = find_kernel(guest);
	if (err)
		forget_kernel(guest);
	vmop_guest_end(guest);
	return err;
}

enum vmop_guest_kernel_state vmop_guest_kernel_state(struct vmop_guest *guest)
{
	if (!guest->kernel)
		return VMOP_GUEST_KERNEL_NONE;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	enum vmop_guest_kernel_state state = vmop_guest_kernel_check(guest->kernel);
	vmop_guest_end(guest);
	return state;
}

const struct vmop_guest_kernel_info *vmop_guest_kernel_info(const struct vmop_guest *guest)
{
	return guest->kernel ? &guest->kernel->info : NULL;
}

/* --- symbols ------------------------------------------------------------------------ */

static struct vmop_error *no_kernel(void)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no kernel was found in the guest");
}

static void kernel_symbol(const struct vmop_guest_kallsyms *kallsyms, uint32_t index,
			  struct vmop_guest_symbol *ret)
{
	*ret = (struct vmop_guest_symbol){.address = vmop_guest_kallsyms_address(kallsyms, index),
					  .len_bytes =
						  vmop_guest_kallsyms_len_bytes(kallsyms, index),
					  .name = vmop_guest_kallsyms_name(kallsyms, index),
					  .type = vmop_guest_kallsyms_type(kallsyms, index)};
}

struct vmop_error *vmop_guest_each_symbol(struct vmop_guest *guest, vmop_guest_symbol_fn *visit,
					  void *arg)
{
	struct vmop_guest_symbol symbol;
	if (!guest->kernel)
		return no_kernel();
	const struct vmop_guest_kallsyms *kallsyms = guest->kernel->kallsyms;
	for (uint32_t i = 0; kallsyms && i < vmop_guest_kallsyms_count(kallsyms); i++) {
		kernel_symbol(kallsyms, i, &symbol);
		if (!visit(&symbol, arg))
			return NULL;
	}
	size_t count = guest->modules ? vmop_guest_module_set_symbol_count(guest->modules) : 0;
	for (size_t i = 0; i < count; i++) {
		vmop_guest_module_set_symbol(guest->modules, i, &symbol);
		if (!visit(&symbol, arg))
			return NULL;
	}
	return NULL;
}

bool vmop_guest_symbol_at(struct vmop_guest *guest, uint64_t address, struct vmop_guest_symbol *ret)
{
	uint32_t index;
	if (!guest->kernel)
		return false;
	const struct vmop_guest_kernel_info *info = &guest->kernel->info;
	if (guest->kernel->kallsyms && address >= info->text_start && address < info->image_end &&
	    vmop_guest_kallsyms_at(guest->kernel->kallsyms, address, &index)) {
		kernel_symbol(guest->kernel->kallsyms, index, ret);
		return true;
	}
	return guest->modules && vmop_guest_module_set_symbol_at(guest->modules, address, ret);
}

bool vmop_guest_symbol_address(const struct vmop_guest *guest, const char *name, uint64_t *ret)
{
	return guest->kernel && guest->kernel->kallsyms &&
	       vmop_guest_kallsyms_find(guest->kernel->kallsyms, name, ret);
}

void vmop_guest_drop_symbols(struct vmop_guest *guest)
{
	if (guest->kernel)
		vmop_guest_kernel_drop_symbols(guest->kernel);
}

bool vmop_guest_reload_symbols(struct vmop_guest *guest)
{
	if (!guest->kernel)
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_SCAN_BYTES, VMOP_GUEST_CALL_STEPS);
	bool is_read = vmop_guest_kernel_reload_symbols(guest->kernel);
	vmop_guest_end(guest);
	return is_read;
}

struct vmop_error *vmop_guest_refresh_modules(struct vmop_guest *guest, bool *ret_changed)
{
	if (!guest->kernel)
		return no_kernel();
	bool changed = false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err = read_modules(guest, &changed);
	vmop_guest_end(guest);
	if (ret_changed)
		*ret_changed = changed;
	return err;
}

size_t vmop_guest_module_count(const struct vmop_guest *guest)
{
	return guest->modules ? vmop_guest_module_set_count(guest->modules) : 0;
}

const struct vmop_guest_module *vmop_guest_module_get(const struct vmop_guest *guest, size_t index)
{
	return vmop_guest_module_set_get(guest->modules, index);
}

/* --- files and user memory ------------------------------------------------------------ */

struct vmop_error *vmop_guest_read_file(struct vmop_guest *guest, uint64_t file, uint64_t offset,
					void *buf, size_t len_bytes, size_t *ret_read)
{
	size_t got = 0;
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES + len_bytes,
			 VMOP_GUEST_CALL_STEPS + len_bytes);
	uint64_t mapping;
	struct vmop_error *err =
		vmop_guest_page_cache_of_file(guest->kernel, &guest->layout, file, &mapping);
	if (!err)
		err = vmop_guest_page_cache_read(guest->kernel, &guest->layout, mapping, offset,
						 buf, len_bytes, &got);
	vmop_guest_end(guest);
	if (ret_read)
		*ret_read = got;
	return err;
}

struct vmop_error *vmop_guest_file_size(struct vmop_guest *guest, uint64_t file, uint64_t *ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	uint64_t mapping;
	struct vmop_error *err =
		vmop_guest_page_cache_of_file(guest->kernel, &guest->layout, file, &mapping);
	if (!err)
		err = vmop_guest_page_cache_size(guest->kernel, &guest->layout, mapping, ret);
	vmop_guest_end(guest);
	return err;
}

/* --- processes --------------------------------------------------------------------------- */

struct vmop_error *vmop_guest_snapshot_processes(struct vmop_guest *guest, unsigned int flags,
						 struct vmop_guest_snapshot **ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err = vmop_guest_processes_read(
		guest->kernel, &guest->layout, guest->files, flags, &guest->last.retries, ret);
	vmop_guest_end(guest);
	return err;
}

struct vmop_error *vmop_guest_current_tasks(struct vmop_guest *guest,
					    struct vmop_guest_current *ret, size_t max,
					    size_t *ret_count)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err =
		vmop_guest_processes_current(guest->kernel, &guest->layout, ret, max, ret_count);
	vmop_guest_end(guest);
	return err;
}

struct vmop_error *vmop_guest_each_new_wait(struct vmop_guest *guest, vmop_guest_known_fn *is_known,
					    vmop_guest_thread_fn *visit, void *arg,
					    size_t *ret_torn)
{
	size_t torn = 0;
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err = vmop_guest_threads_read(guest->kernel, &guest->layout, is_known,
							 visit, arg, &guest->last.retries, &torn);
	vmop_guest_end(guest);
	if (ret_torn)
		*ret_torn = torn;
	return err;
}

struct vmop_error *vmop_guest_each_thread(struct vmop_guest *guest, vmop_guest_thread_fn *visit,
					  void *arg, size_t *ret_torn)
{
	return vmop_guest_each_new_wait(guest, NULL, visit, arg, ret_torn);
}

bool vmop_guest_switches(struct vmop_guest *guest, uint64_t *ret)
{
	if (!guest->kernel)
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	bool is_read = vmop_guest_threads_switches(guest->kernel, &guest->layout, ret);
	vmop_guest_end(guest);
	return is_read;
}

bool vmop_guest_thread_waits(struct vmop_guest *guest, uint64_t task, uint64_t switches)
{
	if (!guest->kernel)
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	bool waits = vmop_guest_thread_still_waits(guest->kernel, &guest->layout, task, switches);
	vmop_guest_end(guest);
	return waits;
}

struct vmop_error *vmop_guest_each_orc(struct vmop_guest *guest, vmop_guest_orc_fn *visit,
				       void *arg, struct vmop_guest_orc_format *ret_format)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	struct vmop_error *err = vmop_guest_orc_read(guest->kernel, &guest->layout, guest->modules,
						     visit, arg, ret_format);
	vmop_guest_end(guest);
	return err;
}

uint32_t vmop_guest_frame_record_kind(const struct vmop_guest *guest)
{
	enum vmop_layout_field field = VMOP_LAYOUT_PT_REGS_RECORD_KIND;
	return guest->kernel && vmop_layout_has(&guest->layout, field)
		       ? (uint32_t)guest->layout.value[field]
		       : 0;
}

struct vmop_error *vmop_guest_snapshot_process(struct vmop_guest *guest, uint64_t task,
					       uint32_t pid, uint64_t start_time_ns,
					       struct vmop_guest_snapshot **ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_PROCESS_BYTES, VMOP_GUEST_PATH_STEPS);
	struct vmop_error *err =
		vmop_guest_processes_read_one(guest->kernel, &guest->layout, guest->files, task,
					      pid, start_time_ns, &guest->last.retries, ret);
	vmop_guest_end(guest);
	return err;
}

/* --- what a sample shows ---------------------------------------------------------------------- */

struct vmop_error *vmop_guest_sample_numbers(struct vmop_guest *guest,
					     struct vmop_guest_numbers *ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_INODE_BYTES, VMOP_GUEST_INODE_STEPS);
	struct vmop_error *err = vmop_guest_numbers_find(guest->kernel, &guest->layout, ret);
	vmop_guest_end(guest);
	return err;
}

struct vmop_error *vmop_guest_find_inode(struct vmop_guest *guest,
					 const struct vmop_guest_inode *inode,
					 struct vmop_guest_inode_file *ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_INODE_BYTES, VMOP_GUEST_INODE_STEPS);
	struct vmop_error *err =
		vmop_guest_inodes_find(guest->inodes, guest->kernel, &guest->layout, guest->files,
				       inode, &guest->last.retries, ret);
	vmop_guest_end(guest);
	return err;
}

struct vmop_error *vmop_guest_find_path(struct vmop_guest *guest, const char *path,
					struct vmop_guest_inode_file *ret)
{
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_PROCESS_BYTES, VMOP_GUEST_PATH_STEPS);
	struct vmop_error *err =
		vmop_guest_inodes_find_path(guest->inodes, guest->kernel, &guest->layout,
					    guest->files, 0, path, &guest->last.retries, ret);
	vmop_guest_end(guest);
	return err;
}

struct vmop_error *vmop_guest_find_path_of(struct vmop_guest *guest, uint64_t task, uint32_t pid,
					   uint64_t start_time_ns, const char *path,
					   struct vmop_guest_inode_file *ret)
{
	struct vmop_error *err = NULL;
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_PROCESS_BYTES, VMOP_GUEST_PATH_STEPS);
	uint64_t leader = vmop_guest_processes_leader(guest->kernel, &guest->layout, task, pid,
						      start_time_ns);
	if (leader)
		err = vmop_guest_inodes_find_path(guest->inodes, guest->kernel, &guest->layout,
						  guest->files, leader, path, &guest->last.retries,
						  ret);
	/* The memory of a task that ended meanwhile may be another's. */
	if (!err && (!leader || !vmop_guest_processes_leader(guest->kernel, &guest->layout, task,
							     pid, start_time_ns)))
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "the guest's process %u has ended", pid);
	vmop_guest_end(guest);
	return err;
}

static struct vmop_error *not_its_pages(void)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "the guest's file is another one now");
}

static bool holds(struct vmop_guest *guest, uint64_t mapping)
{
	return vmop_guest_inodes_holds(guest->inodes, guest->kernel, &guest->layout, mapping);
}

struct vmop_error *vmop_guest_read_mapping(struct vmop_guest *guest, uint64_t mapping,
					   uint64_t offset, void *buf, size_t len_bytes,
					   size_t *ret_read)
{
	size_t got = 0;
	struct vmop_error *err = NULL;
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES + len_bytes,
			 VMOP_GUEST_CALL_STEPS + len_bytes);
	if (!holds(guest, mapping))
		err = not_its_pages();
	if (!err)
		err = vmop_guest_page_cache_read(guest->kernel, &guest->layout, mapping, offset,
						 buf, len_bytes, &got);
	/* The pages of an inode that went away meanwhile can be another's. */
	if (!err && !holds(guest, mapping))
		err = not_its_pages();
	vmop_guest_end(guest);
	if (ret_read)
		*ret_read = err ? 0 : got;
	return err;
}

struct vmop_error *vmop_guest_mapping_size(struct vmop_guest *guest, uint64_t mapping,
					   uint64_t *ret)
{
	struct vmop_error *err = NULL;
	if (!guest->kernel)
		return no_kernel();
	vmop_guest_begin(guest, VMOP_GUEST_INODE_BYTES, VMOP_GUEST_INODE_STEPS);
	if (!holds(guest, mapping))
		err = not_its_pages();
	if (!err)
		err = vmop_guest_page_cache_size(guest->kernel, &guest->layout, mapping, ret);
	vmop_guest_end(guest);
	return err;
}
