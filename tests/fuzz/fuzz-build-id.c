// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Notes that are searched for a build-id.  The ELF file around them is made here in memory, so that
 * no run is spent on a damaged header:
 * 	byte 0		class (bit 0: 32 bit), byte order (bit 1: big endian), number of
 * 			sections (bits 2 to 4)
 * 	4 bytes each	of those sections, and of one segment: offset and size in the rest
 * 	rest		the notes
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/build-id.h"
#include "libsym/elf/elf-file.h"

#define MAX_PLACES 8
#define MAX_NOTES_BYTES 4096
#define HEADERS_BYTES 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

struct place {
	uint16_t offset, len_bytes;
};

static struct image {
	char bytes[HEADERS_BYTES + MAX_NOTES_BYTES];
} image;

static uint64_t in_order(uint64_t value, unsigned width_bytes, bool big)
{
	return big ? __builtin_bswap64(value) >> (64 - 8 * width_bytes) : value;
}

#define PUT(struct_pointer, member, value)                                                         \
	((struct_pointer)->member = (__typeof__((struct_pointer)->member))in_order(                \
		 value, sizeof((struct_pointer)->member), big))

/* Both classes have the same member names. */
#define MAKE(Ehdr, Phdr, Shdr, CLASS)                                                              \
	do {                                                                                       \
		Ehdr *header = (Ehdr *)image.bytes;                                                \
		Phdr *segment = (Phdr *)(header + 1);                                              \
		Shdr *section = (Shdr *)(segment + 1);                                             \
		memcpy(header->e_ident, ELFMAG, SELFMAG);                                          \
		header->e_ident[EI_CLASS] = CLASS;                                                 \
		header->e_ident[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;                        \
		PUT(header, e_phoff, sizeof(*header));                                             \
		PUT(header, e_phnum, 1);                                                           \
		PUT(header, e_shoff, sizeof(*header) + sizeof(*segment));                          \
		PUT(header, e_shnum, n);                                                           \
		PUT(segment, p_type, PT_NOTE);                                                     \
		PUT(segment, p_offset, HEADERS_BYTES + places[0].offset);                          \
		PUT(segment, p_filesz, places[0].len_bytes);                                       \
		PUT(segment, p_align, places[0].offset & 1 ? 8 : 4);                               \
		for (size_t i = 1; i < n; i++) {                                                   \
			PUT(section + i, sh_type, SHT_NOTE);                                       \
			PUT(section + i, sh_offset, HEADERS_BYTES + places[i].offset);             \
			PUT(section + i, sh_size, places[i].len_bytes);                            \
			PUT(section + i, sh_addralign, places[i].offset & 1 ? 8 : 4);              \
		}                                                                                  \
	} while (0)

static void check(const struct vmop_build_id *id)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	struct vmop_build_id parsed;
	if (id->len_bytes == 0)
		return;
	if (id->len_bytes > VMOP_BUILD_ID_MAX_BYTES)
		abort();
	vmop_build_id_format(id, hex);
	if (!vmop_build_id_parse(hex, &parsed) || !vmop_build_id_equal(id, &parsed))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct place places[MAX_PLACES];
	struct vmop_build_id id = {0};
	if (len_bytes < 1)
		return 0;
	bool narrow = data[0] & 1, big = data[0] & 2;
	size_t n = 1 + (data[0] >> 2) % MAX_PLACES, places_bytes = n * sizeof(places[0]);
	if (len_bytes - 1 < places_bytes || n > MAX_PLACES)
		return 0;
	memcpy(places, data + 1, places_bytes);
	data += 1 + places_bytes;
	len_bytes -= 1 + places_bytes;
	if (len_bytes > MAX_NOTES_BYTES)
		len_bytes = MAX_NOTES_BYTES;
	memset(image.bytes, 0, HEADERS_BYTES);
	if (narrow)
		MAKE(Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, ELFCLASS32);
	else
		MAKE(Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, ELFCLASS64);
	/* A block of its exact size, so that a sanitizer detects reads behind its end. */
	size_t image_len_bytes = HEADERS_BYTES + len_bytes;
	char *copy = malloc(image_len_bytes);
	if (!copy)
		abort();
	memcpy(copy, image.bytes, HEADERS_BYTES);
	memcpy(copy + HEADERS_BYTES, data, len_bytes);

	struct vmop_sym_budget budget;
	struct vmop_elf_file *elf;
	vmop_sym_budget_init(&budget);
	struct vmop_error *err =
		vmop_elf_create_in_memory(copy, image_len_bytes, "fuzz", &budget, &elf);
	if (err)
		abort(); /* the headers are valid */
	err = vmop_build_id_of_elf(elf, &id);
	if (err)
		abort(); /* so few notes are never too costly */
	check(&id);
	vmop_elf_destroy(elf);
	if (budget.memory_left_bytes != VMOP_SYM_BUDGET_MEMORY_BYTES)
		abort();
	if (vmop_build_id_in_notes(copy + HEADERS_BYTES, len_bytes, &id))
		check(&id);
	free(copy);
	return 0;
}
