// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/jit/perf-map.h"

static char dir[] = "/tmp/vmop-perf-map-XXXXXX";
static char path[64], other[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

static void put(const char *file_path, const char *text)
{
	FILE *file = fopen(file_path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct vmop_symtab *parse(const char *text)
{
	put(path, text);
	struct vmop_symtab *symtab;
	struct vmop_perf_map_state seen = {0};
	assert_null(vmop_perf_map_read(AT_FDCWD, path, getuid(), &seen, &symtab));
	return symtab;
}

static const char *name_at(const struct vmop_symtab *symtab, uint64_t address)
{
	const struct vmop_symbol *symbol = vmop_symtab_find(symtab, address);
	return symbol ? symbol->name : "-";
}

static void functions_are_found_by_address(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = parse("7f0000001000 20 LazyCompile:~add /app/main.js:3:1\n"
					   "0x7f0000002000 0x10 void Foo.bar(int)\n");
	assert_string_equal(name_at(symtab, 0x7f0000001000), "LazyCompile:~add /app/main.js:3:1");
	assert_string_equal(name_at(symtab, 0x7f000000101f), "LazyCompile:~add /app/main.js:3:1");
	assert_string_equal(name_at(symtab, 0x7f0000001020), "-");
	assert_string_equal(name_at(symtab, 0x7f000000200f), "void Foo.bar(int)");
	vmop_symtab_destroy(symtab);
}

static void the_later_of_two_counts(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = parse("1000 20 z_first\n2000 20 other\n1000 30 a_middle\n"
					   "1000 10 m_last\n");
	assert_string_equal(name_at(symtab, 0x1000), "m_last");
	assert_string_equal(name_at(symtab, 0x1010), "-");
	assert_string_equal(name_at(symtab, 0x2000), "other");
	vmop_symtab_destroy(symtab);
}

static void code_is_the_latest_functions(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = parse("1000 100 old\n1040 20 within\n"
					   "2080 10 inside_before\n2000 100 over_it\n"
					   "3000 100 a\n3080 100 b\n30f0 100 c\n"
					   "fffffffffffffff0 ffffffffffffffff last\n");
	assert_string_equal(name_at(symtab, 0x103f), "old");
	assert_string_equal(name_at(symtab, 0x1040), "within");
	assert_string_equal(name_at(symtab, 0x1060), "-"); /* the rest of it was overwritten */
	assert_string_equal(name_at(symtab, 0x2088), "over_it");
	assert_string_equal(name_at(symtab, 0x307f), "a");
	assert_string_equal(name_at(symtab, 0x3080), "b");
	assert_string_equal(name_at(symtab, 0x30f0), "c");
	assert_string_equal(name_at(symtab, 0x31ef), "c");
	assert_string_equal(name_at(symtab, 0xfffffffffffffff8), "last");
	vmop_symtab_destroy(symtab);
}

static void an_unchanged_file_is_read_once(void **state)
{
	struct vmop_perf_map_state seen = {0};
	struct vmop_symtab *symtab;
	(void)state;
	put(path, "1000 20 x\n");
	assert_null(vmop_perf_map_read(AT_FDCWD, path, getuid(), &seen, &symtab));
	assert_non_null(symtab);
	vmop_symtab_destroy(symtab);
	assert_null(vmop_perf_map_read(AT_FDCWD, path, getuid(), &seen, &symtab));
	assert_null(symtab);
	put(path, "1000 20 x\n2000 20 y\n");
	assert_null(vmop_perf_map_read(AT_FDCWD, path, getuid(), &seen, &symtab));
	assert_string_equal(name_at(symtab, 0x2000), "y");
	vmop_symtab_destroy(symtab);
}

static void no_more_functions_than_the_limit(void **state)
{
	struct vmop_perf_map_state seen = {0};
	struct vmop_symtab *symtab;
	(void)state;
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i <= VMOP_PERF_MAP_MAX_FUNCTIONS; i++)
		fprintf(file, "%zx 10 f%zu\n", 0x10000 + 16 * i, i);
	fclose(file);
	assert_null(vmop_perf_map_read(AT_FDCWD, path, getuid(), &seen, &symtab));
	assert_true(seen.is_cut);
	size_t n;
	vmop_symtab_symbols(symtab, &n);
	assert_int_equal(n, VMOP_PERF_MAP_MAX_FUNCTIONS);
	vmop_symtab_destroy(symtab);
}

static void lines_that_are_none_are_passed_over(void **state)
{
	(void)state;
	struct vmop_symtab *symtab =
		parse("\nhello\n1000\n1000 20\n1000 20 \n1000  20 x\n-1 20 x\n1000 0 x\n"
		      "11111111111111111 20 x\n1000 xyz x\nffffffffffffffff 20 wraps\n"
		      "3000 20 good\n4000 20 not_yet_whole");
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(strcmp(symbols[i].name, "good") == 0 ||
			    strcmp(symbols[i].name, "wraps") == 0);
	assert_string_equal(name_at(symtab, 0x3010), "good");
	assert_string_equal(name_at(symtab, 0x4000), "-");
	vmop_symtab_destroy(symtab);
}

static void assert_refused(uid_t owner, const char *reason)
{
	struct vmop_symtab *symtab;
	struct vmop_perf_map_state seen = {0};
	struct vmop_error *err = vmop_perf_map_read(AT_FDCWD, path, owner, &seen, &symtab);
	assert_non_null(err);
	assert_non_null(strstr(err->message, path));
	assert_non_null(strstr(err->message, reason));
	vmop_error_destroy(err);
}

static void what_another_has_put_there_is_refused(void **state)
{
	(void)state;
	put(path, "1000 20 x\n");
	if (getuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_refused(54321, "belongs to user 12345, not to 54321");
	}
	unlink(path);
	assert_refused(getuid(), strerror(ENOENT));
	put(other, "1000 20 x\n");
	assert_int_equal(symlink(other, path), 0);
	assert_refused(getuid(), "not a regular file");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(getuid(), "not a regular file");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_by_address),
		cmocka_unit_test(the_later_of_two_counts),
		cmocka_unit_test(code_is_the_latest_functions),
		cmocka_unit_test(an_unchanged_file_is_read_once),
		cmocka_unit_test(no_more_functions_than_the_limit),
		cmocka_unit_test(lines_that_are_none_are_passed_over),
		cmocka_unit_test(what_another_has_put_there_is_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
