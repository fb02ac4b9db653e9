// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/plt.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"

/* A GOT slot and the relocation that fills it. */
struct slot {
	uint64_t address;
	uint64_t target;    /* IRELATIVE: the address of its resolver */
	const char *symbol; /* points into the string table; NULL: IRELATIVE */
	size_t symbol_len_bytes;
};

#define MAX_SLOTS ((size_t)1 << 20)
#define MAX_NAME_BYTES 4096
#define STEPS_PER_STUB 16 /* the cost of a search among all slots and of a printed name */

struct plt {
	const struct vmop_elf_file *elf;
	struct vmop_symtab_builder *builder;
	struct slot *slots; /* sorted by address */
	size_t n_slots, slots_capacity;
	uint32_t symbols_index; /* section index of their table; 0: none yet */
	struct vmop_elf_table symbols;
	struct vmop_elf_data loaded; /* memory of the loaded table */
	struct vmop_elf_data names;
	/* Adjacent code without names, which becomes one symbol. */
	uint64_t unnamed_from, unnamed_to;
};

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

enum reloc_kind { RELOC_OTHER, RELOC_SYMBOL, RELOC_INDIRECT };

static enum reloc_kind kind_of(const struct plt *plt, uint64_t type)
{
	switch (plt->elf->header.e_machine) {
	case EM_X86_64:
		if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
			return RELOC_SYMBOL;
		return type == R_X86_64_IRELATIVE ? RELOC_INDIRECT : RELOC_OTHER;
	case EM_AARCH64:
		if (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT)
			return RELOC_SYMBOL;
		return type == R_AARCH64_IRELATIVE ? RELOC_INDIRECT : RELOC_OTHER;
	default:
		return RELOC_OTHER;
	}
}

/* Set slot's symbol to its name without the version. It points into plt's string table. */
static bool name_slot(struct plt *plt, uint64_t index, struct slot *slot)
{
	const struct vmop_elf_data *names = &plt->names;
	GElf_Sym symbol;
	if (index >= plt->symbols.n || !vmop_elf_table_symbol(&plt->symbols, index, &symbol) ||
	    symbol.st_name >= names->len_bytes)
		return false;
	slot->symbol = names->bytes + symbol.st_name;
	size_t left = names->len_bytes - symbol.st_name;
	const char *end = memchr(slot->symbol, '\0', left < MAX_NAME_BYTES ? left : MAX_NAME_BYTES);
	if (!end || end == slot->symbol ||
	    !vmop_sym_budget_take_steps(plt->elf->budget, (size_t)(end - slot->symbol) / 64))
		return false;
	const char *version = memchr(slot->symbol, '@', (size_t)(end - slot->symbol));
	slot->symbol_len_bytes = (size_t)((version ? version : end) - slot->symbol);
	return slot->symbol_len_bytes > 0;
}

static struct vmop_error *add_slot(struct plt *plt, const struct slot *slot)
{
	if (plt->n_slots == plt->slots_capacity) {
		size_t wanted = plt->slots_capacity ? plt->slots_capacity * 2 : 256;
		if (wanted > MAX_SLOTS)
			return NULL; /* later stubs stay "[plt]" */
		struct vmop_sym_budget *budget = plt->elf->budget;
		if (!vmop_sym_budget_take_memory(budget, (wanted - plt->slots_capacity) *
								 sizeof(*plt->slots)))
			return vmop_sym_budget_error(budget, plt->elf->path);
		if (!vmop_array_reserve(plt->slots, plt->slots_capacity, wanted))
			return &vmop_error_no_memory;
	}
	plt->slots[plt->n_slots++] = *slot;
	return NULL;
}

/*
 * Load the symbols that relocations refer to, for the first relocation section that has any.
 * IRELATIVE relocations of a static program have no symbols.
 */
static struct vmop_error *read_symbols(struct plt *plt, const GElf_Shdr *relocations)
{
	const struct vmop_elf_file *elf = plt->elf;
	uint32_t index = relocations->sh_link;
	if (plt->symbols_index || !index || index >= elf->n_sections ||
	    (elf->sections[index].sh_type != SHT_DYNSYM &&
	     elf->sections[index].sh_type != SHT_SYMTAB))
		return NULL;
	plt->symbols_index = index;
	vmop_elf_table_init(&plt->symbols, elf, &elf->sections[index], ELF_T_SYM);
	struct vmop_error *err = vmop_elf_table_load(&plt->symbols, &plt->loaded);
	uint32_t names_index = elf->sections[index].sh_link;
	if (!err && names_index < elf->n_sections)
		err = vmop_elf_data_read(elf, &elf->sections[names_index], &plt->names);
	return err;
}

static struct vmop_error *read_relocations(struct plt *plt, const GElf_Shdr *section)
{
	struct vmop_sym_budget *budget = plt->elf->budget;
	struct vmop_elf_table relocations;
	struct vmop_error *err = read_symbols(plt, section);

	vmop_elf_table_init(&relocations, plt->elf, section, ELF_T_RELA);
	for (size_t i = 0; i < relocations.n && !err; i++) {
		GElf_Rela relocation;
		if (!vmop_sym_budget_take_steps(budget, 1) ||
		    !vmop_elf_table_relocation(&relocations, i, &relocation))
			break;
		enum reloc_kind kind = kind_of(plt, GELF_R_TYPE(relocation.r_info));
		struct slot slot = {
			.address = relocation.r_offset,
			.target = (uint64_t)relocation.r_addend,
		};
		if (kind == RELOC_OTHER ||
		    (kind == RELOC_SYMBOL &&
		     (section->sh_link != plt->symbols_index ||
		      !name_slot(plt, GELF_R_SYM(relocation.r_info), &slot))))
			continue;
		err = add_slot(plt, &slot);
	}
	return !err && budget->spent ? vmop_sym_budget_error(budget, plt->elf->path) : err;
}

/*
 * Return whether the relocations can concern stubs. .rela.dyn can be large, and is needed only for
 * the stubs of .plt.got.
 */
static bool is_for_stubs(const struct plt *plt, const GElf_Shdr *header, bool has_plt_got)
{
	const char *name = vmop_elf_section_name(plt->elf, header);
	return has_plt_got || strcmp(name, ".rela.plt") == 0 || strcmp(name, ".rela.iplt") == 0;
}

static struct vmop_error *read_slots(struct plt *plt)
{
	const struct vmop_elf_file *elf = plt->elf;
	bool has_plt_got = vmop_elf_find_section(elf, SHT_PROGBITS, ".plt.got") != NULL;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		/*
		 * Read the relocations of the dynamic linker, not those that --emit-relocs leaves.
		 */
		if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC) ||
		    !is_for_stubs(plt, section, has_plt_got))
			continue;
		struct vmop_error *err = read_relocations(plt, section);
		if (err)
			return err;
	}
	if (plt->n_slots)
		qsort(plt->slots, plt->n_slots, sizeof(*plt->slots), by_address);
	return NULL;
}

static struct vmop_error *add(struct plt *plt, uint64_t address, uint64_t len_bytes,
			      const char *name)
{
	uint64_t offset, left_bytes;
	if (!vmop_elf_offset_of_address(plt->elf, address, &offset, &left_bytes))
		return NULL;
	const struct vmop_symbol symbol = {
		.offset = offset,
		.len_bytes = len_bytes,
		.name = name,
		.type = 't',
	};
	return vmop_symtab_builder_add(plt->builder, &symbol, strlen(name), left_bytes, false);
}

static struct vmop_error *flush_unnamed(struct plt *plt)
{
	struct vmop_error *err = NULL;
	if (plt->unnamed_to > plt->unnamed_from)
		err = add(plt, plt->unnamed_from, plt->unnamed_to - plt->unnamed_from, "[plt]");
	plt->unnamed_from = plt->unnamed_to = 0;
	return err;
}

/* Add a stub that jumps through the slot at slot_address; 0: unknown. */
static struct vmop_error *add_stub(struct plt *plt, uint64_t address, uint64_t len_bytes,
				   uint64_t slot_address)
{
	const struct slot key = {.address = slot_address};
	const struct slot *slot = NULL;
	struct vmop_sym_budget *budget = plt->elf->budget;
	if (!vmop_sym_budget_take_steps(budget, STEPS_PER_STUB))
		return vmop_sym_budget_error(budget, plt->elf->path);
	if (slot_address && plt->n_slots)
		slot = bsearch(&key, plt->slots, plt->n_slots, sizeof(key), by_address);
	if (!slot) {
		if (plt->unnamed_to != address)
			plt->unnamed_from = address;
		plt->unnamed_to = address + len_bytes;
		return NULL;
	}
	struct vmop_error *err = flush_unnamed(plt);
	if (err)
		return err;
	char name[MAX_NAME_BYTES + 8];
	if (!vmop_sym_budget_take_steps(budget, slot->symbol_len_bytes / 16))
		return vmop_sym_budget_error(budget, plt->elf->path);
	if (slot->symbol)
		snprintf(name, sizeof(name), "%.*s@plt", (int)slot->symbol_len_bytes, slot->symbol);
	else
		snprintf(name, sizeof(name), "*ABS*+0x%" PRIx64 "@plt", slot->target);
	return add(plt, address, len_bytes, name);
}

/*
 * x86-64: each stub contains one "jmp *slot(%rip)" (ff 25 disp32), which endbr64 or bnd may
 * precede.
 */
static struct vmop_error *read_x86_64(struct plt *plt, const GElf_Shdr *header,
				      const unsigned char *code, size_t len_bytes)
{
	size_t stub_bytes = header->sh_entsize == 8 ? 8 : 16;
	for (size_t at = 0; at + stub_bytes <= len_bytes; at += stub_bytes) {
		uint64_t slot_address = 0;
		for (size_t i = at; i + 6 <= at + stub_bytes; i++) {
			if (code[i] != 0xff || code[i + 1] != 0x25)
				continue;
			uint32_t distance;
			memcpy(&distance, code + i + 2, sizeof(distance));
			slot_address = header->sh_addr + i + 6 +
				       (uint64_t)(int64_t)(int32_t)le32toh(distance);
			break;
		}
		struct vmop_error *err =
			add_stub(plt, header->sh_addr + at, stub_bytes, slot_address);
		if (err)
			return err;
	}
	return NULL;
}

static uint32_t instruction_at(const unsigned char *code, size_t at)
{
	uint32_t instruction;
	memcpy(&instruction, code + at, sizeof(instruction));
	return le32toh(instruction);
}

/* arm64: "adrp x16, page; ldr x17, [x16, #offset]": the slot's page and the offset in it. */
static bool decode_arm64(const unsigned char *code, size_t at, uint64_t address,
			 uint64_t *ret_slot_address)
{
	uint32_t adrp = instruction_at(code, at), ldr = instruction_at(code, at + 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	uint64_t pages = ((adrp >> 5 & 0x7ffff) << 2) | (adrp >> 29 & 3); /* signed, 21 bits */
	if (pages & (1U << 20))
		pages |= ~(uint64_t)0x1fffff;
	*ret_slot_address = (address & ~(uint64_t)0xfff) + (pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return true;
}

/*
 * arm64 stubs have 16 or 24 bytes and follow a header of 32. Each begins with its adrp, or with a
 * "bti c" before it.
 */
static struct vmop_error *read_arm64(struct plt *plt, const GElf_Shdr *header,
				     const unsigned char *code, size_t len_bytes)
{
	static const uint32_t bti_c = 0xd503245f;
	uint64_t slot_address = 0, next_slot_address;
	size_t begin = 0;

	for (size_t at = 0; at + 8 <= len_bytes; at += 4) {
		if (!decode_arm64(code, at, header->sh_addr + at, &next_slot_address))
			continue;
		size_t next = at >= 4 && instruction_at(code, at - 4) == bti_c ? at - 4 : at;
		if (next > begin) {
			struct vmop_error *err =
				add_stub(plt, header->sh_addr + begin, next - begin, slot_address);
			if (err)
				return err;
		}
		begin = next;
		slot_address = next_slot_address;
	}
	/* The last stub ends with the section in both cases: .plt has no padding. */
	return add_stub(plt, header->sh_addr + begin, len_bytes - begin, slot_address);
}

static struct vmop_error *read_stubs(struct plt *plt, const GElf_Shdr *section)
{
	_cleanup_(vmop_elf_data_deinit) struct vmop_elf_data data;
	struct vmop_error *err = vmop_elf_data_read(plt->elf, section, &data);
	if (err || !data.bytes)
		return err;
	if (!vmop_sym_budget_take_steps(plt->elf->budget, data.len_bytes / 4))
		return vmop_sym_budget_error(plt->elf->budget, plt->elf->path);
	const unsigned char *code = (const unsigned char *)data.bytes;
	if (plt->elf->header.e_machine == EM_X86_64)
		err = read_x86_64(plt, section, code, data.len_bytes);
	else if (plt->elf->header.e_machine == EM_AARCH64)
		err = read_arm64(plt, section, code, data.len_bytes);
	else
		err = add_stub(plt, section->sh_addr, data.len_bytes, 0);
	return err ? err : flush_unnamed(plt);
}

static struct vmop_error *read_plt(struct plt *plt)
{
	const struct vmop_elf_file *elf = plt->elf;
	struct vmop_error *err = read_slots(plt);
	for (size_t i = 1; i < elf->n_sections && !err; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		const char *name = vmop_elf_section_name(elf, section);
		if (section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_EXECINSTR) &&
		    (strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0))
			err = read_stubs(plt, section);
	}
	return err;
}

struct vmop_error *vmop_plt_add(const struct vmop_elf_file *elf,
				struct vmop_symtab_builder *builder)
{
	_cleanup_free_ struct plt *plt = calloc(1, sizeof(*plt));
	if (!plt)
		return &vmop_error_no_memory;
	plt->elf = elf;
	plt->builder = builder;
	struct vmop_error *err = read_plt(plt);
	vmop_sym_budget_give_memory(elf->budget, plt->slots_capacity * sizeof(*plt->slots));
	vmop_elf_data_deinit(&plt->loaded);
	vmop_elf_data_deinit(&plt->names);
	free(plt->slots);
	return err;
}
