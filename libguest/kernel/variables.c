// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/variables.h"

#include <string.h>

#include "libguest/kernel/arm64-code.h"
#include "libguest/kernel/btf.h"
#include "libguest/kernel/kallsyms.h"
#include "libguest/kernel/layout.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/memory/note.h"
#include "libutil/cleanup.h"

#define MAX_HITS 64
#define MAX_REFERENCES 64u
#define MAX_CPUS 4096u
#define MAX_TASKS 65536u
#define UTS_FIELD 65u /* include/uapi/linux/utsname.h: __NEW_UTS_LEN + 1 */
#define UTS_RELEASE 2
#define UTS_VERSION 3
#define NOTE_WINDOW 1024u

static uint64_t member(const struct vmop_guest_kernel *kernel, uint64_t base,
		       enum vmop_layout_field field)
{
	return base + vmop_layout_value(kernel->layout, field);
}

static bool has(const struct vmop_guest_kernel *kernel, enum vmop_layout_field field)
{
	return kernel->layout && vmop_layout_has(kernel->layout, field);
}

/* --- by their form ------------------------------------------------------------------- */

/* Find the banner. Unlike similar texts it ends with the version that uname(2) returns. */
static void find_banner(struct vmop_guest_kernel *kernel, const struct vmop_guest_image_map *map)
{
	static const char begin[] = "Linux version ";
	const struct vmop_vmcoreinfo *vmcoreinfo = &kernel->vmcoreinfo;
	uint64_t uts = vmcoreinfo->init_uts_ns + vmcoreinfo->uts_name;
	char version[UTS_FIELD], text[sizeof(kernel->info.banner)];
	uint64_t from = 0, hit;
	vmop_guest_space_string(&kernel->space, uts + (uint64_t)UTS_VERSION * UTS_FIELD, version,
				sizeof(version));
	for (int i = 0;
	     i < MAX_HITS && version[0] &&
	     vmop_guest_image_find(&kernel->space, map, begin, sizeof(begin) - 1, &from, &hit);
	     i++) {
		vmop_guest_space_string(&kernel->space, hit, text, sizeof(text));
		text[strcspn(text, "\n?")] =
			'\0'; /* the end of its line, or a replaced character */
		size_t len = strlen(text), version_len = strlen(version);
		if (len > version_len && strcmp(text + len - version_len, version) == 0 &&
		    strncmp(text + sizeof(begin) - 1, vmcoreinfo->release,
			    strlen(vmcoreinfo->release)) == 0) {
			vmop_guest_kernel_save_symbol(kernel, "linux_banner", hit);
			break;
		}
	}
	vmop_guest_space_take_fault(&kernel->space);
}

static void find_btf(struct vmop_guest_kernel *kernel, const struct vmop_guest_image_map *map)
{
	/* magic, version 1, no flags, a header of 24 bytes, types directly after it */
	static const uint8_t head[] = {0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0};
	uint64_t from = 0, hit;
	for (int i = 0; i < MAX_HITS && !kernel->layout &&
			vmop_guest_image_find(&kernel->space, map, head, sizeof(head), &from, &hit);
	     i++) {
		uint64_t end = hit + 24 + vmop_guest_space_u32(&kernel->space, hit + 16) +
			       vmop_guest_space_u32(&kernel->space, hit + 20);
		vmop_guest_kernel_save_symbol(kernel, "__start_BTF", hit);
		vmop_guest_kernel_save_symbol(kernel, "__stop_BTF", end);
		vmop_guest_kernel_read_btf(kernel);
	}
	vmop_guest_space_take_fault(&kernel->space);
}

/* Return whether head is a list: its first and last nodes point back to it. */
static bool is_list(struct vmop_guest_space *space, uint64_t head)
{
	uint64_t next = vmop_guest_space_u64(space, head),
		 last = vmop_guest_space_u64(space, head + 8);
	bool holds = vmop_guest_space_is_kernel(space, next) &&
		     vmop_guest_space_is_kernel(space, last) &&
		     vmop_guest_space_u64(space, next + 8) == head &&
		     vmop_guest_space_u64(space, last) == head;
	return !vmop_guest_space_take_fault(space) && holds;
}

static bool is_init_task(struct vmop_guest_kernel *kernel, uint64_t task)
{
	struct vmop_guest_space *space = &kernel->space;
	bool matches =
		vmop_guest_space_u32(space, member(kernel, task, VMOP_LAYOUT_TASK_PID)) == 0 &&
		vmop_guest_space_u32(space, member(kernel, task, VMOP_LAYOUT_TASK_TGID)) == 0 &&
		vmop_guest_space_u64(space, member(kernel, task, VMOP_LAYOUT_TASK_MM)) == 0 &&
		vmop_guest_space_u64(space, member(kernel, task, VMOP_LAYOUT_TASK_PARENT)) == task;
	return !vmop_guest_space_take_fault(space) && matches &&
	       is_list(space, member(kernel, task, VMOP_LAYOUT_TASK_TASKS));
}

static void find_init_task(struct vmop_guest_kernel *kernel, const struct vmop_guest_image_map *map)
{
	uint64_t from = 0, hit;
	if (!has(kernel, VMOP_LAYOUT_TASK_COMM) || !has(kernel, VMOP_LAYOUT_TASK_PARENT) ||
	    !vmop_layout_has_processes(kernel->layout))
		return;
	for (int i = 0;
	     i < MAX_HITS && vmop_guest_image_find(&kernel->space, map, "swapper", 7, &from, &hit);
	     i++) {
		uint64_t task = hit - vmop_layout_value(kernel->layout, VMOP_LAYOUT_TASK_COMM);
		if (is_init_task(kernel, task)) {
			vmop_guest_kernel_save_symbol(kernel, "init_task", task);
			return;
		}
	}
}

/* --- by the functions that use them ----------------------------------------------------- */

static size_t references_of(struct vmop_guest_kernel *kernel, const char *function,
			    uint64_t ret[MAX_REFERENCES])
{
	uint8_t code[VMOP_ARM64_CODE_MAX_BYTES];
	uint64_t address;
	uint32_t index;
	if (!vmop_guest_kallsyms_find(kernel->kallsyms, function, &address) ||
	    !vmop_guest_kallsyms_at(kernel->kallsyms, address, &index))
		return 0;
	uint64_t len = vmop_guest_kallsyms_len_bytes(kernel->kallsyms, index);
	if (len > sizeof(code))
		len = sizeof(code);
	if (!vmop_guest_space_read(&kernel->space, address, code, len)) {
		vmop_guest_space_take_fault(&kernel->space);
		return 0;
	}
	return vmop_arm64_code_references(code, len, address, ret, MAX_REFERENCES);
}

static bool is_any_list(struct vmop_guest_kernel *kernel, uint64_t head)
{
	return is_list(&kernel->space, head);
}

/*
 * Return whether head is the list of modules, possibly empty: each struct module has a pointer to
 * itself in its sysfs object.
 */
static bool is_module_list(struct vmop_guest_kernel *kernel, uint64_t head)
{
	struct vmop_guest_space *space = &kernel->space;
	if (!has(kernel, VMOP_LAYOUT_MODULE_LIST) || !has(kernel, VMOP_LAYOUT_MODULE_SELF) ||
	    !is_list(space, head))
		return false;
	uint64_t first = vmop_guest_space_u64(space, head);
	uint64_t module = first - vmop_layout_value(kernel->layout, VMOP_LAYOUT_MODULE_LIST);
	bool matches = first == head ||
		       vmop_guest_space_u64(
			       space, member(kernel, module, VMOP_LAYOUT_MODULE_SELF)) == module;
	return !vmop_guest_space_take_fault(space) && matches;
}

static bool is_kprobe_cache(struct vmop_guest_kernel *kernel, uint64_t cache)
{
	return has(kernel, VMOP_LAYOUT_KPROBE_CACHE_PAGES) &&
	       is_list(&kernel->space, member(kernel, cache, VMOP_LAYOUT_KPROBE_CACHE_PAGES));
}

/* struct memblock (include/linux/memblock.h) has the pointer to the regions of RAM at offset 40. */
static bool is_memblock(struct vmop_guest_kernel *kernel, uint64_t memblock)
{
	struct vmop_guest_space *space = &kernel->space;
	uint64_t count = vmop_guest_space_u64(space, memblock + 16),
		 max = vmop_guest_space_u64(space, memblock + 24);
	uint64_t total = vmop_guest_space_u64(space, memblock + 32);
	uint64_t first = vmop_guest_space_u64(space, memblock + 40), sum = 0;
	for (uint64_t i = 0; i < count && i < 512; i++)
		sum += vmop_guest_space_u64(space, first + 24 * i + 8);
	return !vmop_guest_space_take_fault(space) && count && count <= max && max <= 65536 &&
	       sum && sum == total;
}

/* A function may refer to the member at offset 40 instead of the start of struct memblock. */
static bool is_memblock_regions(struct vmop_guest_kernel *kernel, uint64_t address)
{
	return is_memblock(kernel, address - 40);
}

static bool is_notes(struct vmop_guest_kernel *kernel, uint64_t address)
{
	uint8_t notes[NOTE_WINDOW], build_id[VMOP_GUEST_BUILD_ID_MAX];
	bool read = vmop_guest_space_read(&kernel->space, address, notes, sizeof(notes));
	vmop_guest_space_take_fault(&kernel->space);
	return read && vmop_note_build_id(notes, sizeof(notes), build_id) == sizeof(build_id);
}

static const struct {
	const char *variable, *function;
	bool (*is_valid)(struct vmop_guest_kernel *kernel, uint64_t address);
	uint64_t back_bytes; /* from the start of the variable to the reference */
} known_uses[] = {
	{"modules", "find_module_all", is_module_list, 0},
	{"modules", "print_modules", is_module_list, 0},
	{"modules", "module_get_kallsym", is_module_list, 0},
	{"bpf_kallsyms", "bpf_get_kallsym", is_any_list, 0},
	{"ftrace_mod_maps", "ftrace_mod_get_kallsym", is_any_list, 0},
	{"kprobe_insn_slots", "kprobe_get_kallsym", is_kprobe_cache, 0},
	{"memblock", "memblock_start_of_DRAM", is_memblock, 0},
	{"memblock", "memblock_start_of_DRAM", is_memblock_regions, 40},
	{"__start_notes", "notes_read", is_notes, 0},
};

static void find_by_uses(struct vmop_guest_kernel *kernel)
{
	uint64_t references[MAX_REFERENCES];
	for (size_t i = 0; i < sizeof(known_uses) / sizeof(known_uses[0]); i++) {
		if (vmop_guest_kernel_symbol(kernel, known_uses[i].variable))
			continue;
		size_t count = references_of(kernel, known_uses[i].function, references);
		for (size_t j = 0; j < count; j++) {
			if (!known_uses[i].is_valid(kernel, references[j]))
				continue;
			vmop_guest_kernel_save_symbol(kernel, known_uses[i].variable,
						      references[j] - known_uses[i].back_bytes);
			break;
		}
	}
	uint64_t notes = vmop_guest_kernel_symbol(kernel, "__start_notes");
	if (notes && !vmop_guest_kernel_symbol(kernel, "__stop_notes"))
		vmop_guest_kernel_save_symbol(kernel, "__stop_notes", notes + NOTE_WINDOW);
}

/* --- per-CPU variables ------------------------------------------------------------------- */

static uint64_t run_queue(struct vmop_guest_kernel *kernel, uint64_t run_queues, uint64_t offsets,
			  uint32_t cpu)
{
	return run_queues + vmop_guest_space_u64(&kernel->space, offsets + 8 * (uint64_t)cpu);
}

/*
 * Return whether queue is the run queue of cpu: its number, and an idle task, which on CPU 0 is
 * init_task.
 */
static bool is_run_queue(struct vmop_guest_kernel *kernel, uint64_t queue, uint32_t cpu)
{
	struct vmop_guest_space *space = &kernel->space;
	uint64_t init_task = vmop_guest_kernel_symbol(kernel, "init_task");
	uint64_t idle = vmop_guest_space_u64(space, member(kernel, queue, VMOP_LAYOUT_RQ_IDLE));
	bool matches =
		vmop_guest_space_u32(space, member(kernel, queue, VMOP_LAYOUT_RQ_CPU)) == cpu &&
		(cpu ? vmop_guest_space_is_kernel(space, idle) &&
				 vmop_guest_space_u32(
					 space, member(kernel, idle, VMOP_LAYOUT_TASK_PID)) == 0
		     : idle == init_task);
	return !vmop_guest_space_take_fault(space) && matches;
}

static bool use_run_queues(struct vmop_guest_kernel *kernel, uint64_t run_queues, uint64_t offsets)
{
	if (!is_run_queue(kernel, run_queue(kernel, run_queues, offsets, 0), 0))
		return false;
	vmop_guest_kernel_save_symbol(kernel, "runqueues", run_queues);
	vmop_guest_kernel_save_symbol(kernel, "__per_cpu_offset", offsets);
	uint32_t cpus = 1;
	while (cpus < MAX_CPUS &&
	       is_run_queue(kernel, run_queue(kernel, run_queues, offsets, cpus), cpus))
		cpus++;
	kernel->info.cpus = cpus;
	return true;
}

/* kernel/sched: &cpu_rq(cpu)->idle, that is runqueues + __per_cpu_offset[cpu] */
static void find_run_queues(struct vmop_guest_kernel *kernel)
{
	static const char *const functions[] = {"idle_task", "idle_cpu", "task_curr"};
	uint64_t references[MAX_REFERENCES];
	if (!has(kernel, VMOP_LAYOUT_RQ_IDLE) || !has(kernel, VMOP_LAYOUT_RQ_CPU) ||
	    !vmop_guest_kernel_symbol(kernel, "init_task"))
		return;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		size_t count = references_of(kernel, functions[i], references);
		for (size_t j = 0; j < count * count; j++)
			if (use_run_queues(kernel, references[j / count], references[j % count]))
				return;
	}
}

uint64_t vmop_guest_variables_clock(struct vmop_guest_kernel *kernel)
{
	uint64_t run_queues = vmop_guest_kernel_symbol(kernel, "runqueues"), sum = 0;
	uint64_t offsets = vmop_guest_kernel_symbol(kernel, "__per_cpu_offset");
	if (!run_queues || !offsets || !has(kernel, VMOP_LAYOUT_RQ_CLOCK))
		return 0;
	for (uint32_t cpu = 0; cpu < kernel->info.cpus && cpu < MAX_CPUS; cpu++) {
		uint64_t queue = run_queue(kernel, run_queues, offsets, cpu);
		sum += vmop_guest_space_u64(&kernel->space,
					    member(kernel, queue, VMOP_LAYOUT_RQ_CLOCK));
	}
	return sum;
}

void vmop_guest_variables_find(struct vmop_guest_kernel *kernel,
			       const struct vmop_guest_image_map *map)
{
	find_banner(kernel, map);
	find_btf(kernel, map);
	find_by_uses(kernel);
	if (!kernel->layout)
		return;
	find_init_task(kernel, map);
	find_run_queues(kernel);
}
