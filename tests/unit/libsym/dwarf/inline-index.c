// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inlined functions of the program tests/fixtures/inlines: those of its source, at every address
 * those that binutils' addr2line finds, in each form that its DWARF can have, within the budget.
 */
#include "libsym/dwarf/inline-index.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define PROGRAM VMOP_TEST_BUILDDIR "/tests/fixtures/inlines"
#define WITH_DWARF_4 VMOP_TEST_BUILDDIR "/tests/fixtures/inlines-dwarf4"

/* A file and its index. */
struct opened {
	struct vmop_sym_budget budget;
	int fd;
	struct vmop_elf_file *elf;
	struct vmop_inline_index *index;
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
	vmop_inline_index_destroy(opened->index);
	vmop_elf_destroy(opened->elf);
	close(opened->fd);
	assert_int_equal(opened->budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
}

static void open_index(struct opened *opened, const char *path)
{
	open_file(opened, path);
	assert_null(vmop_inline_index_create(opened->elf, opened->elf, &opened->index));
	assert_non_null(opened->index);
}

/* Write the chain at an offset, innermost first: "a b c ". */
static void chain_at(struct opened *opened, uint64_t offset, char ret[256])
{
	const char *names[VMOP_INLINE_INDEX_MAX];
	size_t n, len = 0;
	assert_true(vmop_inline_index_find(opened->index, offset, names, &n));
	ret[0] = '\0';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(ret + len, 256 - len, "%s ", names[i]);
}

static const GElf_Shdr *text_of(const struct opened *opened)
{
	const GElf_Shdr *text = vmop_elf_find_section(opened->elf, SHT_PROGBITS, ".text");
	assert_non_null(text);
	return text;
}

/* Count the offsets of .text with that chain. */
static size_t count(struct opened *opened, const GElf_Shdr *text, const char *wanted)
{
	char chain[256];
	size_t n = 0;
	for (uint64_t i = 0; i < text->sh_size; i++) {
		chain_at(opened, text->sh_offset + i, chain);
		n += !strcmp(chain, wanted);
	}
	return n;
}

static void check_chains(struct opened *opened, const GElf_Shdr *text)
{
	assert_true(count(opened, text, "innermost between ") > 4);
	assert_true(count(opened, text, "innermost ") > 4);   /* in the other file */
	assert_true(count(opened, text, "calls_outer ") > 4); /* with the call in it */
	assert_true(count(opened, text, "") > 100);
	assert_int_equal(count(opened, text, "between innermost "), 0);
}

static void chains_are_those_of_the_source(void **state)
{
	(void)state;
	static const char *const paths[] = {PROGRAM, WITH_DWARF_4};
	for (size_t i = 0; i < 2; i++) {
		struct opened opened;
		open_index(&opened, paths[i]);
		check_chains(&opened, text_of(&opened));
		const char *names[VMOP_INLINE_INDEX_MAX];
		size_t n = 1;
		assert_true(vmop_inline_index_find(opened.index, UINT64_MAX, names, &n));
		assert_int_equal(n, 0);
		close_file(&opened);
	}
}

/* Read addr2line's chain: pairs of a name and a place, up to the next address. */
static void read_expected(FILE *lines, char ret[256])
{
	char name[128], place[4096], last[128] = "";
	size_t len = 0;
	ret[0] = '\0';
	while (fgets(name, sizeof(name), lines) && strncmp(name, "0x", 2) != 0) {
		assert_non_null(fgets(place, sizeof(place), lines));
		name[strcspn(name, "\n")] = '\0';
		if (*last)
			len += (size_t)snprintf(ret + len, 256 - len, "%s ", last);
		snprintf(last, sizeof(last), "%s", name);
	}
}

static void chains_are_those_of_addr2line(void **state)
{
	(void)state;
	struct opened opened;
	open_index(&opened, PROGRAM);
	const GElf_Shdr *text = text_of(&opened);
	char command[512], first[64], expected[256], got[256];
	snprintf(command, sizeof(command),
		 "seq %llu %llu | xargs printf '0x%%x\\n' | addr2line -aif -e " PROGRAM
		 " 2>/dev/null",
		 (unsigned long long)text->sh_addr,
		 (unsigned long long)(text->sh_addr + text->sh_size - 1));
	FILE *lines = popen(command, "r"); /* the command is the test's own */
	assert_non_null(lines);
	if (!fgets(first, sizeof(first), lines)) {
		pclose(lines);
		close_file(&opened);
		print_message("there is no addr2line\n");
		skip();
	}
	for (uint64_t i = 0; i < text->sh_size; i++) {
		read_expected(lines, expected);
		chain_at(&opened, text->sh_offset + i, got);
		assert_string_equal(got, expected);
	}
	pclose(lines);
	close_file(&opened);
}

/* Make copies of the program: debug, with all sections that option keeps, and stripped. */
static bool make_copies(const char *dir, const char *option)
{
	char command[1024];
	snprintf(command, sizeof(command),
		 "objcopy --only-keep-debug %s " PROGRAM
		 " %s/debug && strip -o %s/stripped " PROGRAM,
		 option, dir, dir);
	return system(command) == 0; /* the command is the test's own */
}

static void remove_copies(const char *dir)
{
	char path[64];
	static const char *const names[] = {"debug", "stripped"};
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* Look up offsets of the stripped program in the DWARF of its debug file. */
static void check_debug_file(const char *option)
{
	char dir[] = "/tmp/vmop-inlines-XXXXXX", path[64];
	struct opened debug, stripped;
	assert_non_null(mkdtemp(dir));
	if (!make_copies(dir, option)) {
		remove_copies(dir);
		print_message("not tested: objcopy %s failed\n", option);
		skip();
	}
	snprintf(path, sizeof(path), "%s/stripped", dir);
	open_file(&stripped, path);
	snprintf(path, sizeof(path), "%s/debug", dir);
	open_file(&debug, path);
	assert_null(vmop_inline_index_create(stripped.elf, stripped.elf, &stripped.index));
	assert_null(stripped.index); /* it has no DWARF */
	assert_null(vmop_inline_index_create(debug.elf, stripped.elf, &debug.index));
	assert_non_null(debug.index);
	check_chains(&debug, text_of(&stripped));
	close_file(&debug);
	close_file(&stripped);
	remove_copies(dir);
}

static void debug_files_are_read(void **state)
{
	(void)state;
	check_debug_file("");
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
	check_debug_file("--compress-debug-sections=zlib");
}

static void old_zlib_is_read(void **state)
{
	(void)state;
	need_zlib();
	check_debug_file("--compress-debug-sections=zlib-gnu");
}

static void zstd_is_read(void **state)
{
	(void)state;
	check_debug_file("--compress-debug-sections=zstd");
}

static void memory_is_bounded(void **state)
{
	(void)state;
	size_t n_refused = 0;
	for (uint64_t len_bytes = 0;; len_bytes += 1000, n_refused++) {
		struct opened opened;
		open_file(&opened, PROGRAM);
		uint64_t spared_bytes = opened.budget.memory_left_bytes - len_bytes;
		opened.budget.memory_left_bytes = len_bytes;
		struct vmop_error *err =
			vmop_inline_index_create(opened.elf, opened.elf, &opened.index);
		assert_true(!err || err->code == VMOP_ERROR_LIMIT);
		bool is_refused = err != NULL;
		vmop_error_destroy(err);
		opened.budget.memory_left_bytes += spared_bytes;
		close_file(&opened);
		if (!is_refused)
			break;
	}
	assert_true(n_refused > 1);
}

static void time_is_bounded(void **state)
{
	(void)state;
	struct opened opened;
	const char *names[VMOP_INLINE_INDEX_MAX];
	size_t n;
	open_index(&opened, PROGRAM);
	const GElf_Shdr *text = text_of(&opened);
	opened.budget.cpu_end_ns = 0;
	opened.budget.steps_to_look = 0;
	bool is_over = false;
	for (uint64_t i = 0; i < text->sh_size && !is_over; i++)
		is_over = !vmop_inline_index_find(opened.index, text->sh_offset + i, names, &n);
	assert_true(is_over);
	assert_int_equal(opened.budget.spent, VMOP_SYM_COST_CPU_TIME);
	close_file(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_those_of_the_source),
		cmocka_unit_test(chains_are_those_of_addr2line),
		cmocka_unit_test(debug_files_are_read),
		cmocka_unit_test(zlib_is_read),
		cmocka_unit_test(old_zlib_is_read),
		cmocka_unit_test(zstd_is_read),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(time_is_bounded),
	};
	if (access(PROGRAM, R_OK) != 0) {
		puts("skipped: needs the fixture inlines of the build tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
