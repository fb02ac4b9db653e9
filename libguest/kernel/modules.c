// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/modules.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libguest/memory/note.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MAX_MODULES 4096u
#define MAX_BPF 16384u
#define MAX_PAGES 4096u
#define BPF_NAME_BYTES 16 /* include/uapi/linux/bpf.h: BPF_OBJ_NAME_LEN */
#define MAX_MODULE_SYMBOLS (1u << 18)
#define MAX_EXPORTS 16384u
#define MAX_NAME 512u /* KSYM_NAME_LEN */
#define MODULE_NAME 56u
#define STATE_UNFORMED 3u /* include/linux/module.h: enum module_state */
#define TRIES 3

/* The state of one reading. */
struct reader {
	struct vmop_guest_kernel *kernel;
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	struct vmop_guest_module_set *out; /* NULL: compute only the signature */
	uint64_t signature;
	bool no_memory, torn;
	bool in_module; /* new symbols belong to the last module */
};

static uint64_t at(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(reader->layout, field);
}

static bool has(const struct reader *reader, enum vmop_layout_field field)
{
	return vmop_layout_has(reader->layout, field);
}

static void sign(struct reader *reader, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < len; i++) /* FNV-1a */
		reader->signature = (reader->signature ^ bytes[i]) * UINT64_C(1099511628211);
}

static void sign_u64(struct reader *reader, uint64_t value)
{
	sign(reader, &value, sizeof(value));
}

/* --- the lists in memory ----------------------------------------------------- */

static uint32_t put_name(struct reader *reader, const char *name)
{
	uint32_t handle = 0;
	if (!vmop_guest_module_set_add_name(reader->out, name, &handle))
		reader->no_memory = true;
	return handle;
}

static struct vmop_guest_module *put_module(struct reader *reader, uint32_t name,
					    enum vmop_guest_kernel_text_kind kind, uint64_t start,
					    uint64_t len)
{
	struct vmop_guest_module *module =
		vmop_guest_module_set_add(reader->out, name, kind, start, len);
	reader->no_memory |= !module;
	reader->in_module |= module != NULL;
	return module;
}

static void put_symbol(struct reader *reader, uint64_t address, uint64_t len, char type,
		       uint32_t name, uint32_t module)
{
	const struct vmop_guest_module_symbol symbol = {
		.address = address, .len_bytes = len, .type = type, .name = name, .module = module};
	if (!vmop_guest_module_set_add_symbol(reader->out, &symbol, reader->in_module))
		reader->no_memory = true;
}

/*
 * Return the next node of a list_head list, or 0 at its end: back at the head, torn, or longer than
 * a real list. *left is the number of nodes still allowed.
 */
static uint64_t next_node(struct reader *reader, uint64_t head, uint64_t node, uint32_t *left)
{
	if (!(*left)-- || !vmop_guest_budget_step(reader->space->budget)) {
		reader->torn = true;
		return 0;
	}
	uint64_t next = vmop_guest_space_u64(reader->space, node);
	if (reader->space->fault || !vmop_guest_space_is_kernel(reader->space, next)) {
		reader->torn = true;
		return 0;
	}
	return next == head ? 0 : next;
}

/* --- modules -------------------------------------------------------------------- */

/* The symbols that a module exports. They have type 'T' instead of 't', as in /proc/kallsyms. */
struct exports {
	uint32_t count;
	uint64_t *value, *name;
};

static void exports_cleanup(struct exports *exports)
{
	free(exports->value);
	free(exports->name);
}

/*
 * Read struct kernel_symbol with CONFIG_HAVE_ARCH_PREL32_RELOCATIONS: offsets from their own
 * address.
 */
static void read_exports(struct reader *reader, uint64_t module, struct exports *ret)
{
	*ret = (struct exports){0};
	if (!has(reader, VMOP_LAYOUT_MODULE_SYMS) ||
	    !has(reader, VMOP_LAYOUT_KERNEL_SYMBOL_VALUE) ||
	    !has(reader, VMOP_LAYOUT_KERNEL_SYMBOL_NAME))
		return;
	uint64_t syms =
		vmop_guest_space_u64(reader->space, at(reader, module, VMOP_LAYOUT_MODULE_SYMS));
	uint32_t count = vmop_guest_space_u32(reader->space,
					      at(reader, module, VMOP_LAYOUT_MODULE_NUM_SYMS));
	if (!count || count > MAX_EXPORTS)
		return;
	ret->value = malloc(count * sizeof(*ret->value));
	ret->name = malloc(count * sizeof(*ret->name));
	if (!ret->value || !ret->name) {
		reader->no_memory = true;
		return;
	}
	ret->count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t entry =
			syms + (uint64_t)i * vmop_layout_value(reader->layout,
							       VMOP_LAYOUT_KERNEL_SYMBOL_BYTES);
		uint64_t value = at(reader, entry, VMOP_LAYOUT_KERNEL_SYMBOL_VALUE);
		uint64_t name = at(reader, entry, VMOP_LAYOUT_KERNEL_SYMBOL_NAME);
		ret->value[i] = value + (uint64_t)(int64_t)(int32_t)vmop_guest_space_u32(
						reader->space, value);
		ret->name[i] = name + (uint64_t)(int64_t)(int32_t)vmop_guest_space_u32(
					      reader->space, name);
	}
}

static bool is_exported(struct reader *reader, const struct exports *exports, uint64_t value,
			const char *name)
{
	char exported[MAX_NAME];
	for (uint32_t i = 0; i < exports->count; i++) {
		if (exports->value[i] != value)
			continue;
		vmop_guest_space_string(reader->space, exports->name[i], exported,
					sizeof(exported));
		if (strcmp(exported, name) == 0)
			return true;
	}
	return false;
}

static void read_symbols(struct reader *reader, uint64_t module, uint32_t module_name)
{
	struct vmop_guest_space *space = reader->space;
	uint64_t kallsyms =
		vmop_guest_space_u64(space, at(reader, module, VMOP_LAYOUT_MODULE_KALLSYMS));
	if (space->fault || !kallsyms)
		return;
	uint64_t symtab = vmop_guest_space_u64(space, at(reader, kallsyms, VMOP_LAYOUT_MOD_SYMTAB));
	uint32_t count =
		vmop_guest_space_u32(space, at(reader, kallsyms, VMOP_LAYOUT_MOD_NUM_SYMTAB));
	uint64_t strtab = vmop_guest_space_u64(space, at(reader, kallsyms, VMOP_LAYOUT_MOD_STRTAB));
	uint64_t typetab =
		has(reader, VMOP_LAYOUT_MOD_TYPETAB)
			? vmop_guest_space_u64(space, at(reader, kallsyms, VMOP_LAYOUT_MOD_TYPETAB))
			: 0;
	if (space->fault || count > MAX_MODULE_SYMBOLS) {
		reader->torn = true;
		return;
	}
	_cleanup_(exports_cleanup) struct exports exports;
	read_exports(reader, module, &exports);
	for (uint32_t i = 0; i < count && !space->fault && !reader->no_memory &&
			     vmop_guest_budget_step(space->budget);
	     i++) {
		Elf64_Sym sym;
		char name[MAX_NAME];
		if (!vmop_guest_space_read(space, symtab + sizeof(sym) * (uint64_t)i, &sym,
					   sizeof(sym)))
			break;
		vmop_guest_space_string(space, strtab + sym.st_name, name, sizeof(name));
		char type =
			typetab ? (char)vmop_guest_space_u8(space, typetab + i) : (char)sym.st_info;
		if (!name[0] || space->fault)
			continue;
		if (!isalpha((unsigned char)type))
			type = '?';
		type = is_exported(reader, &exports, sym.st_value, name)
			       ? (char)toupper((unsigned char)type)
			       : (char)tolower((unsigned char)type);
		put_symbol(reader, sym.st_value, sym.st_size, type, put_name(reader, name),
			   module_name);
	}
}

/* Limits on the notes of a module, which are bin_attributes, and on the bytes of one. */
#define MAX_NOTES 16
#define MAX_NOTE_BYTES 1024

/* Return the address of the i-th note of a module, or 0 after the last. */
static uint64_t note_of(struct reader *reader, uint64_t notes, uint32_t i)
{
	struct vmop_guest_space *space = reader->space;
	if (has(reader, VMOP_LAYOUT_NOTES_LIST)) { /* from 6.14: pointers up to a NULL */
		uint64_t list =
			vmop_guest_space_u64(space, at(reader, notes, VMOP_LAYOUT_NOTES_LIST));
		return list ? vmop_guest_space_u64(space, list + 8 * (uint64_t)i) : 0;
	}
	if (!has(reader, VMOP_LAYOUT_NOTES_COUNT) ||
	    i >= vmop_guest_space_u32(space, at(reader, notes, VMOP_LAYOUT_NOTES_COUNT)))
		return 0;
	uint32_t bytes = vmop_layout_value(reader->layout, VMOP_LAYOUT_BIN_ATTR_BYTES);
	return at(reader, notes, VMOP_LAYOUT_NOTES_ATTRS) + (uint64_t)i * bytes;
}

static void read_build_id_of_notes(struct reader *reader, uint64_t module,
				   struct vmop_guest_module *ret)
{
	struct vmop_guest_space *space = reader->space;
	uint64_t notes = vmop_guest_space_u64(space, at(reader, module, VMOP_LAYOUT_MODULE_NOTES));
	for (uint32_t i = 0; notes && i < MAX_NOTES && !ret->build_id_len_bytes; i++) {
		uint64_t note = note_of(reader, notes, i);
		if (!note)
			return;
		uint8_t content[MAX_NOTE_BYTES];
		uint64_t size =
			vmop_guest_space_u64(space, at(reader, note, VMOP_LAYOUT_BIN_ATTR_SIZE));
		uint64_t from =
			vmop_guest_space_u64(space, at(reader, note, VMOP_LAYOUT_BIN_ATTR_PRIVATE));
		if (size > sizeof(content))
			continue;
		vmop_guest_space_read(space, from, content, size);
		ret->build_id_len_bytes = vmop_note_build_id(content, size, ret->build_id);
	}
}

static void read_module_build_id(struct reader *reader, uint64_t module,
				 struct vmop_guest_module *ret)
{
	static const uint8_t none[VMOP_GUEST_BUILD_ID_MAX];
	if (has(reader, VMOP_LAYOUT_MODULE_BUILD_ID)) {
		vmop_guest_space_read(reader->space,
				      at(reader, module, VMOP_LAYOUT_MODULE_BUILD_ID),
				      ret->build_id, sizeof(ret->build_id));
		if (memcmp(ret->build_id, none, sizeof(none)) != 0)
			ret->build_id_len_bytes = sizeof(ret->build_id);
	} else if (has(reader, VMOP_LAYOUT_MODULE_NOTES)) {
		read_build_id_of_notes(reader, module, ret);
	}
	/* sysfs can be off, or the module's notes gone: the rest is not torn */
	vmop_guest_space_take_fault(reader->space);
}

struct module_place {
	uint64_t text, text_len, core_len;
};

static struct module_place read_place(struct reader *reader, uint64_t module)
{
	struct vmop_guest_space *space = reader->space;
	struct module_place place;
	if (has(reader, VMOP_LAYOUT_MODULE_MEM)) { /* from 6.4; MOD_TEXT is the first of mem[] */
		uint64_t memory = at(reader, module, VMOP_LAYOUT_MODULE_MEM);
		place.text = vmop_guest_space_u64(
			space, at(reader, memory, VMOP_LAYOUT_MODULE_MEMORY_BASE));
		place.text_len = vmop_guest_space_u32(
			space, at(reader, memory, VMOP_LAYOUT_MODULE_MEMORY_SIZE));
		place.core_len = place.text_len;
	} else {
		place.text = vmop_guest_space_u64(space,
						  at(reader, module, VMOP_LAYOUT_MODULE_CORE_BASE));
		place.text_len = vmop_guest_space_u32(
			space, at(reader, module, VMOP_LAYOUT_MODULE_CORE_TEXT));
		place.core_len = vmop_guest_space_u32(
			space, at(reader, module, VMOP_LAYOUT_MODULE_CORE_SIZE));
	}
	return place;
}

static void read_module(struct reader *reader, uint64_t module)
{
	struct vmop_guest_space *space = reader->space;
	char name[MODULE_NAME];
	uint32_t state = vmop_guest_space_u32(space, at(reader, module, VMOP_LAYOUT_MODULE_STATE));
	vmop_guest_space_string(space, at(reader, module, VMOP_LAYOUT_MODULE_NAME), name,
				sizeof(name));
	struct module_place place = read_place(reader, module);
	uint64_t kallsyms =
		vmop_guest_space_u64(space, at(reader, module, VMOP_LAYOUT_MODULE_KALLSYMS));
	sign_u64(reader, module);
	sign(reader, name, strlen(name));
	sign(reader, &place, sizeof(place));
	sign_u64(reader, kallsyms);
	sign_u64(reader, state);
	if (!reader->out || state == STATE_UNFORMED || space->fault)
		return;
	uint32_t name_at = put_name(reader, name);
	struct vmop_guest_module *out =
		put_module(reader, name_at, VMOP_GUEST_TEXT_MODULE, place.text, place.text_len);
	if (!out)
		return;
	out->len_bytes = place.core_len;
	out->object = module;
	read_module_build_id(reader, module, out);
	read_symbols(reader, module, name_at);
}

static void read_modules(struct reader *reader)
{
	uint64_t head = vmop_guest_kernel_symbol(reader->kernel, "modules");
	uint32_t left = MAX_MODULES;
	if (!head || !vmop_layout_has_modules(reader->layout))
		return;
	for (uint64_t node = head;
	     (node = next_node(reader, head, node, &left)) && !reader->no_memory;)
		read_module(reader,
			    node - vmop_layout_value(reader->layout, VMOP_LAYOUT_MODULE_LIST));
}

/* --- ftrace, BPF, kprobes ---------------------------------------------------------- */

/* Append one piece of text with one symbol. */
static void put_piece(struct reader *reader, enum vmop_guest_kernel_text_kind kind,
		      const char *name, const char *module, uint64_t start, uint64_t len)
{
	sign_u64(reader, start);
	sign_u64(reader, len);
	sign(reader, name, strlen(name));
	if (!reader->out || reader->space->fault)
		return;
	uint32_t name_at = put_name(reader, name);
	put_module(reader, name_at, kind, start, len);
	put_symbol(reader, start, len, 't', name_at, put_name(reader, module));
}

/*
 * Read the init functions of modules, which are kept while they are traced (kernel/trace/ftrace.c).
 */
static void read_ftrace_functions(struct reader *reader, uint64_t map)
{
	struct vmop_guest_space *space = reader->space;
	uint64_t module =
		vmop_guest_space_u64(space, at(reader, map, VMOP_LAYOUT_FTRACE_MAP_MODULE));
	uint64_t head = at(reader, map, VMOP_LAYOUT_FTRACE_MAP_FUNCS);
	uint32_t left = MAX_MODULE_SYMBOLS;
	char module_name[MODULE_NAME], name[MAX_NAME];
	reader->in_module = false;
	vmop_guest_space_string(space, at(reader, module, VMOP_LAYOUT_MODULE_NAME), module_name,
				sizeof(module_name));
	for (uint64_t node = head;
	     (node = next_node(reader, head, node, &left)) && !reader->no_memory;) {
		uint64_t func =
			node - vmop_layout_value(reader->layout, VMOP_LAYOUT_FTRACE_FUNC_LIST);
		uint64_t ip =
			vmop_guest_space_u64(space, at(reader, func, VMOP_LAYOUT_FTRACE_FUNC_IP));
		uint64_t len =
			vmop_guest_space_u32(space, at(reader, func, VMOP_LAYOUT_FTRACE_FUNC_SIZE));
		sign_u64(reader, ip);
		if (!reader->out)
			continue;
		vmop_guest_space_string(
			space,
			vmop_guest_space_u64(space, at(reader, func, VMOP_LAYOUT_FTRACE_FUNC_NAME)),
			name, sizeof(name));
		put_symbol(reader, ip, len, 'T', put_name(reader, name),
			   put_name(reader, module_name));
	}
}

static void read_ftrace(struct reader *reader)
{
	uint64_t head = vmop_guest_kernel_symbol(reader->kernel, "ftrace_mod_maps");
	uint32_t left = MAX_MODULES;
	if (head && has(reader, VMOP_LAYOUT_FTRACE_MAP_LIST) &&
	    has(reader, VMOP_LAYOUT_FTRACE_MAP_FUNCS) && has(reader, VMOP_LAYOUT_FTRACE_FUNC_LIST))
		for (uint64_t node = head;
		     (node = next_node(reader, head, node, &left)) && !reader->no_memory;)
			read_ftrace_functions(
				reader, node - vmop_layout_value(reader->layout,
								 VMOP_LAYOUT_FTRACE_MAP_LIST));
	head = vmop_guest_kernel_symbol(reader->kernel, "ftrace_ops_trampoline_list");
	left = MAX_PAGES;
	if (!head || !has(reader, VMOP_LAYOUT_FTRACE_OPS_LIST) ||
	    !has(reader, VMOP_LAYOUT_FTRACE_OPS_TRAMPOLINE) ||
	    !has(reader, VMOP_LAYOUT_FTRACE_OPS_SIZE))
		return;
	for (uint64_t node = head;
	     (node = next_node(reader, head, node, &left)) && !reader->no_memory;) {
		uint64_t ops =
			node - vmop_layout_value(reader->layout, VMOP_LAYOUT_FTRACE_OPS_LIST);
		uint64_t start = vmop_guest_space_u64(
			reader->space, at(reader, ops, VMOP_LAYOUT_FTRACE_OPS_TRAMPOLINE));
		uint64_t len = vmop_guest_space_u64(reader->space,
						    at(reader, ops, VMOP_LAYOUT_FTRACE_OPS_SIZE));
		put_piece(reader, VMOP_GUEST_TEXT_TRAMPOLINE, "ftrace_trampoline",
			  "__builtin__ftrace", start, len);
	}
}

/* From 5.7 on struct bpf_ksym (include/linux/bpf.h) has all that /proc/kallsyms prints. */
static void read_bpf_ksym(struct reader *reader, uint64_t ksym)
{
	struct vmop_guest_space *space = reader->space;
	char name[MAX_NAME];
	uint64_t start = vmop_guest_space_u64(space, at(reader, ksym, VMOP_LAYOUT_BPF_KSYM_START));
	uint64_t end = vmop_guest_space_u64(space, at(reader, ksym, VMOP_LAYOUT_BPF_KSYM_END));
	vmop_guest_space_string(space, at(reader, ksym, VMOP_LAYOUT_BPF_KSYM_NAME), name,
				sizeof(name));
	put_piece(reader, VMOP_GUEST_TEXT_BPF, name, "bpf", start, end > start ? end - start : 0);
}

/*
 * Read the name of a program's function from the program's own BTF. Return false when it has none.
 */
static bool read_bpf_function(struct reader *reader, uint64_t aux, char *ret, size_t size)
{
	struct vmop_guest_space *space = reader->space;
	if (!vmop_layout_has_bpf_functions(reader->layout) ||
	    !vmop_guest_space_u32(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_FUNCTION_COUNT)))
		return false;
	uint32_t index = vmop_guest_space_u32(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_FUNCTION));
	uint64_t infos =
		vmop_guest_space_u64(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_FUNCTIONS));
	uint64_t btf = vmop_guest_space_u64(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_BTF));
	/* include/uapi/linux/bpf.h: struct bpf_func_info {u32 insn_off, type_id} */
	uint32_t type_id = vmop_guest_space_u32(space, infos + 8 * (uint64_t)index + 4);
	uint64_t types = vmop_guest_space_u64(space, at(reader, btf, VMOP_LAYOUT_BTF_TYPES));
	uint64_t type = vmop_guest_space_u64(space, types + 8 * (uint64_t)type_id);
	uint64_t strings = vmop_guest_space_u64(space, at(reader, btf, VMOP_LAYOUT_BTF_STRINGS));
	vmop_guest_space_string(space, strings + vmop_guest_space_u32(space, type), ret, size);
	return true;
}

/*
 * Before 5.7 the list holds struct bpf_prog_aux, and the kernel makes names on demand:
 * kernel/bpf/core.c, bpf_get_prog_name() and bpf_get_prog_addr_region().
 */
static void read_bpf_program(struct reader *reader, uint64_t aux)
{
	struct vmop_guest_space *space = reader->space;
	uint64_t page_bytes = vmop_paging_page_bytes(&space->paging);
	uint64_t program = vmop_guest_space_u64(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_PROG));
	uint64_t start =
		vmop_guest_space_u64(space, at(reader, program, VMOP_LAYOUT_BPF_PROG_START));
	uint64_t header = start & ~(page_bytes - 1);
	uint32_t pages =
		vmop_guest_space_u32(space, at(reader, header, VMOP_LAYOUT_BPF_HEADER_PAGES));
	uint8_t tag[8];
	char name[MAX_NAME], own[MAX_NAME / 2] = "";
	vmop_guest_space_read(space, at(reader, program, VMOP_LAYOUT_BPF_PROG_TAG), tag,
			      sizeof(tag));
	if (!read_bpf_function(reader, aux, own, sizeof(own)))
		vmop_guest_space_string(space, at(reader, aux, VMOP_LAYOUT_BPF_AUX_NAME), own,
					BPF_NAME_BYTES);
	size_t len = (size_t)snprintf(name, sizeof(name), "bpf_prog_");
	for (size_t i = 0; i < sizeof(tag); i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "%02x", tag[i]);
	if (own[0])
		snprintf(name + len, sizeof(name) - len, "_%s", own);
	put_piece(reader, VMOP_GUEST_TEXT_BPF, name, "bpf", start,
		  header + pages * page_bytes - start);
}

static void read_bpf(struct reader *reader)
{
	uint64_t head = vmop_guest_kernel_symbol(reader->kernel, "bpf_kallsyms");
	uint32_t left = MAX_BPF;
	bool has_ksyms = vmop_layout_has_bpf_ksyms(reader->layout);
	if (!head || !(has_ksyms || vmop_layout_has_bpf_programs(reader->layout)))
		return;
	enum vmop_layout_field list =
		has_ksyms ? VMOP_LAYOUT_BPF_KSYM_NODE : VMOP_LAYOUT_BPF_AUX_NODE;
	for (uint64_t node = head;
	     (node = next_node(reader, head, node, &left)) && !reader->no_memory;) {
		uint64_t entry = node - vmop_layout_value(reader->layout, list);
		if (has_ksyms)
			read_bpf_ksym(reader, entry);
		else
			read_bpf_program(reader, entry);
	}
}

/* struct kprobe_insn_cache (include/linux/kprobes.h): pages of copied instructions. */
static void read_kprobes(struct reader *reader, const char *cache_name, const char *symbol)
{
	uint64_t cache = vmop_guest_kernel_symbol(reader->kernel, cache_name);
	uint32_t left = MAX_PAGES;
	if (!cache || !has(reader, VMOP_LAYOUT_KPROBE_CACHE_PAGES) ||
	    !has(reader, VMOP_LAYOUT_KPROBE_PAGE_LIST) ||
	    !has(reader, VMOP_LAYOUT_KPROBE_PAGE_INSNS))
		return;
	uint64_t head = at(reader, cache, VMOP_LAYOUT_KPROBE_CACHE_PAGES);
	for (uint64_t node = head;
	     (node = next_node(reader, head, node, &left)) && !reader->no_memory;) {
		uint64_t page =
			node - vmop_layout_value(reader->layout, VMOP_LAYOUT_KPROBE_PAGE_LIST);
		uint64_t start = vmop_guest_space_u64(
			reader->space, at(reader, page, VMOP_LAYOUT_KPROBE_PAGE_INSNS));
		put_piece(reader, VMOP_GUEST_TEXT_TRAMPOLINE, symbol, "__builtin__kprobes", start,
			  vmop_paging_page_bytes(&reader->space->paging));
	}
}

/* --- all together ------------------------------------------------------------------ */

static void set_cleanup(struct vmop_guest_module_set **set)
{
	vmop_guest_module_set_free(*set);
}

/* Read all lists once. Return false when one of them changed meanwhile. */
static bool read_all(struct reader *reader)
{
	reader->signature = UINT64_C(14695981039346656037);
	reader->torn = reader->in_module = false;
	vmop_guest_space_take_fault(reader->space);
	read_modules(reader);
	read_ftrace(reader);
	read_bpf(reader);
	read_kprobes(reader, "kprobe_insn_slots", "kprobe_insn_page");
	read_kprobes(reader, "kprobe_optinsn_slots", "kprobe_optinsn_page");
	return !vmop_guest_space_take_fault(reader->space) && !reader->torn;
}

static struct vmop_error *read_once(struct reader *reader, struct vmop_guest_module_set **ret,
				    bool *ret_whole)
{
	_cleanup_(set_cleanup) struct vmop_guest_module_set *set = NULL;
	struct vmop_error *err = vmop_guest_module_set_new(&set);
	if (err)
		return err;
	reader->out = set;
	*ret_whole = read_all(reader);
	reader->out = NULL;
	if (reader->no_memory)
		return &vmop_error_no_memory;
	vmop_guest_module_set_finish(set, reader->signature);
	if (*ret_whole)
		*ret = vmop_steal(&set);
	return NULL;
}

struct vmop_error *vmop_guest_modules_read(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   struct vmop_guest_module_set *before, uint64_t *retries,
					   struct vmop_guest_module_set **ret)
{
	struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	if (before && read_all(&reader) &&
	    reader.signature == vmop_guest_module_set_signature(before)) {
		*ret = before;
		return NULL;
	}
	for (int try = 0; try < TRIES; try++) {
		bool whole;
		struct vmop_error *err = read_once(&reader, ret, &whole);
		if (err || whole)
			return err;
		++*retries;
		vmop_guest_memory_forget(kernel->space.memory);
		vmop_guest_space_forget(&kernel->space);
	}
	return vmop_error_new(VMOP_ERROR_CORRUPT, "the guest's lists of modules stay inconsistent");
}
