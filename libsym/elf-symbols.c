// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf-symbols.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/* Longer ones are no names; the longest of real C++ are some 10 KiB. */
#define MAX_NAME_BYTES 65536

/*
 * Symbols may share the tails of their names, but a table in which all of
 * them share one long name would make gigabytes out of a small file.
 */
#define MAX_SHARING 4

struct table {
	const struct vmop_elf *elf, *layout;
	GElf_Shdr *sections; /* by index; of those that can't be read sh_type is SHT_NULL */
	size_t n_sections;
	Elf_Data *symbols, *wide_indices; /* NULL: none */
	const char *names;
	size_t names_len_bytes; /* to the last NUL, which is within */
};

static struct vmop_error *read_sections(struct table *table)
{
	if (elf_getshdrnum(table->elf->elf, &table->n_sections) < 0)
		table->n_sections = 0;
	table->sections = calloc(table->n_sections + 1, sizeof(*table->sections));
	if (!table->sections)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < table->n_sections; i++) {
		Elf_Scn *section = elf_getscn(table->elf->elf, i);
		if (!section || !gelf_getshdr(section, &table->sections[i]))
			table->sections[i] = (GElf_Shdr){0};
	}
	return NULL;
}

/* The names end where the last NUL is, so that none of them runs on behind it. */
static void read_names(struct table *table, Elf_Scn *section)
{
	Elf_Data *data = vmop_elf_section_data(table->elf, section);
	if (!data)
		return;
	const char *last = memrchr(data->d_buf, '\0', data->d_size);
	if (!last)
		return;
	table->names = data->d_buf;
	table->names_len_bytes = (size_t)(last - table->names) + 1;
}

/* The indices of sections above 65279 (gabi, "SHT_SYMTAB_SHNDX"). */
static void read_wide_indices(struct table *table, size_t symbols_index)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	while ((section = elf_nextscn(table->elf->elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == symbols_index)
			table->wide_indices = vmop_elf_section_data(table->elf, section);
	}
}

static const GElf_Shdr *section_of(const struct table *table, const GElf_Sym *symbol,
				   Elf32_Word wide_index)
{
	size_t index = symbol->st_shndx == SHN_XINDEX ? wide_index : symbol->st_shndx;
	if (symbol->st_shndx != SHN_XINDEX && index >= SHN_LORESERVE)
		return NULL;
	return index < table->n_sections ? &table->sections[index] : NULL;
}

static bool is_code(const GElf_Shdr *section)
{
	return section && (section->sh_flags & SHF_EXECINSTR);
}

static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] != '\0';
}

/* Whether it is one that can hold an instruction; *ret_label: if it does it is no function. */
static bool is_wanted(const GElf_Sym *symbol, const GElf_Shdr *section, const char *name,
		      bool *ret_label)
{
	*ret_label = false;
	if (symbol->st_shndx == SHN_UNDEF || !name[0])
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		*ret_label = symbol->st_size == 0;
		return is_code(section) && !is_mapping_symbol(name) && strncmp(name, ".L", 2) != 0;
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

/* Where it is, and how far anything there may reach. */
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
		 * One that marks a section's end belongs to nothing. A function outside of its
		 * section is what objcopy(1) makes of .dynsym when it removes a section.
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

	size_t name_len_bytes = strnlen(name, MAX_NAME_BYTES);
	if (name_len_bytes == MAX_NAME_BYTES)
		return NULL;
	const char *version = memchr(name + 1, '@', name_len_bytes - 1);
	if (version)
		name_len_bytes = (size_t)(version - name);
	const struct vmop_symbol found = {
		.offset = offset,
		.len_bytes = symbol->st_size,
		.name = name,
		.type = type_letter(symbol),
	};
	return vmop_symtab_builder_add(builder, &found, name_len_bytes, left_bytes, label);
}

static struct vmop_error *add_all(const struct table *table, struct vmop_symtab_builder *builder)
{
	size_t each_bytes = gelf_fsize(table->elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t n = each_bytes ? table->symbols->d_size / each_bytes : 0;
	size_t names_before = builder->names_len_bytes;

	if (n > INT32_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: %zu symbols", table->elf->path, n);
	struct vmop_error *err = vmop_symtab_builder_reserve(builder, n, table->names_len_bytes);
	if (err)
		return err;
	/* The first is the undefined symbol that all tables begin with. */
	for (size_t i = 1; i < n; i++) {
		GElf_Sym symbol;
		Elf32_Word wide_index = 0;
		if (!gelf_getsymshndx(table->symbols, table->wide_indices, (int)i, &symbol,
				      &wide_index))
			break;
		err = add_one(table, &symbol, wide_index, builder);
		if (err)
			return vmop_error_prefix(err, "%s", table->elf->path);
		if ((builder->names_len_bytes - names_before) / MAX_SHARING >
		    table->names_len_bytes)
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "%s: symbols whose names overlap by far",
					      table->elf->path);
	}
	return NULL;
}

struct vmop_error *vmop_elf_symbols_add(const struct vmop_elf *elf, uint32_t table_type,
					const struct vmop_elf *layout,
					struct vmop_symtab_builder *builder)
{
	GElf_Shdr header;
	Elf_Scn *section = vmop_elf_find_section(elf, table_type, NULL, &header);
	struct table table = {.elf = elf, .layout = layout};

	table.symbols = vmop_elf_section_data(elf, section);
	if (!table.symbols)
		return NULL;
	read_names(&table, elf_getscn(elf->elf, header.sh_link));
	read_wide_indices(&table, elf_ndxscn(section));
	struct vmop_error *err = read_sections(&table);
	if (!err)
		err = add_all(&table, builder);
	free(table.sections);
	return err;
}
