// SPDX-License-Identifier: GPL-2.0-or-later
/* The small formats: VMCOREINFO, ELF notes, ELF program headers. */
#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/memory/elf-header.h"
#include "libguest/memory/note.h"

static void vmcoreinfo(void **state)
{
	static const char text[] =
		"OSRELEASE=6.1.0\nBUILD-ID=00ff10abcd\nPAGESIZE=4096\n"
		"SYMBOL(swapper_pg_dir)=ffffffff83010000\nKERNELOFFSET=1f000000\n"
		"NUMBER(phys_base)=-1048576\nNUMBER(pgtable_l5_enabled)=1\nrest";
	struct vmop_vmcoreinfo info;
	(void)state;
	assert_true(vmop_vmcoreinfo_parse(text, sizeof(text), &info));
	assert_string_equal(info.release, "6.1.0");
	assert_int_equal(info.swapper_pg_dir, UINT64_C(0xffffffff83010000));
	assert_int_equal(info.kernel_offset, 0x1f000000);
	assert_true(info.phys_base == -1048576);
	assert_true(info.has_5_levels);
	assert_int_equal(info.build_id_len_bytes, 5);
	assert_memory_equal(info.build_id, "\x00\xff\x10\xab\xcd", 5);
	assert_false(vmop_vmcoreinfo_parse(text, 20, &info)); /* cut before the page table */
	assert_false(vmop_vmcoreinfo_parse("", 0, &info));
	char endless[8192];
	memset(endless, 'x', sizeof(endless));
	memcpy(endless, "OSRELEASE=", 10);
	assert_false(vmop_vmcoreinfo_parse(endless, sizeof(endless), &info));
	assert_int_equal(strlen(info.release), 64);
}

static void note(uint8_t *at, uint32_t name, uint32_t content, uint32_t type, const char *text)
{
	const uint32_t header[3] = {name, content, type};
	memcpy(at, header, sizeof(header));
	memcpy(at + 12, text, 4);
}

static void notes(void **state)
{
	uint8_t bytes[128] = {0}, id[20];
	(void)state;
	note(bytes, 4, 5, 7, "XYZ");
	note(bytes + 24, 4, 20, NT_GNU_BUILD_ID, "GNU");
	memset(bytes + 40, 0x5a, 20);
	assert_int_equal(vmop_note_build_id(bytes, sizeof(bytes), id), 20);
	assert_int_equal(id[19], 0x5a);
	assert_int_equal(vmop_note_build_id(bytes, 59, id), 0); /* cut */
	assert_int_equal(vmop_note_build_id(bytes, 0, id), 0);
	note(bytes, UINT32_MAX, UINT32_MAX, 7, "XYZ"); /* sizes that overflow */
	assert_int_equal(vmop_note_build_id(bytes, sizeof(bytes), id), 0);
	note(bytes, 4, 64, NT_GNU_BUILD_ID,
	     "GNU"); /* longer than a build-id can be: cut to its start */
	assert_int_equal(vmop_note_build_id(bytes, sizeof(bytes), id), 20);
}

struct file {
	const uint8_t *bytes;
	size_t len, reads;
};

static bool read_file(void *arg, uint64_t offset, void *buf, size_t len)
{
	struct file *file = arg;
	file->reads++;
	if (offset > file->len || len > file->len - offset)
		return false;
	memcpy(buf, file->bytes + offset, len);
	return true;
}

static void program_headers(void **state)
{
	uint8_t bytes[4096] = {0}, id[20];
	struct file file = {.bytes = bytes, .len = sizeof(bytes)};
	(void)state;
	Elf32_Ehdr header = {.e_phoff = 64, .e_phnum = 2};
	Elf32_Phdr segments[2] = {{.p_type = PT_LOAD, .p_filesz = 4096},
				  {.p_type = PT_NOTE, .p_offset = 512, .p_filesz = 36}};
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + 64, segments, sizeof(segments));
	note(bytes + 512, 4, 20, NT_GNU_BUILD_ID, "GNU");
	assert_int_equal(vmop_guest_elf_header_build_id(read_file, &file, id), 20);
	segments[1].p_offset = UINT32_MAX;
	memcpy(bytes + 64, segments, sizeof(segments));
	assert_int_equal(vmop_guest_elf_header_build_id(read_file, &file, id), 0);
	header.e_phnum = 65535;
	header.e_phoff = 0;
	memcpy(bytes, &header, sizeof(header));
	file.reads = 0;
	assert_int_equal(vmop_guest_elf_header_build_id(read_file, &file, id), 0);
	assert_true(file.reads < 200);
	bytes[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(vmop_guest_elf_header_build_id(read_file, &file, id), 0);
	file.len = 10;
	assert_int_equal(vmop_guest_elf_header_build_id(read_file, &file, id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vmcoreinfo),
		cmocka_unit_test(notes),
		cmocka_unit_test(program_headers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
