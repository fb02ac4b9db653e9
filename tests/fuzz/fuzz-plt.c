// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stubs of a PLT, their relocations, symbols and names.  The ELF file around them is made here in
 * memory, so that no run is spent on a damaged header:
 * 	byte 0		machine (bit 0: arm64, else x86-64), class (bit 1: 32 bit)
 * 	byte 1		the address of all, in pages
 * 	byte 2		size of an entry
 * 	4 bytes each	of .plt, .plt.got, .rela.plt, .rela.dyn, .dynsym and .dynstr: offset and
 * 			size in the rest
 * 	rest		the contents of these sections, which can overlap
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/elf/plt.h"

#define MAX_CONTENTS_BYTES 4096
#define HEADERS_BYTES 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

struct place {
	uint16_t offset, len_bytes;
};

enum { SECTION_NONE, PLT, PLT_GOT, RELA_PLT, RELA_DYN, DYNSYM, DYNSTR, SHSTRTAB, N_SECTIONS };

static const struct {
	uint32_t type, name, link;
	uint64_t flags;
} kinds[N_SECTIONS] = {
	[PLT] = {SHT_PROGBITS, 1, 0, SHF_ALLOC | SHF_EXECINSTR},
	[PLT_GOT] = {SHT_PROGBITS, 6, 0, SHF_ALLOC | SHF_EXECINSTR},
	[RELA_PLT] = {SHT_RELA, 15, DYNSYM, SHF_ALLOC},
	[RELA_DYN] = {SHT_RELA, 25, DYNSYM, SHF_ALLOC},
	[DYNSYM] = {SHT_DYNSYM, 0, DYNSTR, SHF_ALLOC},
	[DYNSTR] = {SHT_STRTAB, 0, 0, SHF_ALLOC},
	[SHSTRTAB] = {SHT_STRTAB, 0, 0, 0},
};
static const char names[] = "\0.plt\0.plt.got\0.rela.plt\0.rela.dyn";
#define NAMES_AT (HEADERS_BYTES - sizeof(names))

/* Both classes have the same member names. */
#define MAKE(Ehdr, Phdr, Shdr, CLASS)                                                              \
	do {                                                                                       \
		Ehdr *header = (Ehdr *)headers;                                                    \
		Phdr *segment = (Phdr *)(header + 1);                                              \
		Shdr *section = (Shdr *)(segment + 1);                                             \
		_Static_assert(sizeof(*header) + sizeof(*segment) +                                \
					       N_SECTIONS * sizeof(*section) <=                    \
				       NAMES_AT,                                                   \
			       "the headers fit");                                                 \
		memcpy(header->e_ident, ELFMAG, SELFMAG);                                          \
		header->e_ident[EI_CLASS] = CLASS;                                                 \
		header->e_ident[EI_DATA] = ELFDATA2LSB;                                            \
		header->e_machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;                          \
		header->e_type = ET_DYN;                                                           \
		header->e_phoff = sizeof(*header);                                                 \
		header->e_phnum = 1;                                                               \
		header->e_shoff = sizeof(*header) + sizeof(*segment);                              \
		header->e_shnum = N_SECTIONS;                                                      \
		header->e_shstrndx = SHSTRTAB;                                                     \
		segment->p_type = PT_LOAD;                                                         \
		segment->p_vaddr = address;                                                        \
		segment->p_offset = HEADERS_BYTES;                                                 \
		segment->p_filesz = MAX_CONTENTS_BYTES;                                            \
		for (size_t i = PLT; i < SHSTRTAB; i++) {                                          \
			section[i].sh_type = kinds[i].type;                                        \
			section[i].sh_name = kinds[i].name;                                        \
			section[i].sh_link = kinds[i].link;                                        \
			section[i].sh_flags = kinds[i].flags;                                      \
			section[i].sh_addr = address + places[i - PLT].offset;                     \
			section[i].sh_offset = HEADERS_BYTES + places[i - PLT].offset;             \
			section[i].sh_size = places[i - PLT].len_bytes;                            \
			section[i].sh_entsize = data[2];                                           \
		}                                                                                  \
		section[SHSTRTAB].sh_type = SHT_STRTAB;                                            \
		section[SHSTRTAB].sh_offset = NAMES_AT;                                            \
		section[SHSTRTAB].sh_size = sizeof(names);                                         \
	} while (0)

static void check(const struct vmop_symtab *symtab)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		if (i && symbols[i - 1].offset > symbols[i].offset)
			abort();
		if (symbols[i].offset < HEADERS_BYTES ||
		    symbols[i].len_bytes > HEADERS_BYTES + MAX_CONTENTS_BYTES - symbols[i].offset)
			abort();
		if (strcmp(symbols[i].name, "[plt]") != 0 && !strstr(symbols[i].name, "@plt"))
			abort();
	}
}

static void read_plt(const char *image, size_t len_bytes)
{
	struct vmop_sym_budget budget;
	struct vmop_symtab_builder builder = {.budget = &budget};
	struct vmop_elf_file *elf;
	struct vmop_symtab *symtab;

	vmop_sym_budget_init(&budget);
	if (vmop_elf_create_in_memory(image, len_bytes, "fuzz", &budget, &elf))
		abort(); /* the headers are valid */
	if (vmop_plt_add(elf, &builder))
		abort(); /* so little is never too costly */
	vmop_elf_destroy(elf);
	if (vmop_symtab_builder_finish(&builder, "fuzz", &symtab))
		abort();
	check(symtab);
	vmop_symtab_destroy(symtab);
	if (budget.memory_left_bytes != VMOP_SYM_BUDGET_MEMORY_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static _Alignas(8) char headers[HEADERS_BYTES];
	struct place places[SHSTRTAB - PLT];
	size_t control_bytes = 3 + sizeof(places);
	if (len_bytes < control_bytes)
		return 0;
	memcpy(places, data + 3, sizeof(places));
	size_t contents_bytes = len_bytes - control_bytes;
	if (contents_bytes > MAX_CONTENTS_BYTES)
		contents_bytes = MAX_CONTENTS_BYTES;
	uint32_t address = (uint32_t)data[1] << 12;

	memset(headers, 0, sizeof(headers));
	memcpy(headers + NAMES_AT, names, sizeof(names));
	if (data[0] & 2)
		MAKE(Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, ELFCLASS32);
	else
		MAKE(Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, ELFCLASS64);
	/* A block of its exact size, so that a sanitizer detects reads behind its end. */
	char *image = malloc(HEADERS_BYTES + contents_bytes);
	if (!image)
		abort();
	memcpy(image, headers, HEADERS_BYTES);
	memcpy(image + HEADERS_BYTES, data + control_bytes, contents_bytes);
	read_plt(image, HEADERS_BYTES + contents_bytes);
	free(image);
	return 0;
}
