// SPDX-License-Identifier: GPL-2.0-or-later
/* Saved images of a guest's memory in each form, and files that only look like one. */
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libguest/guest.h"
#include "libguest/memory/internal.h"
#include "libutil/error.h"
#include "tests/unit/libguest/scratch.h"
#include "tests/unit/libguest/synthetic.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)
#define MAX_SEGMENTS 40
#define NOTES_BYTES 123 /* in QEMU's cores memory directly follows the notes, at any alignment */

static void write_at(const void *bytes, size_t len, uint64_t offset)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, (off_t)offset), len);
	close(fd);
}

/* Make a file of len bytes without data. */
static void make_file(uint64_t len)
{
	unlink(path);
	write_at("", 0, 0);
	assert_int_equal(truncate(path, (off_t)len), 0);
}

static void refused(enum vmop_error_code code, const char *words)
{
	struct vmop_guest_memory *memory;
	struct vmop_error *err = vmop_guest_memory_open_file(path, &memory);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	assert_non_null(strstr(err->message, words));
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
}

/* --- ELF cores ------------------------------------------------------------------------ */

struct core {
	Elf64_Ehdr header;
	Elf64_Phdr segment[MAX_SEGMENTS];
};

/* Start a core with a note and room for count more segments. Return the offset of memory. */
static uint64_t begin_core(struct core *core, uint16_t count)
{
	memset(core, 0, sizeof(*core));
	memcpy(core->header.e_ident, ELFMAG, SELFMAG);
	core->header.e_ident[EI_CLASS] = ELFCLASS64;
	core->header.e_ident[EI_DATA] = ELFDATA2LSB;
	core->header.e_type = ET_CORE;
	core->header.e_machine = EM_X86_64;
	core->header.e_phoff = sizeof(core->header);
	core->header.e_phnum = count + 1;
	core->segment[0] =
		(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = sizeof(*core), .p_filesz = NOTES_BYTES};
	return sizeof(*core) + NOTES_BYTES;
}

static void put_segment(struct core *core, unsigned int index, uint64_t offset, uint64_t gpa,
			uint64_t len)
{
	core->segment[index + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
						.p_offset = offset,
						.p_paddr = gpa,
						.p_filesz = len,
						.p_memsz = len};
}

static bool count_symbol(const struct vmop_guest_symbol *symbol, void *arg)
{
	*(size_t *)arg += symbol->module == NULL;
	return true;
}

/* The RAM of a guest in three segments, out of order and one of them above 4 GiB. */
static void a_dump_of_a_guest(void **state)
{
	const uint64_t split = SYNTHETIC_TEXT_GPA; /* the start of the kernel */
	struct synthetic made;
	struct vmop_guest *guest;
	struct core core;
	size_t symbols = 0;
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	uint64_t at = begin_core(&core, 3), rest = SYNTHETIC_RAM_BYTES - split;
	put_segment(&core, 0, at, split, rest);
	put_segment(&core, 1, at + rest, 4 * GIB, MIB);
	put_segment(&core, 2, at + rest + MIB, 0, split);
	make_file(at + rest + MIB + split);
	write_at(&core, sizeof(core), 0);
	write_at(made.ram + split, rest, at);
	write_at("above", 5, at + rest + 10);
	write_at(made.ram, split, at + rest + MIB);

	assert_null(vmop_guest_open_file(path, NULL, &guest));
	assert_null(vmop_guest_find_kernel(guest));
	assert_string_equal(vmop_guest_kernel_info(guest)->search_method, "trampoline");
	assert_int_equal(vmop_guest_ram_bytes(guest), SYNTHETIC_RAM_BYTES + MIB);
	assert_null(vmop_guest_each_symbol(guest, count_symbol, &symbols));
	assert_int_equal(symbols, made.symbol_count);
	vmop_guest_close(guest);
	synthetic_free(&made);

	struct vmop_guest_memory *memory;
	char text[6] = "", zero[4];
	assert_null(vmop_guest_memory_open_file(path, &memory));
	assert_true(vmop_guest_memory_read(memory, 4 * GIB + 10, text, 5));
	assert_string_equal(text, "above");
	assert_true(vmop_guest_memory_read(memory, 4 * GIB + MIB - 4, zero, 4));
	assert_false(vmop_guest_memory_read(memory, 4 * GIB + MIB - 4, text, 5));
	assert_false(vmop_guest_memory_read(memory, SYNTHETIC_RAM_BYTES, text, 1));
	vmop_guest_memory_close(memory);
}

/* A scan that stops early, or reads a part twice, fails this test. */
static void a_dump_is_scanned_once(void **state)
{
	struct vmop_guest_memory *memory;
	struct core core;
	(void)state;
	uint64_t at = begin_core(&core, 2);
	put_segment(&core, 0, at, 0, MIB + 100); /* the partial page at the end is ignored */
	put_segment(&core, 1, at + MIB + 100, 4 * GIB, MIB);
	make_file(at + 2 * MIB + 100);
	write_at(&core, sizeof(core), 0);
	write_at("x", 1, at + MIB + 100 + 8192);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	uint64_t linear = 0, len, above = 0;
	while (vmop_guest_memory_next_touched(memory, &linear, MIB, &len)) {
		assert_int_equal(linear % VMOP_GUEST_PAGE_BYTES, 0);
		uint64_t gpa = vmop_guest_memory_to_gpa(memory, linear);
		assert_int_equal(gpa % VMOP_GUEST_PAGE_BYTES, 0);
		above += gpa <= 4 * GIB + 8192 && gpa + len > 4 * GIB + 8192;
		linear += len;
	}
	assert_int_equal(above, 1);
	vmop_guest_memory_close(memory);
}

/* Write only core, to a file with room for 4 pages after it. */
static void write_core(const struct core *core)
{
	make_file(sizeof(*core) + NOTES_BYTES + 4 * VMOP_GUEST_PAGE_BYTES);
	write_at(core, sizeof(*core), 0);
}

static void cores_that_lie(void **state)
{
	struct core core;
	(void)state;
	uint64_t at = begin_core(&core, 1);
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "a dump without memory");
	put_segment(&core, 0, at, 0, 5 * VMOP_GUEST_PAGE_BYTES);
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "cut short");
	put_segment(&core, 0, UINT64_MAX - 4096, 0, 8192);
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "cut short");
	put_segment(&core, 0, at, 100, 8192);
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "impossible address 0x64");
	put_segment(&core, 0, at, UINT64_MAX - 4095, 8192);
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "impossible address 0x");
	put_segment(&core, 0, at, 0, 8192);
	core.header.e_phoff = UINT64_MAX - 8;
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "cut short");
	core.header.e_phoff = sizeof(core.header);
	core.header.e_phnum = PN_XNUM;
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "no dump of a guest's memory");
	core.header.e_phnum = 2;
	core.header.e_type = ET_DYN;
	write_core(&core);
	refused(VMOP_ERROR_CORRUPT, "no dump of a guest's memory");
}

static void a_core_in_too_many_pieces(void **state)
{
	struct core core;
	(void)state;
	uint64_t at = begin_core(&core, MAX_SEGMENTS - 1);
	for (unsigned int i = 0; i < MAX_SEGMENTS - 1; i++)
		put_segment(&core, i, at, i * MIB, 4096);
	write_core(&core);
	refused(VMOP_ERROR_LIMIT, "pieces");
}

/* --- others ------------------------------------------------------------------------------ */

/* A file of QMP's pmemsave from 0 on contains the hole. */
static void all_of_physical_memory(void **state)
{
	struct vmop_guest_memory *memory;
	bool is_there = false;
	(void)state;
	make_file(5 * GIB);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	for (size_t i = 0; i < vmop_guest_memory_placements(memory); i++) {
		vmop_guest_memory_select_placement(memory, i);
		bool is_flat =
			vmop_guest_memory_to_linear(memory, 5 * GIB - 1) == 5 * GIB - 1 &&
			vmop_guest_memory_to_linear(memory, 3 * GIB) == 3 * GIB &&
			vmop_guest_memory_to_linear(memory, 5 * GIB) == VMOP_GUEST_NO_ADDRESS;
		is_there |= is_flat;
	}
	assert_true(is_there);
	vmop_guest_memory_close(memory);
}

static void what_others_save(void **state)
{
	static const struct {
		const char *head, *words;
	} others[] = {{"KDUMP   \6", "a compressed dump"},
		      {"makedumpfile", "a compressed dump"},
		      {"QEVM", "a saved machine"},
		      {"LibvirtQemudSave", "a saved machine"},
		      {"QFI\xfb", "a disk"}};
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		make_file(MIB);
		write_at(others[i].head, strlen(others[i].head), 0);
		refused(VMOP_ERROR_CORRUPT, others[i].words);
	}
	make_file(100);
	refused(VMOP_ERROR_CORRUPT, "not an image");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600),
			 0); /* no process writes to it: the open must not wait */
	refused(VMOP_ERROR_CORRUPT, "not an image");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_of_a_guest),
		cmocka_unit_test(a_dump_is_scanned_once),
		cmocka_unit_test(cores_that_lie),
		cmocka_unit_test(a_core_in_too_many_pieces),
		cmocka_unit_test(all_of_physical_memory),
		cmocka_unit_test(what_others_save),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
