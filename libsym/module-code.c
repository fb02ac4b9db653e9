// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/module-code.h"

#include <stdlib.h>
#include <string.h>

#include "libsym/dwarf/module-place.h"
#include "libutil/cleanup.h"

enum { STEPS_PER_RELOCATION = 16 };

/* The string tables of symbols. Each list of relocations names one; a file has one in common. */
enum { STRINGS_MAX = 4 };

struct strings {
	size_t section;
	struct vmop_elf_data data;
};

struct vmop_module_code {
	const struct vmop_elf_file *elf;
	struct vmop_code_field *fields; /* n, by offset; charged to the budget */
	size_t n, capacity;
	struct strings strings[STRINGS_MAX];
	size_t n_strings;
};

/* Return the string table of a section; NULL without an error: the section has no such table. */
static struct vmop_error *find_strings(struct vmop_module_code *code, size_t section,
				       const struct vmop_elf_data **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < code->n_strings; i++)
		if (code->strings[i].section == section)
			*ret = &code->strings[i].data;
	if (*ret || code->n_strings == STRINGS_MAX || section >= code->elf->n_sections)
		return NULL;
	struct strings *strings = &code->strings[code->n_strings];
	struct vmop_error *err =
		vmop_elf_data_read(code->elf, &code->elf->sections[section], &strings->data);
	if (err)
		return err;
	strings->section = section;
	code->n_strings++;
	*ret = &strings->data;
	return NULL;
}

/* Set the length of a field, and how its value is computed. False: it is not open. */
static bool set_kind(const struct vmop_elf_file *elf, uint64_t type, struct vmop_code_field *field)
{
	bool is_arm64 = elf->header.e_machine == EM_AARCH64;
	field->len_bytes = 4;
	if (is_arm64) {
		field->is_distance = type == R_AARCH64_CALL26 || type == R_AARCH64_JUMP26;
		field->len_bytes = type == R_AARCH64_ABS64 ? 8 : 4;
		return type != R_AARCH64_NONE;
	}
	field->is_distance = type == R_X86_64_PC32 || type == R_X86_64_PLT32;
	field->is_from_end = field->is_distance;
	field->len_bytes = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
	return type != R_X86_64_NONE;
}

/* Name what the field refers to: a place in the module's code, or a symbol, or a section. */
static void set_target(const struct vmop_elf_file *elf, const struct vmop_elf_data *names,
		       const GElf_Sym *symbol, struct vmop_code_field *field)
{
	const GElf_Shdr *section =
		symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < elf->n_sections
			? &elf->sections[symbol->st_shndx]
			: NULL;
	field->name = "";
	if (section && section->sh_addr) {
		field->is_inside = true;
		field->target = section->sh_addr - VMOP_MODULE_START + symbol->st_value;
	} else if (GELF_ST_TYPE(symbol->st_info) == STT_SECTION && section) {
		field->name = vmop_elf_section_name(elf, section);
	} else if (names && names->bytes && symbol->st_name < names->len_bytes) {
		field->name = names->bytes + symbol->st_name;
	}
}

static struct vmop_error *add(struct vmop_module_code *code, const struct vmop_code_field *field)
{
	struct vmop_sym_budget *budget = code->elf->budget;
	if (code->n == code->capacity) {
		size_t capacity = code->capacity ? 2 * code->capacity : 256;
		uint64_t more_bytes = (capacity - code->capacity) * sizeof(*field);
		if (!vmop_sym_budget_take_memory(budget, more_bytes))
			return vmop_sym_budget_error(budget, code->elf->path);
		struct vmop_code_field *grown =
			reallocarray(code->fields, capacity, sizeof(*field));
		if (!grown) {
			vmop_sym_budget_give_memory(budget, more_bytes);
			return &vmop_error_no_memory;
		}
		code->fields = grown;
		code->capacity = capacity;
	}
	code->fields[code->n++] = *field;
	return NULL;
}

/* The relocations of one section with code. */
struct list {
	const GElf_Shdr *section;
	struct vmop_elf_table relocations, symbols;
	const struct vmop_elf_data *names;
};

static struct vmop_error *add_relocation(struct vmop_module_code *code, struct list *list,
					 const GElf_Rela *relocation)
{
	struct vmop_code_field field = {.addend = relocation->r_addend};
	uint64_t index = GELF_R_SYM(relocation->r_info);
	GElf_Sym symbol;
	if (!set_kind(code->elf, GELF_R_TYPE(relocation->r_info), &field) ||
	    relocation->r_offset >= list->section->sh_size ||
	    list->section->sh_size - relocation->r_offset < field.len_bytes ||
	    index >= list->symbols.n || !vmop_elf_table_symbol(&list->symbols, index, &symbol))
		return NULL;
	field.offset = list->section->sh_addr - VMOP_MODULE_START + relocation->r_offset;
	set_target(code->elf, list->names, &symbol, &field);
	return add(code, &field);
}

static struct vmop_error *add_list(struct vmop_module_code *code, const GElf_Shdr *header,
				   const GElf_Shdr *section)
{
	const struct vmop_elf_file *elf = code->elf;
	struct list list = {.section = section};
	struct vmop_elf_data loaded = {0};
	GElf_Rela relocation;
	if (header->sh_link >= elf->n_sections)
		return NULL;
	const GElf_Shdr *symbols = &elf->sections[header->sh_link];
	vmop_elf_table_init(&list.relocations, elf, header, ELF_T_RELA);
	vmop_elf_table_init(&list.symbols, elf, symbols, ELF_T_SYM);
	struct vmop_error *err = vmop_elf_table_load(&list.symbols, &loaded);
	if (!err)
		err = find_strings(code, symbols->sh_link, &list.names);
	for (size_t i = 0; i < list.relocations.n && !err; i++) {
		if (!vmop_sym_budget_take_steps(elf->budget, STEPS_PER_RELOCATION))
			err = vmop_sym_budget_error(elf->budget, elf->path);
		else if (!vmop_elf_table_relocation(&list.relocations, i, &relocation))
			break;
		else
			err = add_relocation(code, &list, &relocation);
	}
	vmop_elf_data_deinit(&loaded);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct vmop_code_field *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct vmop_error *add_all(struct vmop_module_code *code)
{
	const struct vmop_elf_file *elf = code->elf;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < elf->n_sections && !err; i++) {
		const GElf_Shdr *header = &elf->sections[i];
		if (header->sh_type == SHT_RELA && header->sh_info < elf->n_sections &&
		    elf->sections[header->sh_info].sh_addr)
			err = add_list(code, header, &elf->sections[header->sh_info]);
	}
	if (!err && code->n)
		qsort(code->fields, code->n, sizeof(*code->fields), compare);
	return err;
}

struct vmop_error *vmop_module_code_create(const struct vmop_elf_file *elf,
					   struct vmop_module_code **ret)
{
	struct vmop_module_code *code = calloc(1, sizeof(*code));
	if (!code)
		return &vmop_error_no_memory;
	code->elf = elf;
	struct vmop_error *err = add_all(code);
	if (err) {
		vmop_module_code_destroy(code);
		return err;
	}
	*ret = code;
	return NULL;
}

void vmop_module_code_destroy(struct vmop_module_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->n_strings; i++)
		vmop_elf_data_deinit(&code->strings[i].data);
	vmop_sym_budget_give_memory(code->elf->budget, code->capacity * sizeof(*code->fields));
	free(code->fields);
	free(code);
}

bool vmop_module_code_field(const struct vmop_module_code *code, uint64_t offset, uint64_t end,
			    struct vmop_code_field *ret)
{
	size_t low = 0, high = code->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code->fields[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->n || code->fields[low].offset >= end)
		return false;
	*ret = code->fields[low];
	return true;
}
