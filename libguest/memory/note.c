// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/note.h"
#include "libguest/types.h"

#include <elf.h>
#include <string.h>

uint8_t vmop_note_build_id(const uint8_t *notes, size_t len_bytes, uint8_t *ret)
{
	size_t at = 0;
	while (len_bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		memcpy(&header, notes + at, sizeof(header));
		size_t name = at + sizeof(header);
		size_t content = name + (((size_t)header.n_namesz + 3) & ~(size_t)3);
		size_t next = content + (((size_t)header.n_descsz + 3) & ~(size_t)3);
		if (content > len_bytes || header.n_descsz > len_bytes - content)
			break;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && header.n_descsz > 0) {
			size_t len = header.n_descsz < VMOP_GUEST_BUILD_ID_MAX
					     ? header.n_descsz
					     : VMOP_GUEST_BUILD_ID_MAX;
			memcpy(ret, notes + content, len);
			return (uint8_t)len;
		}
		if (next > len_bytes)
			break;
		at = next;
	}
	return 0;
}
