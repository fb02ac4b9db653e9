// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/debug-sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/dwarf/module-place.h"
#include "libutil/elf/compressed.h"

/* Behind each section. */
#define PADDING_BYTES 16

/* The names' section has the index 1, and the sections follow in this order. */
static const char names[] = "\0.shstrtab\0.debug_info\0.debug_abbrev\0.debug_str\0"
			    ".debug_line_str\0.debug_ranges\0.debug_rnglists\0.debug_addr\0"
			    ".debug_str_offsets\0.debug_line";
enum {
	INFO,
	ABBREV,
	STR,
	LINE_STR,
	LINE = 8,
	N_SECTIONS,
	FIRST = 2,
	N_HEADERS = FIRST + N_SECTIONS
};

/*
 * libdw takes some ten times the bytes of the abbreviations that it reads. The largest programs
 * have some MiB of them.
 */
#define ABBREV_MAX_BYTES ((uint64_t)16 << 20)

/* Where a section is read from. */
struct part {
	const GElf_Shdr *section; /* NULL: none */
	enum vmop_compression compression;
	uint64_t plain_bytes;
};

/* Return the name at that place of the list. */
static const char *name_at(size_t index)
{
	const char *name = names + 1;
	for (size_t i = 0; i < index; i++)
		name += strlen(name) + 1;
	return name;
}

static struct vmop_error *damaged(const struct vmop_elf_file *elf, const char *name)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: its section %s is damaged", elf->path, name);
}

/* Find a section, and how long it is when decompressed. */
static struct vmop_error *find_part(const struct vmop_elf_file *elf, const char *name,
				    struct part *ret)
{
	char old_name[32], header[sizeof(Elf64_Chdr)] = {0};
	struct vmop_compressed compressed;
	*ret = (struct part){.section = vmop_elf_find_section(elf, SHT_PROGBITS, name)};
	if (!ret->section) {
		snprintf(old_name, sizeof(old_name), ".z%s", name + 1);
		ret->section = vmop_elf_find_section(elf, SHT_PROGBITS, old_name);
		ret->compression = VMOP_COMPRESSION_ZDEBUG;
	} else if (ret->section->sh_flags & SHF_COMPRESSED) {
		ret->compression = VMOP_COMPRESSION_CHDR;
	}
	if (!ret->section)
		return NULL;
	ret->plain_bytes = ret->section->sh_size;
	if (ret->section->sh_size > elf->len_bytes)
		return damaged(elf, name);
	if (!ret->compression)
		return NULL;
	size_t n = ret->section->sh_size < sizeof(header) ? ret->section->sh_size : sizeof(header);
	if (!vmop_elf_read_at(elf, ret->section->sh_offset, header, n) ||
	    !vmop_compressed_read(ret->compression, header, n, &compressed))
		return damaged(elf, name);
	ret->plain_bytes = compressed.plain_bytes;
	if (!vmop_compressed_is_supported(&compressed))
		ret->section = NULL;
	return NULL;
}

static bool read_bytes(const struct vmop_elf_file *elf, const GElf_Shdr *section, void *ret)
{
	return vmop_sym_budget_take_read(elf->budget, section->sh_size) &&
	       vmop_elf_read_at(elf, section->sh_offset, ret, section->sh_size);
}

/* Read a compressed section into ret, which has room for plain_bytes. */
static bool unpack(const struct vmop_elf_file *elf, const struct part *part, void *ret)
{
	uint64_t packed_bytes = part->section->sh_size;
	struct vmop_compressed compressed;
	if (!vmop_sym_budget_take_memory(elf->budget, packed_bytes))
		return false;
	void *packed = malloc(packed_bytes);
	/* The file may have changed since its header was read. */
	bool is_read = packed && read_bytes(elf, part->section, packed) &&
		       vmop_compressed_read(part->compression, packed, packed_bytes, &compressed) &&
		       compressed.plain_bytes == part->plain_bytes &&
		       vmop_sym_budget_take_read(elf->budget, part->plain_bytes) &&
		       vmop_compressed_unpack(&compressed, ret);
	free(packed);
	vmop_sym_budget_give_memory(elf->budget, packed_bytes);
	return is_read && vmop_sym_budget_look(elf->budget);
}

static void put_header(const struct vmop_elf_file *elf, char *bytes)
{
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = elf->header.e_machine,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_HEADERS,
		.e_shstrndx = 1,
	};
	memcpy(bytes, &header, sizeof(header));
}

/* Set the section headers, and the offset behind the last section. False: it overflows. */
static bool plan(const struct part *parts, Elf64_Shdr *headers, uint64_t *ret_end)
{
	uint64_t end = sizeof(Elf64_Ehdr) + N_HEADERS * sizeof(Elf64_Shdr);
	memset(headers, 0, N_HEADERS * sizeof(*headers));
	headers[1] = (Elf64_Shdr){.sh_name = 1,
				  .sh_type = SHT_STRTAB,
				  .sh_offset = end,
				  .sh_size = sizeof(names),
				  .sh_addralign = 1};
	end = (end + sizeof(names) + 15) & ~UINT64_C(15);
	for (size_t i = 0; i < N_SECTIONS; i++) {
		if (!parts[i].section)
			continue;
		headers[FIRST + i] = (Elf64_Shdr){.sh_name = (uint32_t)(name_at(i + 1) - names),
						  .sh_type = SHT_PROGBITS,
						  .sh_offset = end,
						  .sh_size = parts[i].plain_bytes,
						  .sh_addralign = 1};
		if (__builtin_add_overflow(end, parts[i].plain_bytes, &end) ||
		    __builtin_add_overflow(end, 2 * PADDING_BYTES - 1, &end))
			return false;
		end &= ~UINT64_C(15);
	}
	*ret_end = end;
	return end < SIZE_MAX;
}

/* End strings that are too long for the name of a file or folder. */
static void cut_strings(char *bytes, uint64_t len_bytes)
{
	for (uint64_t at = 0, start = 0; at < len_bytes; at++) {
		if (at - start == VMOP_DEBUG_PATH_MAX_BYTES)
			bytes[at] = '\0';
		if (!bytes[at])
			start = at + 1;
	}
}

static struct vmop_error *read_parts(const struct vmop_elf_file *elf, const struct part *parts,
				     const Elf64_Shdr *headers, char *bytes)
{
	put_header(elf, bytes);
	memcpy(bytes + sizeof(Elf64_Ehdr), headers, N_HEADERS * sizeof(*headers));
	memcpy(bytes + headers[1].sh_offset, names, sizeof(names));
	for (size_t i = 0; i < N_SECTIONS; i++) {
		if (!parts[i].section)
			continue;
		char *to = bytes + headers[FIRST + i].sh_offset;
		if (!(parts[i].compression ? unpack(elf, &parts[i], to)
					   : read_bytes(elf, parts[i].section, to)))
			return elf->budget->spent ? vmop_sym_budget_error(elf->budget, elf->path)
						  : damaged(elf, name_at(i + 1));
		struct vmop_error *err = elf->is_placed
						 ? vmop_module_relocate(elf, parts[i].section, to,
									parts[i].plain_bytes)
						 : NULL;
		if (err)
			return err;
		if (parts[LINE].section && (i == STR || i == LINE_STR))
			cut_strings(to, parts[i].plain_bytes);
	}
	return NULL;
}

static bool is_readable(const struct vmop_elf_file *elf)
{
	const GElf_Ehdr *header = &elf->header;
	return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN || elf->is_placed);
}

struct vmop_error *vmop_debug_sections_read(const struct vmop_elf_file *elf,
					    enum vmop_debug_subject subject,
					    struct vmop_debug_sections *ret)
{
	struct part parts[N_SECTIONS] = {0};
	Elf64_Shdr headers[N_HEADERS];
	uint64_t end;
	struct vmop_error *err = NULL;
	*ret = (struct vmop_debug_sections){0};
	size_t n = subject == VMOP_DEBUG_LINES ? N_SECTIONS : LINE;
	for (size_t i = 0; i < n && is_readable(elf) && !err; i++)
		err = find_part(elf, name_at(i + 1), &parts[i]);
	if (err || !is_readable(elf) || !parts[INFO].section || !parts[ABBREV].section ||
	    (subject == VMOP_DEBUG_LINES && !parts[LINE].section))
		return err;
	if (parts[ABBREV].plain_bytes > ABBREV_MAX_BYTES || !plan(parts, headers, &end) ||
	    !vmop_sym_budget_take_memory(elf->budget, end)) {
		vmop_sym_budget_spend(elf->budget, VMOP_SYM_COST_MEMORY);
		return vmop_sym_budget_error(elf->budget, elf->path);
	}
	ret->bytes = calloc(1, end);
	ret->len_bytes = end;
	err = ret->bytes ? read_parts(elf, parts, headers, ret->bytes) : &vmop_error_no_memory;
	if (err)
		vmop_debug_sections_deinit(ret, elf->budget);
	ret->lines = ret->bytes ? ret->bytes + headers[FIRST + LINE].sh_offset : NULL;
	ret->lines_len_bytes = parts[LINE].plain_bytes;
	return err;
}

void vmop_debug_sections_deinit(struct vmop_debug_sections *sections,
				struct vmop_sym_budget *budget)
{
	vmop_sym_budget_give_memory(budget, sections->len_bytes);
	free(sections->bytes);
	*sections = (struct vmop_debug_sections){0};
}
