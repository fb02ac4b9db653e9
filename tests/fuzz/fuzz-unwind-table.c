// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwinder with tables that are built from an ELF image: its functions have the input's CFA
 * programs. Registers and stack are the input's, too.
 */
#include "tests/fuzz/unwind-world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum {
	N_FUNCTIONS = 4,
	PROGRAM_BYTES = 27,
	FUNCTION_BYTES = 0x400,
	TEXT = 0x1000, /* of the first function */
};

struct __attribute__((packed)) fde {
	uint32_t len_bytes, cie_distance;
	int32_t function;
	uint32_t function_bytes;
	uint8_t augmentation_bytes, program[PROGRAM_BYTES];
};

struct __attribute__((packed)) elf_image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t search_header[4];
	int32_t eh_frame_distance;
	struct __attribute__((packed)) {
		uint32_t len_bytes, id;
		uint8_t version;
		char augmentation[4];
		uint8_t code_alignment, data_alignment, ra, augmentation_bytes, encoding;
		uint8_t program[6];
	} cie;
	struct fde fdes[N_FUNCTIONS];
	uint32_t end;
};

static void make_headers(struct elf_image *elf, uint16_t machine)
{
	const size_t at = offsetof(struct elf_image, search_header);
	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->header.e_ident[EI_VERSION] = EV_CURRENT;
	elf->header.e_type = ET_DYN;
	elf->header.e_machine = machine;
	elf->header.e_version = EV_CURRENT;
	elf->header.e_ehsize = sizeof(elf->header);
	elf->header.e_phoff = offsetof(struct elf_image, segments);
	elf->header.e_phentsize = sizeof(elf->segments[0]);
	elf->header.e_phnum = 2;
	elf->header.e_entry = TEXT;
	elf->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_filesz = FUZZ_CODE_BYTES,
					.p_memsz = FUZZ_CODE_BYTES,
					.p_align = 0x1000};
	elf->segments[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					.p_flags = PF_R,
					.p_offset = at,
					.p_vaddr = at,
					.p_filesz = 8,
					.p_memsz = 8};
}

static void make_cfi(struct elf_image *elf, struct fuzz_input *input, bool is_arm64)
{
	static const uint8_t search_header[] = {1, 0x1b, 0xff, 0xff};
	uint8_t flags = fuzz_byte(input);
	memcpy(elf->search_header, search_header, sizeof(search_header));
	elf->eh_frame_distance = 4;
	elf->cie.len_bytes = sizeof(elf->cie) - 4;
	elf->cie.version = 1;
	memcpy(elf->cie.augmentation, flags & 1 ? "zRS" : "zR", flags & 1 ? 4 : 3);
	elf->cie.code_alignment = 1;
	elf->cie.data_alignment = 0x78;
	elf->cie.ra = is_arm64 ? 30 : 16;
	elf->cie.augmentation_bytes = 1;
	elf->cie.encoding = 0x1b;
	if (!(flags & 1)) /* "zR" is one byte shorter */
		memmove((uint8_t *)&elf->cie + 12, (uint8_t *)&elf->cie + 13,
			sizeof(elf->cie) - 13);
	fuzz_take(input, elf->cie.program, sizeof(elf->cie.program));
	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		struct fde *fde = &elf->fdes[i];
		size_t at = offsetof(struct elf_image, fdes) + i * sizeof(*fde);
		fde->len_bytes = sizeof(*fde) - 4;
		fde->cie_distance = (uint32_t)(at + 4 - offsetof(struct elf_image, cie));
		fde->function = (int32_t)(TEXT + i * FUNCTION_BYTES - (at + 8));
		fde->function_bytes = FUNCTION_BYTES;
		fuzz_take(input, fde->program, sizeof(fde->program));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const struct vmop_cfi_limits limits = {.max_bytes = 1 << 20,
						      .max_cpu_ns = 10000000000};
	static union {
		struct elf_image elf;
		uint8_t bytes[FUZZ_CODE_BYTES];
	} image;
	struct fuzz_input input = {data, len_bytes};
	struct vmop_cfi_table *table = NULL;
	bool is_arm64 = fuzz_byte(&input) & 1;
	memset(&image.elf, 0, sizeof(image.elf));
	make_headers(&image.elf, is_arm64 ? EM_AARCH64 : EM_X86_64);
	make_cfi(&image.elf, &input, is_arm64);
	struct vmop_error *err =
		vmop_cfi_table_build_from_memory(&image, sizeof(image), &limits, &table);
	vmop_error_destroy(err);
	if (table)
		fuzz_unwind(&input, is_arm64 ? EM_AARCH64 : EM_X86_64, table);
	vmop_cfi_table_destroy(table);
	return 0;
}
