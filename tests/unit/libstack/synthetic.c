// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libstack/synthetic.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"

static void put(struct synthetic_cfi *cfi, const void *bytes, size_t n)
{
	if (cfi->n + n > cfi->capacity) {
		cfi->capacity = 2 * (cfi->n + n) + 64;
		cfi->bytes = realloc(cfi->bytes, cfi->capacity);
		if (!cfi->bytes)
			abort();
	}
	if (n)
		memcpy(cfi->bytes + cfi->n, bytes, n);
	cfi->n += n;
}

static void put_byte(struct synthetic_cfi *cfi, uint8_t byte)
{
	put(cfi, &byte, 1);
}

static void put_u32(struct synthetic_cfi *cfi, uint32_t value)
{
	put(cfi, &value, sizeof(value));
}

static size_t begin_record(struct synthetic_cfi *cfi)
{
	size_t at = cfi->n;
	put_u32(cfi, 0);
	return at;
}

static void end_record(struct synthetic_cfi *cfi, size_t at)
{
	while ((cfi->n - at) % 8)
		put_byte(cfi, 0);
	uint32_t len_bytes = (uint32_t)(cfi->n - at - 4);
	memcpy(cfi->bytes + at, &len_bytes, sizeof(len_bytes));
}

void synthetic_deinit(struct synthetic_cfi *cfi)
{
	free(cfi->bytes);
	cfi->bytes = NULL;
}

void synthetic_cie(struct synthetic_cfi *cfi, const char *augmentation, uint8_t ra_column,
		   const void *program, size_t program_bytes)
{
	size_t at = begin_record(cfi);
	cfi->cie = at;
	put_u32(cfi, cfi->is_debug_frame ? UINT32_MAX : 0);
	put_byte(cfi, 1);
	put(cfi, augmentation, strlen(augmentation) + 1);
	put_byte(cfi, 1);
	put_byte(cfi, 0x78);
	put_byte(cfi, ra_column);
	/* One byte of augmentation data at most: 'R' with absolute pointers. */
	if (augmentation[0] == 'z') {
		bool has_encoding = strchr(augmentation, 'R') != NULL;
		put_byte(cfi, has_encoding);
		if (has_encoding)
			put_byte(cfi, 0);
	}
	put(cfi, program, program_bytes);
	end_record(cfi, at);
}

void synthetic_usual_cie(struct synthetic_cfi *cfi, uint16_t machine)
{
	/* def_cfa rsp 8, offset 16 at CFA - 8; def_cfa sp 0. */
	static const uint8_t x86_64[] = {0x0c, 7, 8, 0x90, 1}, arm64[] = {0x0c, 31, 0};
	const char *augmentation = cfi->is_debug_frame ? "" : "zR";
	if (machine == EM_AARCH64)
		synthetic_cie(cfi, augmentation, 30, arm64, sizeof(arm64));
	else
		synthetic_cie(cfi, augmentation, 16, x86_64, sizeof(x86_64));
}

void synthetic_fde(struct synthetic_cfi *cfi, uint64_t start, uint64_t len_bytes,
		   const void *program, size_t program_bytes)
{
	size_t at = begin_record(cfi);
	uint64_t address = start + SYNTHETIC_BIAS;
	put_u32(cfi, (uint32_t)(cfi->is_debug_frame ? cfi->cie : cfi->n - cfi->cie));
	put(cfi, &address, sizeof(address));
	put(cfi, &len_bytes, sizeof(len_bytes));
	if (!cfi->is_debug_frame)
		put_byte(cfi, 0);
	put(cfi, program, program_bytes);
	end_record(cfi, at);
}

static const char names[] = "\0.shstrtab\0.eh_frame\0.debug_frame";
enum { EH_FRAME_NAME = 11, DEBUG_FRAME_NAME = 21 };

/* Where the parts of the file are. */
struct plan {
	uint64_t eh_frame, debug_frame, search_table, names, sections, end;
};

static uint64_t align(uint64_t offset)
{
	return (offset + 15) & ~UINT64_C(15);
}

static struct plan make_plan(const struct synthetic_image *image)
{
	struct plan plan = {.eh_frame = SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES};
	/* The terminator is 4 bytes of 0. */
	plan.debug_frame = align(plan.eh_frame + (image->eh_frame ? image->eh_frame->n + 4 : 0));
	plan.search_table =
		align(plan.debug_frame + (image->debug_frame ? image->debug_frame->n : 0));
	plan.names = plan.search_table + 16;
	plan.sections = align(plan.names + sizeof(names));
	plan.end = plan.sections + 4 * sizeof(Elf64_Shdr);
	return plan;
}

/* Two notes: an owner's name, a description, a type, and the first two. */
static const uint8_t go_notes[] = {4,	0, 0, 0, 3,   0,   0, 0, 3, 0, 0, 0, 'G', 'N',
				   'U', 0, 1, 2, 3,   0,   4, 0, 0, 0, 1, 0, 0,	  0,
				   4,	0, 0, 0, 'G', 'o', 0, 0, 9, 0, 0, 0};
enum { NOTES = SYNTHETIC_TEXT - sizeof(go_notes) };

static void write_program_headers(const struct synthetic_image *image, const struct plan *plan,
				  uint8_t *file)
{
	Elf64_Phdr headers[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_vaddr = SYNTHETIC_BIAS,
		 .p_filesz = plan->end,
		 .p_memsz = plan->end},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = SYNTHETIC_TEXT,
		 .p_vaddr = SYNTHETIC_BIAS + SYNTHETIC_TEXT,
		 .p_filesz = SYNTHETIC_TEXT_BYTES,
		 .p_memsz = SYNTHETIC_TEXT_BYTES},
		{.p_type = image->has_search_table ? PT_GNU_EH_FRAME : PT_NULL,
		 .p_offset = plan->search_table,
		 .p_vaddr = SYNTHETIC_BIAS + plan->search_table,
		 .p_filesz = 12,
		 .p_memsz = 12},
		{.p_type = image->is_go ? PT_NOTE : PT_NULL,
		 .p_offset = NOTES,
		 .p_vaddr = SYNTHETIC_BIAS + NOTES,
		 .p_filesz = sizeof(go_notes),
		 .p_memsz = sizeof(go_notes)},
	};
	memcpy(file + sizeof(Elf64_Ehdr), headers, sizeof(headers));
	memcpy(file + NOTES, go_notes, sizeof(go_notes));
	/* Version 1, a pointer of 4 bytes relative to itself, no table. */
	uint8_t table[8] = {1, 0x1b, 0xff, 0xff};
	int32_t distance = (int32_t)(plan->eh_frame - plan->search_table - 4);
	memcpy(table + 4, &distance, sizeof(distance));
	memcpy(file + plan->search_table, table, sizeof(table));
}

static void write_sections(const struct synthetic_image *image, const struct plan *plan,
			   uint8_t *file)
{
	Elf64_Shdr headers[4] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = plan->names,
		 .sh_size = sizeof(names)},
	};
	if (image->eh_frame && !image->has_search_table)
		headers[2] = (Elf64_Shdr){.sh_name = EH_FRAME_NAME,
					  .sh_type = SHT_PROGBITS,
					  .sh_addr = SYNTHETIC_BIAS + plan->eh_frame,
					  .sh_offset = plan->eh_frame,
					  .sh_size = image->eh_frame->n};
	if (image->debug_frame)
		headers[3] = (Elf64_Shdr){.sh_name = DEBUG_FRAME_NAME,
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = plan->debug_frame,
					  .sh_size = image->debug_frame->n};
	memcpy(file + plan->names, names, sizeof(names));
	memcpy(file + plan->sections, headers, sizeof(headers));
}

uint8_t *synthetic_make(const struct synthetic_image *image, size_t *ret_len_bytes)
{
	struct plan plan = make_plan(image);
	uint8_t *file = calloc(1, plan.end);
	if (!file)
		abort();
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = image->machine ? image->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = image->entry ? image->entry + SYNTHETIC_BIAS : 0,
		.e_phoff = sizeof(header),
		.e_shoff = plan.sections,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 4,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 1,
	};
	memcpy(file, &header, sizeof(header));
	write_program_headers(image, &plan, file);
	write_sections(image, &plan, file);
	if (image->eh_frame)
		memcpy(file + plan.eh_frame, image->eh_frame->bytes, image->eh_frame->n);
	if (image->debug_frame)
		memcpy(file + plan.debug_frame, image->debug_frame->bytes, image->debug_frame->n);
	*ret_len_bytes = plan.end;
	return file;
}

struct vmop_error *synthetic_table(const struct synthetic_image *image, struct vmop_cfi_table **ret)
{
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)1 << 30,
					       .max_cpu_ns = 60 * VMOP_NS_PER_S};
	size_t len_bytes;
	uint8_t *file = synthetic_make(image, &len_bytes);
	struct vmop_error *err = vmop_cfi_table_build_from_memory(file, len_bytes, &limits, ret);
	free(file);
	return err;
}
