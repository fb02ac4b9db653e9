// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/image.h"

#include <elf.h>
#include <string.h>

#include "libstack/budget.h"
#include "libstack/cursor.h"
#include "libstack/table.h"
#include "libutil/elf/compressed.h"
#include "libutil/error.h"
#include "libutil/io.h"

/* Executables and libraries have some ten of each. */
enum { MAX_PROGRAM_HEADERS = 256, MAX_SECTION_HEADERS = 4096, HEADERS_A_READ = 32 };

/* The unit that a reader can read or not: larger pages end where some of these do. */
enum { PAGE_BYTES = 4096 };

static struct vmop_error *damaged(const char *what)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT, "%s", what);
}

static bool read_at(const struct vmop_cfi_image *image, uint64_t offset, void *buf,
		    size_t len_bytes)
{
	if (image->reader)
		return image->reader->read(image->reader->arg, offset, buf, len_bytes);
	if (image->fd >= 0)
		return offset <= INT64_MAX &&
		       vmop_io_pread_full(image->fd, buf, len_bytes, offset) == (ssize_t)len_bytes;
	if (offset > image->memory_bytes || image->memory_bytes - offset < len_bytes)
		return false;
	memcpy(buf, (const uint8_t *)image->memory + offset, len_bytes);
	return true;
}

/* Read a header of a table. The number of headers is bounded, so the sum does not overflow. */
static bool read_header(const struct vmop_cfi_image *image, uint64_t table, uint32_t index,
			void *buf, size_t header_bytes)
{
	return table <= INT64_MAX &&
	       read_at(image, table + index * header_bytes, buf, header_bytes);
}

static bool is_supported(const Elf64_Ehdr *header)
{
	return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (header->e_machine == EM_X86_64 || header->e_machine == EM_AARCH64) &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

/* Set the number of sections and the names' section, which can be in the first section header. */
static void read_section_numbers(struct vmop_cfi_image *image, const Elf64_Ehdr *header)
{
	Elf64_Shdr first;
	image->section_headers = header->e_shoff;
	image->n_section_headers = header->e_shnum;
	image->names_section = header->e_shstrndx;
	if (!header->e_shoff || header->e_shentsize != sizeof(first) ||
	    !read_header(image, header->e_shoff, 0, &first, sizeof(first))) {
		image->n_section_headers = 0;
		return;
	}
	if (!header->e_shnum)
		image->n_section_headers = (uint32_t)first.sh_size;
	if (header->e_shstrndx == SHN_XINDEX)
		image->names_section = first.sh_link;
	if (image->n_section_headers > MAX_SECTION_HEADERS)
		image->n_section_headers = MAX_SECTION_HEADERS;
}

static void add_segment(struct vmop_cfi_image *image, const Elf64_Phdr *header)
{
	uint64_t len_bytes =
			 header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz,
		 end;
	if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
	    image->n_segments == VMOP_CFI_MAX_SEGMENTS ||
	    __builtin_add_overflow(header->p_vaddr, len_bytes, &end) ||
	    __builtin_add_overflow(header->p_offset, len_bytes, &end) || end > INT64_MAX)
		return;
	image->segments[image->n_segments++] = (struct vmop_cfi_segment){
		.address = header->p_vaddr, .offset = header->p_offset, .len_bytes = len_bytes};
	if (__builtin_add_overflow(image->text_bytes, len_bytes, &image->text_bytes))
		image->text_bytes = UINT64_MAX;
}

/* Return whether a segment has a note of Go's linker (cmd/link/internal/ld/elf.go). */
static bool has_go_note(const struct vmop_cfi_image *image, const Elf64_Phdr *segment)
{
	enum { MAX_NOTES = 8, GO_BUILD_ID = 4 };
	struct {
		Elf64_Nhdr header;
		char name[4];
	} note;
	uint64_t at = 0;
	for (int i = 0; i < MAX_NOTES && segment->p_type == PT_NOTE; i++) {
		uint64_t offset;
		if (at > segment->p_filesz || segment->p_filesz - at < sizeof(note) ||
		    __builtin_add_overflow(segment->p_offset, at, &offset) ||
		    !read_at(image, offset, &note, sizeof(note)))
			return false;
		if (note.header.n_namesz == sizeof(note.name) &&
		    note.header.n_type == GO_BUILD_ID &&
		    memcmp(note.name, "Go\0", sizeof(note.name)) == 0)
			return true;
		at += sizeof(note.header) + (((uint64_t)note.header.n_namesz + 3) & ~UINT64_C(3)) +
		      (((uint64_t)note.header.n_descsz + 3) & ~UINT64_C(3));
	}
	return false;
}

struct vmop_error *vmop_cfi_image_read(struct vmop_cfi_image *image)
{
	Elf64_Ehdr header;
	if (!read_at(image, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return damaged("not an ELF file");
	if (!is_supported(&header))
		return damaged("not a program or library for x86-64 or arm64");
	image->machine = header.e_machine;
	image->entry = header.e_entry;
	image->program_headers = header.e_phoff;
	image->n_program_headers =
		header.e_phnum < MAX_PROGRAM_HEADERS ? header.e_phnum : MAX_PROGRAM_HEADERS;
	read_section_numbers(image, &header);
	image->n_segments = 0;
	image->text_bytes = 0;
	image->is_go = false;
	for (uint32_t i = 0; i < image->n_program_headers; i++) {
		Elf64_Phdr segment;
		if (header.e_phentsize != sizeof(segment) ||
		    !read_header(image, header.e_phoff, i, &segment, sizeof(segment)))
			return damaged("its program headers are damaged");
		add_segment(image, &segment);
		image->is_go |= has_go_note(image, &segment);
	}
	return NULL;
}

/* A range of the image's bytes and its address. */
struct extent {
	uint64_t address, offset, len_bytes;
	enum vmop_compression compression;
};

/* Find the rest, from address on, of the segment that contains it. */
static bool find_rest(const struct vmop_cfi_image *image, uint64_t address, struct extent *ret)
{
	for (uint32_t i = 0; i < image->n_program_headers; i++) {
		Elf64_Phdr header;
		if (!read_header(image, image->program_headers, i, &header, sizeof(header)))
			return false;
		if (header.p_type != PT_LOAD || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		uint64_t skipped = address - header.p_vaddr;
		*ret = (struct extent){.address = address, .len_bytes = header.p_filesz - skipped};
		return !__builtin_add_overflow(header.p_offset, skipped, &ret->offset);
	}
	return false;
}

/* Find the search table of .eh_frame, which contains the address of .eh_frame. */
static bool find_eh_frame_header(const struct vmop_cfi_image *image, struct extent *ret)
{
	for (uint32_t i = 0; i < image->n_program_headers; i++) {
		Elf64_Phdr header;
		if (!read_header(image, image->program_headers, i, &header, sizeof(header)))
			return false;
		if (header.p_type != PT_GNU_EH_FRAME)
			continue;
		*ret = (struct extent){.address = header.p_vaddr,
				       .offset = header.p_offset,
				       .len_bytes = header.p_filesz};
		return true;
	}
	return false;
}

/*
 * Find .eh_frame by its search table (Linux Standard Base 5, section 10.6.2): version 1, three
 * encodings, the pointer. Its length is not there: the segment's end bounds it.
 */
static bool find_eh_frame_by_header(const struct vmop_cfi_image *image, struct extent *ret)
{
	struct extent header;
	uint8_t bytes[16] = {0};
	if (!find_eh_frame_header(image, &header))
		return false;
	size_t len_bytes = header.len_bytes < sizeof(bytes) ? header.len_bytes : sizeof(bytes);
	if (!read_at(image, header.offset, bytes, len_bytes) || bytes[0] != 1)
		return false;
	struct vmop_cfi_cursor cursor = {.at = bytes + 4, .end = bytes + sizeof(bytes)};
	uint64_t address = vmop_cfi_pointer(&cursor, bytes[1], header.address + 4, header.address);
	return !cursor.is_bad && find_rest(image, address, ret);
}

/* Check a section's name, which begins at an offset of the names' section. */
static bool has_name(const struct vmop_cfi_image *image, const Elf64_Shdr *names, uint32_t at,
		     const char *name)
{
	char buf[sizeof(".zdebug_frame")];
	uint64_t offset;
	size_t len_bytes = strlen(name) + 1;
	return !__builtin_add_overflow(names->sh_offset, at, &offset) &&
	       read_at(image, offset, buf, len_bytes) && memcmp(buf, name, len_bytes) == 0;
}

/* Sections that are empty in this file (of a debug file) can't be used. */
static bool is_usable(const Elf64_Shdr *header)
{
	return (header->sh_type == SHT_PROGBITS || header->sh_type == SHT_X86_64_UNWIND) &&
	       header->sh_size > 0;
}

static bool find_section(const struct vmop_cfi_image *image, const char *name, struct extent *ret)
{
	Elf64_Shdr names, headers[HEADERS_A_READ];
	uint32_t n = image->n_section_headers;
	if (image->names_section >= n || !read_header(image, image->section_headers,
						      image->names_section, &names, sizeof(names)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = n - i, slot = i % HEADERS_A_READ;
		size_t n_read = left < HEADERS_A_READ ? left : HEADERS_A_READ;
		if (slot == 0 && !read_at(image, image->section_headers + i * sizeof(*headers),
					  headers, n_read * sizeof(*headers)))
			return false;
		const Elf64_Shdr *header = &headers[slot];
		if (!is_usable(header) || !has_name(image, &names, header->sh_name, name))
			continue;
		*ret = (struct extent){.address = header->sh_addr,
				       .offset = header->sh_offset,
				       .len_bytes = header->sh_size,
				       .compression = header->sh_flags & SHF_COMPRESSED
							      ? VMOP_COMPRESSION_CHDR
							      : VMOP_COMPRESSION_NONE};
		return true;
	}
	return false;
}

static bool find_debug_frame(const struct vmop_cfi_image *image, struct extent *ret)
{
	if (find_section(image, ".debug_frame", ret))
		return true;
	bool is_found = find_section(image, ".zdebug_frame", ret);
	ret->compression = VMOP_COMPRESSION_ZDEBUG;
	return is_found;
}

/*
 * Find .eh_frame. Programs have its address in the program headers, and the section header adds its
 * length. Static programs may lack the first, and files without section headers the second.
 */
static bool find_eh_frame(const struct vmop_cfi_image *image, struct extent *ret)
{
	struct extent section;
	/* A loaded section is never compressed. */
	bool has_section = find_section(image, ".eh_frame", &section) &&
			   section.compression == VMOP_COMPRESSION_NONE;
	if (!find_eh_frame_by_header(image, ret)) {
		*ret = section;
		return has_section;
	}
	if (has_section && section.address == ret->address && section.len_bytes < ret->len_bytes)
		ret->len_bytes = section.len_bytes;
	return true;
}

/* Add a hole, or make the last one larger that ends where it begins. False: no memory. */
static bool add_hole(struct vmop_cfi_section *section, size_t start, size_t end,
		     struct vmop_cfi_budget *budget)
{
	struct vmop_cfi_hole *last =
		section->n_holes ? &section->holes[section->n_holes - 1] : NULL;
	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	if (!vmop_cfi_budget_reserve(budget, section->holes, section->hole_capacity,
				     section->n_holes))
		return false;
	section->holes[section->n_holes++] = (struct vmop_cfi_hole){.start = start, .end = end};
	return true;
}

/* Read the pages that can be read. The others are holes of zeros. */
static struct vmop_error *read_pages(const struct vmop_cfi_image *image, uint64_t offset,
				     struct vmop_cfi_budget *budget, struct vmop_cfi_section *ret)
{
	uint8_t *bytes = (uint8_t *)ret->bytes;
	for (size_t at = 0, len; at < ret->len_bytes; at += len) {
		len = PAGE_BYTES - (size_t)((offset + at) % PAGE_BYTES);
		if (len > ret->len_bytes - at)
			len = ret->len_bytes - at;
		if (!vmop_cfi_budget_work(budget, PAGE_BYTES))
			return vmop_cfi_budget_error(budget);
		if (read_at(image, offset + at, bytes + at, len))
			continue;
		memset(bytes + at, 0, len);
		if (!add_hole(ret, at, at + len, budget))
			return vmop_cfi_budget_error(budget);
	}
	return NULL;
}

static struct vmop_error *read_extent(const struct vmop_cfi_image *image,
				      const struct extent *extent, bool may_have_holes,
				      struct vmop_cfi_budget *budget, struct vmop_cfi_section *ret)
{
	struct vmop_error *err = NULL;
	uint8_t *bytes = vmop_cfi_budget_resize(budget, NULL, 0, extent->len_bytes, 1);
	if (!bytes)
		return vmop_cfi_budget_error(budget);
	ret->address = extent->address;
	ret->bytes = bytes;
	ret->len_bytes = extent->len_bytes;
	if (read_at(image, extent->offset, bytes, extent->len_bytes))
		return NULL;
	if (image->reader && may_have_holes)
		err = read_pages(image, extent->offset, budget, ret);
	else
		err = damaged("it ends before its call frame information");
	if (err)
		vmop_cfi_image_free_cfi(ret, budget);
	return err;
}

void vmop_cfi_image_free_cfi(struct vmop_cfi_section *section, struct vmop_cfi_budget *budget)
{
	vmop_cfi_budget_free(budget, (void *)section->bytes, section->len_bytes, 1);
	vmop_cfi_budget_free(budget, section->holes, section->hole_capacity,
			     sizeof(*section->holes));
	section->bytes = NULL;
	section->holes = NULL;
	section->len_bytes = section->n_holes = section->hole_capacity = 0;
}

/*
 * Replace ret's bytes by the decompressed ones, for whose claimed length the budget pays before a
 * byte is unpacked. ret has none if this build cannot unpack them.
 */
static struct vmop_error *decompress(enum vmop_compression compression,
				     struct vmop_cfi_budget *budget, struct vmop_cfi_section *ret)
{
	uint8_t *packed = (uint8_t *)ret->bytes, *plain = NULL;
	size_t packed_bytes = ret->len_bytes;
	struct vmop_compressed compressed;
	struct vmop_error *err = NULL;
	ret->bytes = NULL;
	if (!vmop_compressed_read(compression, packed, packed_bytes, &compressed)) {
		err = damaged("its compressed call frame information is damaged");
	} else if (vmop_compressed_is_supported(&compressed)) {
		plain = vmop_cfi_budget_resize(budget, NULL, 0, compressed.plain_bytes, 1);
		if (!plain)
			err = vmop_cfi_budget_error(budget);
		else if (!vmop_compressed_unpack(&compressed, plain))
			err = damaged("its compressed call frame information is damaged");
		else if (!vmop_cfi_budget_check_time(budget))
			err = vmop_cfi_budget_error(budget);
	}
	vmop_cfi_budget_free(budget, packed, packed_bytes, 1);
	if (err) {
		vmop_cfi_budget_free(budget, plain, compressed.plain_bytes, 1);
		return err;
	}
	ret->bytes = plain;
	ret->len_bytes = compressed.plain_bytes;
	return NULL;
}

struct vmop_error *vmop_cfi_image_read_cfi(const struct vmop_cfi_image *image, bool is_debug_frame,
					   struct vmop_cfi_budget *budget,
					   struct vmop_cfi_section *ret)
{
	struct extent extent;
	*ret = (struct vmop_cfi_section){.is_debug_frame = is_debug_frame,
					 .machine = image->machine};
	if (is_debug_frame ? !find_debug_frame(image, &extent) : !find_eh_frame(image, &extent))
		return NULL;
	struct vmop_error *err = read_extent(image, &extent, !is_debug_frame, budget, ret);
	return !err && extent.compression ? decompress(extent.compression, budget, ret) : err;
}

struct vmop_error *vmop_cfi_image_read_search_table(const struct vmop_cfi_image *image,
						    struct vmop_cfi_budget *budget,
						    struct vmop_cfi_section *ret)
{
	struct extent extent;
	*ret = (struct vmop_cfi_section){.machine = image->machine};
	if (!find_eh_frame_header(image, &extent) || !extent.len_bytes)
		return NULL;
	return read_extent(image, &extent, true, budget, ret);
}

const struct vmop_cfi_segment *vmop_cfi_image_segment(const struct vmop_cfi_image *image,
						      uint64_t address)
{
	for (size_t i = 0; i < image->n_segments; i++)
		if (address >= image->segments[i].address &&
		    address - image->segments[i].address < image->segments[i].len_bytes)
			return &image->segments[i];
	return NULL;
}
