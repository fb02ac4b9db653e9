// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths of source files, as compilers write them. tests/integration/annotate-hostile.sh reads some.
 */
#include "opreport/annotate/source-file.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void check_path(const char *folder, const char *path, const char *wanted)
{
	char *got = vmop_source_path(folder, path);
	assert_non_null(got);
	assert_string_equal(got, wanted);
	free(got);
}

static void paths_are_joined_and_plain(void **state)
{
	(void)state;
	check_path("/build", "a.c", "/build/a.c");
	check_path("/build/", "./sub//a.c", "/build/sub/a.c");
	check_path("/build", "/usr/include/x.h", "/usr/include/x.h");
	check_path("/build/b", "../src/a.c", "/build/src/a.c");
	check_path("/build", "../../../../etc/passwd", "/etc/passwd");
	check_path("", "a/../../b.c", "b.c");
	check_path("", "a.c", "a.c");
	check_path("", "..", "");
	check_path("/", "/", "/");
	check_path("/x", "..a/.b/c..", "/x/..a/.b/c..");
	check_path("", "", "");
	check_path("a", "b", "a/b");
}

static void base_dirs_are_removed(void **state)
{
	(void)state;
	struct vmop_words bases = {0};
	assert_null(vmop_words_parse(&bases, "--base-dirs", "/usr/src/,/build"));
	assert_string_equal(vmop_source_strip(&bases, "/usr/src/a/b.c"), "a/b.c");
	assert_string_equal(vmop_source_strip(&bases, "/build/c.c"), "c.c");
	assert_string_equal(vmop_source_strip(&bases, "/builder/c.c"), "/builder/c.c");
	assert_string_equal(vmop_source_strip(&bases, "rel.c"), "rel.c");
	assert_string_equal(vmop_source_strip(NULL, "/x"), "/x");
	vmop_words_deinit(&bases);
	assert_null(vmop_words_parse(&bases, "--base-dirs", "/"));
	assert_string_equal(vmop_source_strip(&bases, "/a/b.c"), "a/b.c");
	vmop_words_deinit(&bases);
}

static void lines_count_from_one(void **state)
{
	(void)state;
	char one[] = "one", two[] = "two", *texts[] = {one, two};
	const struct vmop_source_file file = {.lines = texts, .n_lines = 2};
	assert_null(vmop_source_line(&file, 0));
	assert_string_equal(vmop_source_line(&file, 1), "one");
	assert_string_equal(vmop_source_line(&file, 2), "two");
	assert_null(vmop_source_line(&file, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_joined_and_plain),
		cmocka_unit_test(base_dirs_are_removed),
		cmocka_unit_test(lines_count_from_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
