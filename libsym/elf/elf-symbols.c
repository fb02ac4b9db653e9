// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/elf-symbols.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/*
 * Symbols may share the tails of their names. But if all symbols of a table shared one long name, a
 * small file would take comparisons of gigabytes.
 */
#define MAX_SHARING 4

/* The names of a PLT take less than this part of all: room for them saves a copy of the table. */
#define ADDED_PART 8

struct table {
	const struct vmop_elf_file *elf, *layout;
	struct vmop_elf_table symbols, wide_indices; /* n is 0 without such a table */
	struct vmop_elf_data names_data;
	const char *names;
	size_t names_len_bytes; /* up to the last NUL, inclusive */
};

/* Read the string table up to its last NUL, so that every name in it ends. */
static struct vmop_error *read_names(struct table *table, uint32_t index,
				     struct vmop_symtab_builder *builder)
{
	const struct vmop_elf_file *elf = table->elf;
	struct vmop_elf_data *data = &table->names_data;
	const GElf_Shdr *section = index < elf->n_sections ? &elf->sections[index] : NULL;
	size_t room_bytes = section ? section->sh_size / ADDED_PART : 0;
	struct vmop_error *err = vmop_elf_data_read_roomy(elf, section, room_bytes, data);
	const char *last = data->bytes ? memrchr(data->bytes, '\0', data->len_bytes) : NULL;
	table->names = data->bytes;
	table->names_len_bytes = last ? (size_t)(last - data->bytes) + 1 : 0;
	if (err || builder->n || !data->bytes)
		return err;
	/* The names are the largest part of a large file: adopt them instead of copying. */
	const struct vmop_names_place place = {
		.at = section->sh_offset,
		.len_bytes = elf->fd >= 0 ? data->len_bytes : 0,
	};
	vmop_symtab_builder_adopt_names(builder, vmop_steal(&data->bytes), data->len_bytes,
					data->len_bytes + data->room_bytes, &place);
	data->len_bytes = data->room_bytes = 0;
	return NULL;
}

/*
 * Find the table of section indices above 65279 (gabi, "SHT_SYMTAB_SHNDX") that belongs to
 * `symbols`.
 */
static void find_wide_indices(struct table *table, const GElf_Shdr *symbols)
{
	const struct vmop_elf_file *elf = table->elf;
	const GElf_Shdr *found = NULL;
	for (size_t i = 1; i < elf->n_sections && !found; i++) {
		if (elf->sections[i].sh_type == SHT_SYMTAB_SHNDX &&
		    elf->sections[i].sh_link == (size_t)(symbols - elf->sections))
			found = &elf->sections[i];
	}
	vmop_elf_table_init(&table->wide_indices, elf, found, ELF_T_WORD);
}

static const GElf_Shdr *section_of(const struct table *table, const GElf_Sym *symbol,
				   Elf32_Word wide_index)
{
	size_t index = symbol->st_shndx == SHN_XINDEX ? wide_index : symbol->st_shndx;
	if (symbol->st_shndx != SHN_XINDEX && index >= SHN_LORESERVE)
		return NULL;
	return index < table->elf->n_sections ? &table->elf->sections[index] : NULL;
}

static bool is_code(const GElf_Shdr *section)
{
	return section && (section->sh_flags & SHF_EXECINSTR);
}

static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] != '\0';
}

/* Return whether the symbol can contain an instruction. *ret_label: if so, it is no function. */
static bool is_wanted(const GElf_Sym *symbol, const GElf_Shdr *section, const char *name,
		      bool *ret_label)
{
	*ret_label = false;
	if (symbol->st_shndx == SHN_UNDEF)
		return false;
	/* The name is read last: it is rarely in the processor's caches. */
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return name[0];
	case STT_NOTYPE:
		*ret_label = symbol->st_size == 0;
		return is_code(section) && name[0] && !is_mapping_symbol(name) &&
		       strncmp(name, ".L", 2) != 0;
	default:
		return false;
	}
}

static char type_letter(const GElf_Sym *symbol)
{
	if (GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return 'i';
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return 't';
	case STB_WEAK:
		return 'W';
	default:
		return 'T';
	}
}

/* Find the symbol's offset, and the end of its section or segment. */
static bool place(const struct table *table, const GElf_Sym *symbol, const GElf_Shdr *section,
		  uint64_t *ret_offset, uint64_t *ret_left_bytes)
{
	uint64_t value = symbol->st_value, in_section = UINT64_MAX;
	bool relocatable = table->elf->header.e_type == ET_REL;

	if (section) {
		uint64_t into = relocatable ? value : value - section->sh_addr;
		if (into < section->sh_size)
			in_section = section->sh_size - into;
		/*
		 * A symbol at the section's end is outside of it. A function outside of its section
		 * occurs when objcopy(1) removes a section that .dynsym refers to.
		 */
		else if (relocatable || GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
			return false;
	}
	if (!table->layout) {
		*ret_offset = value;
		*ret_left_bytes = in_section < UINT64_MAX - value ? in_section : UINT64_MAX - value;
		return true;
	}
	if (relocatable) {
		if (!section || section->sh_type == SHT_NOBITS ||
		    section->sh_offset > UINT64_MAX - section->sh_size)
			return false;
		*ret_offset = section->sh_offset + value;
		*ret_left_bytes = in_section;
		return true;
	}
	if (!vmop_elf_offset_of_address(table->layout, value, ret_offset, ret_left_bytes))
		return false;
	if (*ret_left_bytes > in_section)
		*ret_left_bytes = in_section;
	return true;
}

size_t vmop_elf_name_len(const char *name, size_t with_version_bytes)
{
	const char *version =
		with_version_bytes ? memchr(name + 1, '@', with_version_bytes - 1) : NULL;
	return version ? (size_t)(version - name) : with_version_bytes;
}

static struct vmop_error *add_one(const struct table *table, const GElf_Sym *symbol,
				  Elf32_Word wide_index, struct vmop_symtab_builder *builder)
{
	if (symbol->st_name >= table->names_len_bytes)
		return NULL;
	const char *name = table->names + symbol->st_name;
	const GElf_Shdr *section = section_of(table, symbol, wide_index);
	uint64_t offset, left_bytes;
	bool label;
	if (!is_wanted(symbol, section, name, &label) ||
	    !place(table, symbol, section, &offset, &left_bytes))
		return NULL;

	size_t name_len_bytes = strnlen(name, VMOP_ELF_MAX_NAME_BYTES);
	if (name_len_bytes == VMOP_ELF_MAX_NAME_BYTES)
		return NULL;
	if (!vmop_sym_budget_take_steps(table->elf->budget, name_len_bytes / 64))
		return vmop_sym_budget_error(table->elf->budget, table->elf->path);
	const struct vmop_symbol found = {
		.offset = offset,
		.len_bytes = symbol->st_size,
		.name = name,
		.type = type_letter(symbol),
	};
	return vmop_symtab_builder_add(builder, &found, vmop_elf_name_len(name, name_len_bytes),
				       left_bytes, label);
}

/* Return the wide index of the symbol at index, or 0. */
static Elf32_Word wide_index_of(struct table *table, const GElf_Sym *symbol, size_t index)
{
	Elf32_Word wide_index = 0;
	if (symbol->st_shndx == SHN_XINDEX && index < table->wide_indices.n)
		vmop_elf_table_word(&table->wide_indices, index, &wide_index);
	return wide_index;
}

/* Fetch the name of a symbol that is read soon. */
static void fetch_name(const struct table *table, size_t index)
{
	const size_t ahead = 12;
	const void *at = vmop_elf_table_peek(&table->symbols, index + ahead);
	Elf32_Word name;
	if (!at)
		return;
	memcpy(&name, at, sizeof(name));
	if (name < table->names_len_bytes)
		__builtin_prefetch(table->names + name);
}

static struct vmop_error *add_all(struct table *table, struct vmop_symtab_builder *builder)
{
	const struct vmop_elf_file *elf = table->elf;
	size_t names_before = builder->names_used_bytes, n = table->symbols.n;
	size_t to_copy_bytes = table->names_data.bytes ? table->names_len_bytes : 0;
	struct vmop_error *err = vmop_symtab_builder_reserve(builder, n, to_copy_bytes);

	/* Skip the undefined symbol that begins all tables. */
	for (size_t i = 1; i < n && !err; i++) {
		GElf_Sym symbol;
		if (!vmop_sym_budget_take_steps(elf->budget, 1))
			break;
		if (!vmop_elf_table_symbol(&table->symbols, i, &symbol))
			break;
		fetch_name(table, i);
		err = add_one(table, &symbol, wide_index_of(table, &symbol, i), builder);
		if (!err && (builder->names_used_bytes - names_before) / MAX_SHARING >
				    table->names_len_bytes)
			err = vmop_error_new(
				VMOP_ERROR_CORRUPT,
				"%s: too many of its symbols share parts of their names",
				elf->path);
	}
	return !err && elf->budget->spent ? vmop_sym_budget_error(elf->budget, elf->path) : err;
}

struct vmop_error *vmop_elf_symbols_add(const struct vmop_elf_file *elf, uint32_t table_type,
					const struct vmop_elf_file *layout,
					struct vmop_symtab_builder *builder)
{
	const GElf_Shdr *section = vmop_elf_find_section(elf, table_type, NULL);
	if (!section)
		return NULL;
	_cleanup_free_ struct table *table =
		malloc(sizeof(*table)); /* on the heap: its windows are large */
	if (!table)
		return &vmop_error_no_memory;
	table->elf = elf;
	table->layout = layout;
	vmop_elf_table_init(&table->symbols, elf, section, ELF_T_SYM);
	if (table->symbols.n == 0)
		return NULL;
	find_wide_indices(table, section);
	struct vmop_error *err = read_names(table, section->sh_link, builder);
	if (!err)
		err = add_all(table, builder);
	vmop_elf_data_deinit(&table->names_data);
	return err;
}
