// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/line-width.h"

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static void columns_give_way(void **state)
{
	(void)state;
	static const bool is_elastic[] = {false, true, true};
	static const struct {
		size_t widths[3], total, expected[3];
	} cases[] = {
		{{10, 20, 30}, 80, {10, 20, 30}}, /* all fits */
		{{10, 20, 30}, 59, {10, 20, 25}}, /* the widest shrinks first, */
		{{10, 20, 300}, 64, {10, 20, 30}},
		{{10, 40, 300}, 64, {10, 25, 25}}, /* then both */
		{{10, 40, 300}, 65, {10, 25, 26}},
		{{10, 40, 300}, 20, {10, 8, 8}}, /* none below the least */
		{{90, 4, 5}, 20, {90, 4, 5}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t widths[3];
		memcpy(widths, cases[i].widths, sizeof(widths));
		vmop_fit_columns(widths, is_elastic, 3, 2, cases[i].total, 8);
		size_t sum = widths[0] + widths[1] + widths[2];
		size_t wanted = cases[i].expected[0] + cases[i].expected[1] + cases[i].expected[2];
		assert_int_equal(sum, wanted);
		assert_int_equal(widths[0], cases[i].expected[0]);
	}
}

static void assert_shortened(const char *text, size_t width, const char *expected)
{
	_cleanup_free_ char *shortened = vmop_fit_shorten(text, width);
	assert_string_equal(shortened, expected);
}

static void shortening(void **state)
{
	(void)state;
	assert_shortened("function", 8, "function");
	assert_shortened("function", 7, "func...");
	assert_shortened("function", 3, "fun");
	assert_shortened("", 0, "");
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return;
	assert_int_equal(vmop_fit_width("j\xc3\xb6rg"), 4);
	assert_int_equal(vmop_fit_width("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* two wide characters */
	assert_shortened("j\xc3\xb6rgen", 5, "j\xc3\xb6...");
	assert_shortened("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 5, "\xe6\xbc\xa2...");
	/* an invalid byte takes one column, and does not loop forever */
	assert_int_equal(vmop_fit_width("\xff\xfe"), 2);
	setlocale(LC_CTYPE, "C");
}

static void assert_wrapped(const char *text, size_t width, const char *expected)
{
	_cleanup_free_ char *printed = NULL;
	size_t len;
	FILE *out = open_memstream(&printed, &len);
	vmop_fit_print(text, width, out);
	fclose(out);
	assert_string_equal(printed, expected);
}

static void wrapping(void **state)
{
	(void)state;
	assert_wrapped("one two three", 0, "one two three\n");
	assert_wrapped("one two three", 13, "one two three\n");
	assert_wrapped("one two three", 12, "one two\n    three\n");
	assert_wrapped("one two three", 9, "one two\n    three\n");
	assert_wrapped("a verylongwordindeed", 10, "a\n    verylongwordindeed\n");
	assert_wrapped("one two three", 3, "one two three\n"); /* no terminal is that narrow */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_give_way),
		cmocka_unit_test(shortening),
		cmocka_unit_test(wrapping),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
