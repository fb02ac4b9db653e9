// SPDX-License-Identifier: GPL-2.0-or-later
/* Source text on a terminal. tests/integration/annotate-*.sh look at whole listings. */
#include "opreport/annotate/listing.h"

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *text, const char *wanted)
{
	char *got = vmop_listing_plain(text);
	assert_non_null(got);
	assert_string_equal(got, wanted);
	free(got);
}

static void tabs_are_blanks(void **state)
{
	(void)state;
	check("\tx", "        x");
	check("ab\tc", "ab      c");
	check("12345678\t9", "12345678        9");
}

static void what_steers_is_escaped(void **state)
{
	(void)state;
	check("a\033[2Jb", "a\\x1b[2Jb");
	check("say(\"a\\n\");", "say(\"a\\n\");"); /* a backslash stays */
	check("dos\r", "dos");
	check("mid\rdle", "mid\\x0ddle");
	check("\xff", "\\xff");
}

static void long_lines_are_cut(void **state)
{
	(void)state;
	size_t len = 1 << 20;
	char *line = malloc(len + 1);
	memset(line, 'x', len);
	line[len] = '\0';
	char *got = vmop_listing_plain(line);
	assert_int_equal(strlen(got), 4096 + 3);
	assert_string_equal(got + 4096, "...");
	free(got);
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tabs_are_blanks),
		cmocka_unit_test(what_steers_is_escaped),
		cmocka_unit_test(long_lines_are_cut),
	};
	setlocale(LC_CTYPE, "C");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
