// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/elf-header.h"

#include <elf.h>
#include <string.h>

#include "libguest/note.h"

#define MAX_HEADERS 64u
#define MAX_NOTES 4096u

struct segment {
	uint32_t type;
	uint64_t offset, len;
};

static bool read_segment(vmop_elf_read_fn *read, void *arg, bool is_64, uint64_t at,
			 struct segment *ret)
{
	if (is_64) {
		Elf64_Phdr header;
		if (!read(arg, at, &header, sizeof(header)))
			return false;
		*ret = (struct segment){header.p_type, header.p_offset, header.p_filesz};
	} else {
		Elf32_Phdr header;
		if (!read(arg, at, &header, sizeof(header)))
			return false;
		*ret = (struct segment){header.p_type, header.p_offset, header.p_filesz};
	}
	return true;
}

uint8_t vmop_elf_header_build_id(vmop_elf_read_fn *read, void *arg, uint8_t *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr as_64;
		Elf32_Ehdr as_32;
	} header;
	uint8_t notes[MAX_NOTES];
	if (!read(arg, 0, &header, sizeof(header)) || memcmp(header.ident, ELFMAG, SELFMAG) != 0 ||
	    header.ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	bool is_64 = header.ident[EI_CLASS] == ELFCLASS64;
	uint64_t at = is_64 ? header.as_64.e_phoff : header.as_32.e_phoff;
	uint32_t count = is_64 ? header.as_64.e_phnum : header.as_32.e_phnum;
	for (uint32_t i = 0; i < count && i < MAX_HEADERS; i++) {
		struct segment segment;
		if (!read_segment(read, arg, is_64, at, &segment))
			return 0;
		at += is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
		if (segment.type != PT_NOTE || !segment.len)
			continue;
		size_t len = segment.len < sizeof(notes) ? segment.len : sizeof(notes);
		if (!read(arg, segment.offset, notes, len))
			continue;
		uint8_t found = vmop_note_build_id(notes, len, ret);
		if (found)
			return found;
	}
	return 0;
}
