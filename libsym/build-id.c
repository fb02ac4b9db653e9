// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/build-id.h"

#include <string.h>

#include "libsym/elf-file.h"
#include "libutil/cleanup.h"

/* A build-id's note is 36 bytes; it has neighbours, but none that needs more. */
#define MAX_NOTES_BYTES 65536

/* The name as it stands in a note, with its NUL. */
static const char gnu[4] = "GNU";

/* As the kernel does: an id that is longer than its own field for it is none. */
static bool take(const void *id, size_t len_bytes, struct vmop_build_id *ret)
{
	if (len_bytes == 0 || len_bytes > VMOP_BUILD_ID_MAX_BYTES)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->bytes, id, len_bytes);
	ret->len_bytes = (uint8_t)len_bytes;
	return true;
}

static bool in_elf_data(Elf_Data *notes, struct vmop_build_id *ret)
{
	size_t at = 0, name_at, id_at;
	GElf_Nhdr note;

	while (at < notes->d_size && (at = gelf_getnote(notes, at, &note, &name_at, &id_at)) > 0) {
		const char *base = notes->d_buf;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(gnu) &&
		    memcmp(base + name_at, gnu, sizeof(gnu)) == 0 &&
		    take(base + id_at, note.n_descsz, ret))
			return true;
	}
	return false;
}

static bool in_segments(const struct vmop_elf *elf, struct vmop_build_id *ret)
{
	size_t n;
	if (elf_getphdrnum(elf->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(elf->elf, (int)i, &segment))
			return false;
		if (segment.p_type != PT_NOTE || segment.p_filesz > MAX_NOTES_BYTES ||
		    segment.p_offset > elf->len_bytes)
			continue;
		Elf_Data *notes =
			elf_getdata_rawchunk(elf->elf, (int64_t)segment.p_offset, segment.p_filesz,
					     segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && in_elf_data(notes, ret))
			return true;
	}
	return false;
}

static bool in_sections(const struct vmop_elf *elf, struct vmop_build_id *ret)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf->elf, section)) != NULL) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE ||
		    header.sh_size > MAX_NOTES_BYTES)
			continue;
		Elf_Data *notes = vmop_elf_section_data(elf, section);
		if (notes && in_elf_data(notes, ret))
			return true;
	}
	return false;
}

void vmop_build_id_of_elf(const struct vmop_elf *elf, struct vmop_build_id *ret)
{
	memset(ret, 0, sizeof(*ret));
	/* A file of debug information alone has the segment's header, but not always what it holds.
	 */
	if (!in_segments(elf, ret))
		in_sections(elf, ret);
}

struct vmop_error *vmop_build_id_of_fd(int fd, const char *path, struct vmop_build_id *ret)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf *elf = NULL;
	struct vmop_error *err = vmop_elf_create(fd, path, &elf);
	if (err)
		return err;
	vmop_build_id_of_elf(elf, ret);
	return NULL;
}

bool vmop_build_id_in_notes(const void *notes, size_t len_bytes, struct vmop_build_id *ret)
{
	const char *at = notes;
	size_t left = len_bytes;
	Elf32_Nhdr note; /* the same in both classes */

	while (left >= sizeof(note)) {
		memcpy(&note, at, sizeof(note));
		at += sizeof(note);
		left -= sizeof(note);
		uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
		uint64_t id_bytes = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
		if (name_bytes > left || note.n_descsz > left - name_bytes)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(gnu) &&
		    memcmp(at, gnu, sizeof(gnu)) == 0 && take(at + name_bytes, note.n_descsz, ret))
			return true;
		if (id_bytes > left - name_bytes)
			return false;
		at += name_bytes + id_bytes;
		left -= name_bytes + id_bytes;
	}
	return false;
}

void vmop_build_id_format(const struct vmop_build_id *id, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < id->len_bytes && i < VMOP_BUILD_ID_MAX_BYTES; i++) {
		*ret++ = digits[id->bytes[i] >> 4];
		*ret++ = digits[id->bytes[i] & 15];
	}
	*ret = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool vmop_build_id_parse(const char *hex, struct vmop_build_id *ret)
{
	uint8_t bytes[VMOP_BUILD_ID_MAX_BYTES];
	size_t len = strnlen(hex, 2 * sizeof(bytes) + 1);
	if (len % 2 || len == 0 || len > 2 * sizeof(bytes))
		return false;
	for (size_t i = 0; i < len / 2; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return take(bytes, len / 2, ret);
}

bool vmop_build_id_equal(const struct vmop_build_id *a, const struct vmop_build_id *b)
{
	return a->len_bytes == b->len_bytes && memcmp(a->bytes, b->bytes, a->len_bytes) == 0;
}
