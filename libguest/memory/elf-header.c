// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/elf-header.h"

#include <elf.h>
#include <string.h>

#include "libguest/memory/note.h"

#define MAX_HEADERS 64u
#define MAX_NOTES 4096u

bool vmop_guest_elf_open(vmop_guest_elf_read_fn *read, void *arg, struct vmop_guest_elf *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr as_64;
		Elf32_Ehdr as_32;
	} header;
	if (!read(arg, 0, &header, sizeof(header)) || memcmp(header.ident, ELFMAG, SELFMAG) != 0 ||
	    header.ident[EI_DATA] != ELFDATA2LSB)
		return false;
	bool is_64 = header.ident[EI_CLASS] == ELFCLASS64;
	*ret = (struct vmop_guest_elf){
		.read = read,
		.arg = arg,
		.is_64 = is_64,
		.type = header.as_64.e_type, /* at the same offset in both */
		.segments = is_64 ? header.as_64.e_phnum : header.as_32.e_phnum,
		.at = is_64 ? header.as_64.e_phoff : header.as_32.e_phoff,
	};
	return true;
}

bool vmop_guest_elf_segment(const struct vmop_guest_elf *elf, uint32_t index,
			    struct vmop_guest_elf_segment *ret)
{
	if (elf->is_64) {
		Elf64_Phdr header;
		if (!elf->read(elf->arg, elf->at + index * sizeof(header), &header, sizeof(header)))
			return false;
		*ret = (struct vmop_guest_elf_segment){header.p_type, header.p_offset,
						       header.p_filesz, header.p_paddr};
	} else {
		Elf32_Phdr header;
		if (!elf->read(elf->arg, elf->at + index * sizeof(header), &header, sizeof(header)))
			return false;
		*ret = (struct vmop_guest_elf_segment){header.p_type, header.p_offset,
						       header.p_filesz, header.p_paddr};
	}
	return true;
}

uint8_t vmop_guest_elf_header_build_id(vmop_guest_elf_read_fn *read, void *arg, uint8_t *ret)
{
	struct vmop_guest_elf elf;
	uint8_t notes[MAX_NOTES];
	if (!vmop_guest_elf_open(read, arg, &elf))
		return 0;
	for (uint32_t i = 0; i < elf.segments && i < MAX_HEADERS; i++) {
		struct vmop_guest_elf_segment segment;
		if (!vmop_guest_elf_segment(&elf, i, &segment))
			return 0;
		if (segment.type != PT_NOTE || !segment.len_bytes)
			continue;
		size_t len = segment.len_bytes < sizeof(notes) ? segment.len_bytes : sizeof(notes);
		if (!read(arg, segment.offset, notes, len))
			continue;
		uint8_t found = vmop_note_build_id(notes, len, ret);
		if (found)
			return found;
	}
	return 0;
}
