// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/module-place.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/* The kernel's modules have at most some MiB of code, aligned to a page at most. */
#define SECTION_MAX_BYTES ((uint64_t)1 << 30)
#define ALIGN_MAX_BYTES ((uint64_t)64 << 10)

/* The kernel's names are shorter, and few functions are one. */
enum { NAME_MAX_BYTES = 512, ALIASES_MAX = 16 };

enum { STEPS_PER_SYMBOL = 64, STEPS_PER_RELOCATION = 4 };

/* The evidence of the symbols about a section's place. */
enum verdict { VERDICT_NONE, VERDICT_RIGHT, VERDICT_WRONG };

/* Return whether a section has code that stays in memory after the module has begun. */
static bool is_code(const struct vmop_elf_file *elf, const GElf_Shdr *section)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	return (section->sh_flags & wanted) == wanted &&
	       strncmp(vmop_elf_section_name(elf, section), ".init", strlen(".init")) != 0;
}

/* Put sections one after the other. Return the end, or 0: the file has impossible ones. */
static uint64_t lay_out(struct vmop_elf_file *elf)
{
	uint64_t end = VMOP_MODULE_START;
	for (size_t i = 0; i < elf->n_sections; i++) {
		GElf_Shdr *section = &elf->sections[i];
		uint64_t align = section->sh_addralign ? section->sh_addralign : 1;
		section->sh_addr = 0;
		if (!is_code(elf, section))
			continue;
		if (align > ALIGN_MAX_BYTES || align & (align - 1) ||
		    section->sh_size > SECTION_MAX_BYTES)
			return 0;
		section->sh_addr = (end + align - 1) & ~(align - 1);
		end = section->sh_addr + section->sh_size;
	}
	return end;
}

/* Return whether one of the symbols at an offset has that name. */
static bool has_name(const struct vmop_symtab *symtab, const struct vmop_symbol *at,
		     const char *name)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	size_t left = n - (size_t)(at - symbols);
	for (size_t i = 0; i < left && i < ALIASES_MAX && at[i].offset == at->offset; i++)
		if (!strcmp(at[i].name, name))
			return true;
	return false;
}

/* Compare the place of a function with that of the symbol in memory. */
static enum verdict judge(const struct vmop_symtab *symtab, uint64_t offset, const char *name)
{
	const struct vmop_symbol *symbol = vmop_symtab_find(symtab, offset);
	if (!symbol)
		return VERDICT_NONE;
	if (symbol->offset == offset)
		return has_name(symtab, symbol, name) ? VERDICT_RIGHT : VERDICT_NONE;
	/* The space before a function has a name of its own, which the kernel may not list. */
	return !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6) ? VERDICT_NONE
									  : VERDICT_WRONG;
}

/* Set verdicts, by section, with all functions of the file. False: the budget ran out. */
static bool judge_all(const struct vmop_elf_file *elf, const struct vmop_symtab *symtab,
		      struct vmop_elf_table *table, const struct vmop_elf_data *names,
		      uint8_t *verdicts)
{
	GElf_Sym symbol;
	for (size_t i = 0; i < table->n; i++) {
		if (!vmop_sym_budget_take_steps(elf->budget, STEPS_PER_SYMBOL) ||
		    !vmop_elf_table_symbol(table, i, &symbol))
			return !elf->budget->spent;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx >= elf->n_sections || symbol.st_name >= names->len_bytes ||
		    strnlen(names->bytes + symbol.st_name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
			continue;
		const GElf_Shdr *section = &elf->sections[symbol.st_shndx];
		if (!section->sh_addr || symbol.st_value >= section->sh_size)
			continue;
		enum verdict verdict =
			judge(symtab, section->sh_addr - VMOP_MODULE_START + symbol.st_value,
			      names->bytes + symbol.st_name);
		if (verdict > verdicts[symbol.st_shndx])
			verdicts[symbol.st_shndx] = (uint8_t)verdict;
	}
	return true;
}

/* Take the address of each section that the symbols do not prove right. */
static struct vmop_error *check_places(struct vmop_elf_file *elf, const struct vmop_symtab *symtab)
{
	const GElf_Shdr *section = vmop_elf_find_section(elf, SHT_SYMTAB, NULL);
	_cleanup_free_ uint8_t *verdicts = calloc(elf->n_sections + 1, sizeof(*verdicts));
	struct vmop_elf_data names = {0};
	struct vmop_elf_table table;
	struct vmop_error *err = NULL;
	if (!verdicts)
		return &vmop_error_no_memory;
	if (section && section->sh_link < elf->n_sections)
		err = vmop_elf_data_read(elf, &elf->sections[section->sh_link], &names);
	if (!err && names.bytes) {
		vmop_elf_table_init(&table, elf, section, ELF_T_SYM);
		if (!judge_all(elf, symtab, &table, &names, verdicts))
			err = vmop_sym_budget_error(elf->budget, elf->path);
	}
	vmop_elf_data_deinit(&names);
	for (size_t i = 0; i < elf->n_sections; i++)
		if (verdicts[i] != VERDICT_RIGHT)
			elf->sections[i].sh_addr = 0;
	return err;
}

struct vmop_error *vmop_module_place(struct vmop_elf_file *elf, const struct vmop_symtab *symbols)
{
	uint64_t end = elf->header.e_type == ET_REL ? lay_out(elf) : 0;
	if (!end)
		return NULL;
	struct vmop_error *err = symbols ? check_places(elf, symbols) : NULL;
	for (size_t i = 0; i < elf->n_sections && !err; i++)
		elf->is_placed |= elf->sections[i].sh_addr != 0;
	elf->n_loads = 1; /* loads has room for one more than there are segments */
	elf->loads[0] = (struct vmop_elf_load){.address = VMOP_MODULE_START,
					       .len_bytes = end - VMOP_MODULE_START};
	return err;
}

/* Return the length of the field of a relocation that adds symbol and addend, 0: none, or -1. */
static int field_bytes(const struct vmop_elf_file *elf, uint64_t type)
{
	bool is_arm64 = elf->header.e_machine == EM_AARCH64;
	if (!is_arm64 && elf->header.e_machine != EM_X86_64)
		return -1;
	if (type == (is_arm64 ? R_AARCH64_ABS64 : R_X86_64_64))
		return 8;
	if (type == (is_arm64 ? R_AARCH64_ABS32 : R_X86_64_32))
		return 4;
	return type == (is_arm64 ? R_AARCH64_NONE : R_X86_64_NONE) ? 0 : -1;
}

/* Return the value that a relocation stores, or 0 if its section has no place. */
static uint64_t value_of(const struct vmop_elf_file *elf, const GElf_Sym *symbol, int64_t addend)
{
	uint64_t plain = symbol->st_value + (uint64_t)addend;
	if (symbol->st_shndx == SHN_ABS)
		return plain;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= elf->n_sections)
		return 0;
	const GElf_Shdr *section = &elf->sections[symbol->st_shndx];
	return section->sh_flags & SHF_ALLOC && !section->sh_addr ? 0 : section->sh_addr + plain;
}

/* Apply one relocation. False: it is damaged. */
static bool apply(const struct vmop_elf_file *elf, const GElf_Rela *relocation,
		  struct vmop_elf_table *symbols, char *bytes, uint64_t len_bytes)
{
	GElf_Sym symbol;
	uint64_t index = GELF_R_SYM(relocation->r_info);
	int n = field_bytes(elf, GELF_R_TYPE(relocation->r_info));
	if (n <= 0)
		return n == 0;
	if (relocation->r_offset > len_bytes || len_bytes - relocation->r_offset < (uint64_t)n ||
	    index >= symbols->n || !vmop_elf_table_symbol(symbols, index, &symbol))
		return false;
	uint64_t value = htole64(value_of(elf, &symbol, relocation->r_addend));
	memcpy(bytes + relocation->r_offset, &value, (size_t)n);
	return true;
}

static const GElf_Shdr *find_relocations(const struct vmop_elf_file *elf, const GElf_Shdr *section)
{
	for (size_t i = 0; i < elf->n_sections; i++)
		if (elf->sections[i].sh_type == SHT_RELA &&
		    elf->sections[i].sh_info == (size_t)(section - elf->sections))
			return &elf->sections[i];
	return NULL;
}

struct vmop_error *vmop_module_relocate(const struct vmop_elf_file *elf, const GElf_Shdr *section,
					char *bytes, uint64_t len_bytes)
{
	const GElf_Shdr *list = find_relocations(elf, section);
	struct vmop_elf_table relocations, symbols;
	struct vmop_elf_data loaded = {0};
	GElf_Rela relocation;
	bool is_right = true;
	if (!list || list->sh_link >= elf->n_sections)
		return NULL;
	vmop_elf_table_init(&relocations, elf, list, ELF_T_RELA);
	vmop_elf_table_init(&symbols, elf, &elf->sections[list->sh_link], ELF_T_SYM);
	struct vmop_error *err = vmop_elf_table_load(&symbols, &loaded);
	for (size_t i = 0; i < relocations.n && !err && is_right; i++)
		is_right = vmop_sym_budget_take_steps(elf->budget, STEPS_PER_RELOCATION) &&
			   vmop_elf_table_relocation(&relocations, i, &relocation) &&
			   apply(elf, &relocation, &symbols, bytes, len_bytes);
	vmop_elf_data_deinit(&loaded);
	if (err || is_right)
		return err;
	return elf->budget->spent
		       ? vmop_sym_budget_error(elf->budget, elf->path)
		       : vmop_error_new(VMOP_ERROR_CORRUPT, "%s: its relocations of %s are damaged",
					elf->path, vmop_elf_section_name(elf, section));
}
