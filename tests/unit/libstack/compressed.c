// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compressed .debug_frame: a program that has no other CFI for its own functions, with that section
 * compressed by objcopy(1) in each way, gives the same table. Damaged and bloated sections are
 * refused.
 */
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"

static const struct vmop_cfi_limits ample = {.max_bytes = (size_t)1 << 30,
					     .max_cpu_ns = 60 * VMOP_NS_PER_S};

/* A program in memory. */
struct program {
	uint8_t *bytes;
	size_t len_bytes;
};

static void read_program(const char *path, struct program *ret)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	ret->len_bytes = (size_t)status.st_size;
	ret->bytes = malloc(ret->len_bytes);
	assert_non_null(ret->bytes);
	assert_int_equal(read(fd, ret->bytes, ret->len_bytes), status.st_size);
	close(fd);
}

/* Read a copy of the fixture that objcopy(1) makes with an option. False: it cannot. */
static bool make_program(const char *option, struct program *ret)
{
	char path[] = "/tmp/vmop-compressed.XXXXXX", command[4096];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "objcopy %s '" VMOP_TEST_BUILDDIR "/tests/unit/libstack/target-debug-frame' %s",
		 option, path);
	bool is_made = system(command) == 0; /* the option is the test's own */
	if (is_made)
		read_program(path, ret);
	else
		print_message("not tested: objcopy %s failed\n", option);
	unlink(path);
	return is_made;
}

static struct vmop_error *build(const struct program *program, const struct vmop_cfi_limits *limits,
				struct vmop_cfi_table **ret)
{
	*ret = NULL;
	return vmop_cfi_table_build_from_memory(program->bytes, program->len_bytes, limits, ret);
}

static struct vmop_cfi_table *table_of(const struct program *program)
{
	struct vmop_cfi_table *table;
	assert_null(build(program, &ample, &table));
	return table;
}

/* Return the section header of that name. */
static Elf64_Shdr *section_of(const struct program *program, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)program->bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(program->bytes + header->e_shoff);
	const char *names = (const char *)program->bytes + sections[header->e_shstrndx].sh_offset;
	for (size_t i = 0; i < header->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, name) == 0)
			return &sections[i];
	return NULL;
}

static bool has_rule(const struct vmop_cfi_table *table, uint64_t offset, struct vmop_cfi_rule *ret)
{
	vmop_cfi_table_find(table, offset, ret);
	return ret->kind != VMOP_CFI_NONE;
}

/* Count the offsets of .text that have rules in both tables; all of these are equal. */
static size_t compare(const struct program *program, const struct vmop_cfi_table *a,
		      const struct vmop_cfi_table *b)
{
	const Elf64_Shdr *text = section_of(program, ".text");
	size_t n = 0;
	for (uint64_t i = text->sh_offset; i < text->sh_offset + text->sh_size; i++) {
		struct vmop_cfi_rule rule_a, rule_b;
		bool has_a = has_rule(a, i, &rule_a), has_b = has_rule(b, i, &rule_b);
		assert_true(!has_a || !has_b || memcmp(&rule_a, &rule_b, sizeof(rule_a)) == 0);
		n += has_a && has_b;
	}
	return n;
}

static void check_method(const char *option, const char *section)
{
	struct program plain, compressed, without;
	if (!make_program("", &plain) || !make_program(option, &compressed) ||
	    !make_program("-R .debug_frame", &without))
		skip();
	if (!section_of(&compressed, section)) {
		print_message("not tested: objcopy %s made no %s\n", option, section);
		skip();
	}
	assert_true(section_of(&compressed, section)->sh_size <
		    section_of(&plain, ".debug_frame")->sh_size + 24);
	struct vmop_cfi_table *expected = table_of(&plain), *got = table_of(&compressed),
			      *little = table_of(&without);
	size_t n = compare(&plain, expected, expected);
	size_t n_of_others = compare(&plain, little, little); /* _start and the like */
	print_message("%zu bytes have rules, %zu of them in .eh_frame\n", n, n_of_others);
	assert_true(n_of_others < n / 2);
	assert_int_equal(compare(&plain, expected, got), n);
	vmop_cfi_table_destroy(expected);
	vmop_cfi_table_destroy(got);
	vmop_cfi_table_destroy(little);
	free(plain.bytes);
	free(compressed.bytes);
	free(without.bytes);
}

static void need_zlib(void)
{
#ifndef HAVE_ZLIB
	print_message("not tested: this build has no zlib\n");
	skip();
#endif
}

static void zlib_is_read(void **state)
{
	(void)state;
	need_zlib();
	check_method("--compress-debug-sections=zlib", ".debug_frame");
}

static void old_zlib_is_read(void **state)
{
	(void)state;
	need_zlib();
	check_method("--compress-debug-sections=zlib-gnu", ".zdebug_frame");
}

static void zstd_is_read(void **state)
{
	(void)state;
	check_method("--compress-debug-sections=zstd", ".debug_frame");
}

static void assert_fails(const struct program *program, const struct vmop_cfi_limits *limits,
			 enum vmop_error_code code)
{
	struct vmop_cfi_table *table;
	struct vmop_error *err = build(program, limits, &table);
	assert_non_null(err);
	assert_null(table);
	assert_int_equal(err->code, code);
	vmop_error_destroy(err);
}

static void check_damage(const char *option)
{
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)16 << 20,
					       .max_cpu_ns = 60 * VMOP_NS_PER_S};
	struct program program;
	if (!make_program(option, &program))
		skip();
	Elf64_Shdr *section = section_of(&program, ".debug_frame");
	if (!(section->sh_flags & SHF_COMPRESSED))
		skip();
	Elf64_Chdr *header = (Elf64_Chdr *)(program.bytes + section->sh_offset);
	uint64_t plain_bytes = header->ch_size, len_bytes = section->sh_size;
	/* The length is more or less than there is, or cannot be paid for. */
	header->ch_size = plain_bytes + 1;
	assert_fails(&program, &limits, VMOP_ERROR_CORRUPT);
	header->ch_size = plain_bytes - 1;
	assert_fails(&program, &limits, VMOP_ERROR_CORRUPT);
	header->ch_size = (uint64_t)1 << 30;
	assert_fails(&program, &limits, VMOP_ERROR_LIMIT);
	header->ch_size = UINT64_MAX;
	assert_fails(&program, &limits, VMOP_ERROR_LIMIT);
	header->ch_size = plain_bytes;
	/* The section is cut, within its header too. */
	for (section->sh_size = 1; section->sh_size < len_bytes; section->sh_size++)
		assert_fails(&program, &limits, VMOP_ERROR_CORRUPT);
	/* An unknown method is no error: the table has what .eh_frame covers. */
	section->sh_size = len_bytes;
	header->ch_type = 77;
	vmop_cfi_table_destroy(table_of(&program));
	free(program.bytes);
}

static void damage_is_refused(void **state)
{
	(void)state;
	need_zlib();
	check_damage("--compress-debug-sections=zlib");
}

static void damage_of_zstd_is_refused(void **state)
{
	(void)state;
	check_damage("--compress-debug-sections=zstd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zlib_is_read),
		cmocka_unit_test(old_zlib_is_read),
		cmocka_unit_test(zstd_is_read),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(damage_of_zstd_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
