// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/build-id.h"

#include <byteswap.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/elf/elf-file.h"
#include "libutil/cleanup.h"

/* A build-id note has 36 bytes. Its neighbours need no more than this either. */
#define MAX_NOTES_BYTES ((size_t)65536)

/* The limit for all notes of a file. The kernel image has a few KiB. */
#define MAX_ALL_NOTES_BYTES ((size_t)4 << 20)

/* The name in a note, with its NUL. */
static const char gnu[4] = "GNU";

/* Store the id if it fits. Like the kernel, treat a longer id as none. */
static bool take(const void *id, size_t len_bytes, struct vmop_build_id *ret)
{
	if (len_bytes == 0 || len_bytes > VMOP_BUILD_ID_MAX_BYTES)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->bytes, id, len_bytes);
	ret->len_bytes = (uint8_t)len_bytes;
	return true;
}

/* Return whether notes contain a build-id. align_bytes (4 or 8) pads names and contents. */
static bool in_notes(const char *at, size_t left, unsigned align_bytes, bool swapped,
		     struct vmop_build_id *ret)
{
	const uint64_t padding = align_bytes - 1;
	Elf32_Nhdr note; /* the same in both classes */

	while (left >= sizeof(note)) {
		memcpy(&note, at, sizeof(note));
		uint64_t name_len_bytes = swapped ? bswap_32(note.n_namesz) : note.n_namesz;
		uint64_t id_len_bytes = swapped ? bswap_32(note.n_descsz) : note.n_descsz;
		uint32_t type = swapped ? bswap_32(note.n_type) : note.n_type;
		uint64_t id_at = (sizeof(note) + name_len_bytes + padding) & ~padding;
		uint64_t next_at = (id_at + id_len_bytes + padding) & ~padding;
		if (id_at > left || id_len_bytes > left - id_at)
			return false;
		if (type == NT_GNU_BUILD_ID && name_len_bytes == sizeof(gnu) &&
		    memcmp(at + sizeof(note), gnu, sizeof(gnu)) == 0 &&
		    take(at + id_at, id_len_bytes, ret))
			return true;
		if (next_at >= left)
			return false;
		at += next_at;
		left -= next_at;
	}
	return false;
}

/* A search through all notes of a file. */
struct search {
	const struct vmop_elf_file *elf;
	size_t left_bytes; /* for all notes of the file, which can overlap */
	char *notes;	   /* buffer for the notes of one segment or section */
	struct vmop_build_id *ret;
};

/*
 * Return whether the notes at offset contain a build-id. Set *ret_err if that would cost too much.
 */
static bool search_place(struct search *search, uint64_t offset, uint64_t len_bytes,
			 uint64_t align_bytes, struct vmop_error **ret_err)
{
	const struct vmop_elf_file *elf = search->elf;
	bool swapped = elf->header.e_ident[EI_DATA] !=
		       (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	if (*ret_err || len_bytes == 0 || len_bytes > MAX_NOTES_BYTES)
		return false;
	if (len_bytes > search->left_bytes)
		vmop_sym_budget_spend(elf->budget, VMOP_SYM_COST_NOTES);
	if (len_bytes > search->left_bytes || !vmop_sym_budget_take_read(elf->budget, len_bytes) ||
	    !vmop_sym_budget_take_steps(elf->budget, len_bytes / sizeof(Elf32_Nhdr))) {
		*ret_err = vmop_sym_budget_error(elf->budget, elf->path);
		return false;
	}
	search->left_bytes -= len_bytes;
	return vmop_elf_read_at(elf, offset, search->notes, len_bytes) &&
	       in_notes(search->notes, len_bytes, align_bytes == 8 ? 8 : 4, swapped, search->ret);
}

struct vmop_error *vmop_build_id_of_elf(const struct vmop_elf_file *elf, struct vmop_build_id *ret)
{
	_cleanup_free_ char *notes = malloc(MAX_NOTES_BYTES);
	struct search search = {
		.elf = elf,
		.left_bytes = MAX_ALL_NOTES_BYTES,
		.notes = notes,
		.ret = ret,
	};
	struct vmop_error *err = NULL;

	memset(ret, 0, sizeof(*ret));
	if (!notes)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < elf->n_segments && !err; i++) {
		const GElf_Phdr *segment = &elf->segments[i];
		if (segment->p_type == PT_NOTE &&
		    search_place(&search, segment->p_offset, segment->p_filesz, segment->p_align,
				 &err))
			return NULL;
	}
	/* A debug file has the header of the segment, but not always its content. */
	for (size_t i = 1; i < elf->n_sections && !err; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		if (section->sh_type == SHT_NOTE && !(section->sh_flags & SHF_COMPRESSED) &&
		    search_place(&search, section->sh_offset, section->sh_size,
				 section->sh_addralign, &err))
			return NULL;
	}
	return err;
}

struct vmop_error *vmop_build_id_of_fd(int fd, const char *path, struct vmop_build_id *ret)
{
	struct vmop_sym_budget budget; /* outlives elf */
	_cleanup_(vmop_elf_cleanup) struct vmop_elf_file *elf = NULL;
	vmop_sym_budget_init(&budget);
	struct vmop_error *err = vmop_elf_create(fd, path, &budget, &elf);
	return err ? err : vmop_build_id_of_elf(elf, ret);
}

bool vmop_build_id_in_notes(const void *notes, size_t len_bytes, struct vmop_build_id *ret)
{
	return in_notes(notes, len_bytes, 4, false, ret);
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
