// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/build-id.h"

static void an_id_is_printed_and_parsed(void **state)
{
	(void)state;
	struct vmop_build_id id;
	char text[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	assert_true(vmop_build_id_parse("00ffA5", &id));
	assert_int_equal(id.len_bytes, 3);
	vmop_build_id_format(&id, text);
	assert_string_equal(text, "00ffa5");
	assert_true(vmop_build_id_parse("0123456789abcdef0123456789abcdef01234567", &id));
	assert_int_equal(id.len_bytes, 20);
	vmop_build_id_format(&id, text);
	assert_string_equal(text, "0123456789abcdef0123456789abcdef01234567");
}

static void no_id_is_parsed_from_other_text(void **state)
{
	(void)state;
	struct vmop_build_id id = {.len_bytes = 7};
	assert_false(vmop_build_id_parse("", &id));
	assert_false(vmop_build_id_parse("abc", &id));
	assert_false(vmop_build_id_parse("0g", &id));
	assert_false(vmop_build_id_parse("0x12", &id));
	assert_false(vmop_build_id_parse("0123456789abcdef0123456789abcdef0123456789", &id));
	assert_int_equal(id.len_bytes, 7);
}

/* Write one note (4-aligned, as in ELF) and return the address of the next. */
static char *put_note(char *at, const char *name, uint32_t type, const void *desc, uint32_t len)
{
	Elf32_Nhdr note = {
		.n_namesz = (uint32_t)strlen(name) + 1,
		.n_descsz = len,
		.n_type = type,
	};
	memcpy(at, &note, sizeof(note));
	at += sizeof(note);
	memcpy(at, name, note.n_namesz);
	at += (note.n_namesz + 3) & ~3U;
	memcpy(at, desc, len);
	return at + ((len + 3) & ~3U);
}

static void the_id_is_found_among_notes(void **state)
{
	(void)state;
	char notes[256] = {0};
	char *end = put_note(notes, "Linux", 0x100, "abcde", 5);
	end = put_note(end, "GNU", NT_GNU_ABI_TAG, "0123456789abcdef", 16);
	end = put_note(end, "GNU", NT_GNU_BUILD_ID, "\1\2\3\4\5", 5);
	size_t len = (size_t)(end - notes);
	struct vmop_build_id id;
	assert_true(vmop_build_id_in_notes(notes, len, &id));
	assert_int_equal(id.len_bytes, 5);
	assert_memory_equal(id.bytes, "\1\2\3\4\5", 5);
	/* A note that is cut before its last byte (3 more are padding) has no build-id. */
	for (size_t cut = 0; cut < len - 3; cut++) {
		char *copy = malloc(cut + !cut);
		memcpy(copy, notes, cut);
		assert_false(vmop_build_id_in_notes(copy, cut, &id));
		free(copy);
	}
}

static void lengths_that_lie_end_the_search(void **state)
{
	(void)state;
	struct vmop_build_id id;
	char notes[64] = {0};
	size_t len = (size_t)(put_note(notes, "GNU", NT_GNU_BUILD_ID, "abcd", 4) - notes);
	Elf32_Nhdr *note = (Elf32_Nhdr *)notes;
	note->n_namesz = UINT32_MAX;
	assert_false(vmop_build_id_in_notes(notes, len, &id));
	note->n_namesz = 4;
	note->n_descsz = UINT32_MAX;
	assert_false(vmop_build_id_in_notes(notes, len, &id));
	note->n_descsz = 0;
	assert_false(vmop_build_id_in_notes(notes, len, &id));
}

/* The reference is the id passed to the linker (see tests/libsym.mk). */
static void the_id_of_a_file_is_the_linkers(void **state)
{
	(void)state;
	int fd = open(VMOP_TEST_BUILDDIR "/tests/unit/libsym/target", O_RDONLY);
	assert_true(fd >= 0);
	struct vmop_build_id id;
	assert_null(vmop_build_id_of_fd(fd, "target", &id));
	close(fd);
	char text[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	vmop_build_id_format(&id, text);
	assert_string_equal(text, "5eed0123456789abcdef5eed0123456789abcdef");
}

static void the_running_kernels_id_is_in_its_notes(void **state)
{
	(void)state;
	char notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY);
	if (fd < 0)
		skip();
	ssize_t n = read(fd, notes, sizeof(notes));
	close(fd);
	assert_true(n > 0);
	struct vmop_build_id id;
	assert_true(vmop_build_id_in_notes(notes, (size_t)n, &id));
	assert_int_equal(id.len_bytes, 20);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	(void)state;
	struct vmop_build_id id;
	int fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	struct vmop_error *err = vmop_build_id_of_fd(fd, "some/script", &id);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	assert_string_equal(err->message, "some/script: not an ELF file");
	vmop_error_destroy(err);
	close(fd);
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	err = vmop_build_id_of_fd(ends[0], "some/pipe", &id);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_printed_and_parsed),
		cmocka_unit_test(no_id_is_parsed_from_other_text),
		cmocka_unit_test(the_id_is_found_among_notes),
		cmocka_unit_test(lengths_that_lie_end_the_search),
		cmocka_unit_test(the_id_of_a_file_is_the_linkers),
		cmocka_unit_test(the_running_kernels_id_is_in_its_notes),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
