// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/perf-map.h"

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
	assert_null(vmop_perf_map_read(path, getuid(), &symtab));
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

static void assert_refused(uid_t owner, const char *why)
{
	struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_perf_map_read(path, owner, &symtab);
	assert_non_null(err);
	assert_non_null(strstr(err->message, path));
	assert_non_null(strstr(err->message, why));
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
	assert_refused(getuid(), strerror(ELOOP));
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
		cmocka_unit_test(lines_that_are_none_are_passed_over),
		cmocka_unit_test(what_another_has_put_there_is_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
