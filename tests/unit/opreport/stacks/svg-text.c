// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/svg-text.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static void assert_printed(const char *name, size_t max_columns, const char *expected)
{
	struct vmop_svg_text text;
	_cleanup_free_ char *printed = NULL;
	size_t len;
	vmop_svg_text_set(&text, name, max_columns);
	FILE *out = open_memstream(&printed, &len);
	assert_non_null(out);
	vmop_svg_text_print(&text, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(printed, expected);
	assert_int_equal(vmop_svg_text_len(&text), strlen(expected));
	assert_true(text.columns <= max_columns);
}

static void names_stay_text(void **state)
{
	(void)state;
	assert_printed("main", 10, "main");
	assert_printed("", 10, "");
	assert_printed("a<b>::c() & \"d\"", 80, "a&lt;b&gt;::c() &amp; &quot;d&quot;");
	assert_printed("</title><script>", 80, "&lt;/title&gt;&lt;script&gt;");
	assert_printed("]]>", 80, "]]&gt;");
	assert_printed("\x1b[31m\n\xff", 80, "\\x1b[31m\\x0a\\xff");
	assert_printed("\xe2\x80\xae", 80, "\\u202e"); /* right-to-left override */
	assert_printed("\xef\xbf\xbf", 80, "\\uffff"); /* no character of XML */
}

static void names_are_cut_between_characters(void **state)
{
	(void)state;
	assert_printed("memcpy", 6, "memcpy");
	assert_printed("memcpy", 5, "mem..");
	assert_printed("memcpy", 3, "m..");
	assert_printed("\xc3\xa4\xc3\xb6\xc3\xbc", 6, "\xc3\xa4\xc3\xb6\xc3\xbc");
	assert_printed("\xc3\xa4\xc3\xb6\xc3\xbc", 5, "\xc3\xa4..");
}

static void long_names_are_bounded(void **state)
{
	(void)state;
	char name[8192];
	struct vmop_svg_text text;
	memset(name, '\\', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	vmop_svg_text_set(&text, name, 100000);
	size_t len = strlen(text.bytes);
	assert_true(len < VMOP_SVG_TEXT_MAX_BYTES && len > VMOP_SVG_TEXT_MAX_BYTES - 8);
	assert_string_equal(text.bytes + len - 2, "..");
	assert_int_equal(text.columns, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_stay_text),
		cmocka_unit_test(names_are_cut_between_characters),
		cmocka_unit_test(long_names_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
