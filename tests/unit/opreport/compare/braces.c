// SPDX-License-Identifier: GPL-2.0-or-later
/* Test how braces divide a command line into sides. */
#include "opreport/compare/braces.h"

#include <cmocka.h>
#include <string.h>

#include "tests/unit/ok.h"

static struct vmop_error *take(struct vmop_braces *braces, const char *const *argv)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	return vmop_braces_init(braces, argc, (char **)argv); /* they are not changed */
}
#define ARGV(...) ((const char *const[]){"vmopreport", __VA_ARGS__, NULL})

static void sides(void **state)
{
	(void)state;
	struct vmop_braces braces;
	assert_ok(take(&braces,
		       ARGV("-l", "{", "session:a", "libx", "}", "event:e", "{", "}", "--top=3")));
	assert_int_equal(braces.n, 2);
	assert_int_equal(braces.sides[0].n, 2);
	assert_string_equal(braces.sides[0].items[0], "session:a");
	assert_string_equal(braces.sides[0].items[1], "libx");
	assert_int_equal(braces.sides[1].n, 0);
	assert_int_equal(braces.argc, 4);
	assert_string_equal(braces.argv[1], "-l");
	assert_string_equal(braces.argv[2], "event:e");
	assert_string_equal(braces.argv[3], "--top=3");
	assert_null(braces.argv[4]);
	vmop_braces_deinit(&braces);
}

static void quoted_sides(void **state)
{
	(void)state;
	struct vmop_braces braces;
	assert_ok(take(&braces, ARGV("{ session:a  image:x\\ y }", "{ }")));
	assert_int_equal(braces.n, 2);
	assert_int_equal(braces.sides[0].n, 2);
	assert_string_equal(braces.sides[0].items[1], "image:x y");
	assert_int_equal(braces.sides[1].n, 0);
	vmop_braces_deinit(&braces);
}

static void no_braces(void **state)
{
	(void)state;
	struct vmop_braces braces;
	assert_ok(take(&braces, ARGV("-l", "{x}", "x{", "a }")));
	assert_int_equal(braces.n, 0);
	assert_int_equal(braces.argc, 5);
	vmop_braces_deinit(&braces);
}

static void refused(void **state)
{
	(void)state;
	const char *const *const bad[] = {
		ARGV("{", "a"),
		ARGV("a", "}"),
		ARGV("{", "{", "a", "}", "}"),
		ARGV("{", "a", "}"),
		ARGV("{ a }"),
		ARGV("{", "-l", "}", "{", "}"),
		ARGV("{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}",
		     "{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}", "{", "}",
		     "{", "}"),
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct vmop_braces braces;
		struct vmop_error *err = take(&braces, bad[i]);
		if (!err)
			fail_msg("case %zu was accepted", i);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		vmop_error_destroy(err);
		vmop_braces_deinit(&braces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides),
		cmocka_unit_test(quoted_sides),
		cmocka_unit_test(no_braces),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
