// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines of the program tests/fixtures/inlines: at every address those that binutils'
 * addr2line finds, with DWARF 5 and 4, from a debug file, within the budget.
 */
#include "libsym/dwarf/line-index.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM VMOP_TEST_BUILDDIR "/tests/fixtures/inlines"
#define WITH_DWARF_4 VMOP_TEST_BUILDDIR "/tests/fixtures/inlines-dwarf4"

/* A file and its index. */
struct opened {
	struct vmop_sym_budget budget;
	int fd;
	struct vmop_elf_file *elf;
	struct vmop_line_index *index;
};

static void open_file(struct opened *opened, const char *path)
{
	*opened = (struct opened){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	assert_true(opened->fd >= 0);
	vmop_sym_budget_init(&opened->budget);
	assert_null(vmop_elf_create(opened->fd, path, &opened->budget, &opened->elf));
}

static void close_file(struct opened *opened)
{
	vmop_line_index_destroy(opened->index);
	vmop_elf_destroy(opened->elf);
	close(opened->fd);
	assert_int_equal(opened->budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
}

static const GElf_Shdr *text_of(const struct opened *opened)
{
	const GElf_Shdr *text = vmop_elf_find_section(opened->elf, SHT_PROGBITS, ".text");
	assert_non_null(text);
	return text;
}

/* Write "FILE:LINE" of an offset, or "?:0". */
static void line_at(struct opened *opened, uint64_t offset, char ret[256])
{
	struct vmop_line line;
	assert_true(vmop_line_index_find(opened->index, offset, &line));
	const char *slash = line.path ? strrchr(line.path, '/') : NULL;
	snprintf(ret, 256, "%s:%u", slash ? slash + 1 : line.path ? line.path : "?", line.number);
}

/* Compare with addr2line's "PATH:LINE (discriminator N)", or "??:?". */
static void check_line(struct opened *opened, uint64_t offset, char *expected)
{
	char got[256], *end = strpbrk(expected, " \n"), *slash;
	if (end)
		*end = '\0';
	slash = strrchr(expected, '/');
	line_at(opened, offset, got);
	if (!strncmp(expected, "??", 2))
		assert_true(!strncmp(got, "?:", 2) || strstr(got, ":0"));
	else if (strcmp(strrchr(expected, ':'), ":?") != 0)
		assert_string_equal(got, slash ? slash + 1 : expected);
}

static void check_all_lines(const char *path)
{
	struct opened opened;
	char command[512], line[4096];
	size_t n = 0;
	open_file(&opened, path);
	assert_null(vmop_line_index_create(opened.elf, opened.elf, &opened.index));
	assert_non_null(opened.index);
	const GElf_Shdr *text = text_of(&opened);
	snprintf(command, sizeof(command),
		 "seq %llu %llu | xargs printf '0x%%x\\n' | addr2line -e %s 2>/dev/null",
		 (unsigned long long)text->sh_addr,
		 (unsigned long long)(text->sh_addr + text->sh_size - 1), path);
	FILE *lines = popen(command, "r"); /* the command is the test's own */
	assert_non_null(lines);
	for (; n < text->sh_size && fgets(line, sizeof(line), lines); n++)
		check_line(&opened, text->sh_offset + n, line);
	pclose(lines);
	uint64_t text_bytes = text->sh_size;
	close_file(&opened);
	if (!n) {
		print_message("there is no addr2line\n");
		skip();
	}
	assert_int_equal(n, text_bytes);
}

static void lines_are_those_of_addr2line(void **state)
{
	(void)state;
	check_all_lines(PROGRAM);
	check_all_lines(WITH_DWARF_4);
}

static void debug_files_are_read(void **state)
{
	(void)state;
	char dir[] = "/tmp/vmop-lines-XXXXXX", command[1024], path[64], whole[256], got[256];
	struct opened program, debug, stripped;
	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "objcopy --only-keep-debug " PROGRAM " %s/debug && strip -o %s/stripped " PROGRAM,
		 dir, dir);
	assert_int_equal(system(command), 0); /* the command is the test's own */
	open_file(&program, PROGRAM);
	assert_null(vmop_line_index_create(program.elf, program.elf, &program.index));
	snprintf(path, sizeof(path), "%s/stripped", dir);
	open_file(&stripped, path);
	assert_null(vmop_line_index_create(stripped.elf, stripped.elf, &stripped.index));
	assert_null(stripped.index); /* it has no DWARF */
	snprintf(path, sizeof(path), "%s/debug", dir);
	open_file(&debug, path);
	assert_null(vmop_line_index_create(debug.elf, stripped.elf, &debug.index));
	assert_non_null(debug.index);
	const GElf_Shdr *text = text_of(&program);
	for (uint64_t i = 0; i < text->sh_size; i++) {
		line_at(&program, text->sh_offset + i, whole);
		line_at(&debug, text->sh_offset + i, got);
		assert_string_equal(got, whole);
	}
	close_file(&program);
	close_file(&stripped);
	close_file(&debug);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

/* Without memory for a unit's table, a look-up fails and nothing stays charged. */
static void tables_beyond_the_budget_are_not_read(void **state)
{
	(void)state;
	struct opened opened;
	struct vmop_line line;
	open_file(&opened, PROGRAM);
	assert_null(vmop_line_index_create(opened.elf, opened.elf, &opened.index));
	const GElf_Shdr *text = text_of(&opened);
	uint64_t kept_bytes = opened.budget.memory_left_bytes;
	opened.budget.memory_left_bytes = 1000;
	bool is_found = true;
	for (uint64_t i = 0; i < text->sh_size && is_found; i++)
		is_found = vmop_line_index_find(opened.index, text->sh_offset + i, &line);
	assert_false(is_found);
	assert_int_equal(opened.budget.spent, VMOP_SYM_COST_MEMORY);
	opened.budget.memory_left_bytes += kept_bytes - 1000;
	close_file(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_addr2line),
		cmocka_unit_test(debug_files_are_read),
		cmocka_unit_test(tables_beyond_the_budget_are_not_read),
	};
	/* They are not where only the tests are installed; nor are the compiler's tools. */
	if (access(PROGRAM, R_OK) < 0) {
		puts("skipped: needs the fixture inlines of the build tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
