// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/escape.h"

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"

static const struct {
	const char *raw, *utf8, *ascii;
} texts[] = {
	{"", "", ""},
	{"plain [kernel] ~", "plain [kernel] ~", "plain [kernel] ~"},
	{"j\xc3\xb6rg \xe6\xbc\xa2 \xf0\x9f\x90\x8d", "j\xc3\xb6rg \xe6\xbc\xa2 \xf0\x9f\x90\x8d",
	 "j\\u00f6rg \\u6f22 \\U0001f40d"},
	{"\x1b[31m\r\n\t\x7f", "\\x1b[31m\\x0d\\x0a\\x09\\x7f", "\\x1b[31m\\x0d\\x0a\\x09\\x7f"},
	{"\\x1b \\", "\\\\x1b \\\\", "\\\\x1b \\\\"},		  /* not ESC */
	{"\x9b\x85", "\\x9b\\x85", "\\x9b\\x85"},		  /* C1 as bytes */
	{"\xc2\x9b\xc2\x85", "\\u009b\\u0085", "\\u009b\\u0085"}, /* C1 as characters */
	{"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80", "\\xc0\\xaf\\xed\\xa0\\x80"},
	{"\xf4\x90\x80\x80\xe6\xbc", "\\xf4\\x90\\x80\\x80\\xe6\\xbc",
	 "\\xf4\\x90\\x80\\x80\\xe6\\xbc"},
	{"a\xe2\x80\xae"
	 "b\xe2\x81\xa6\xd8\x9c",
	 "a\\u202eb\\u2066\\u061c", "a\\u202eb\\u2066\\u061c"},
	{"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8b\xef\xbb\xbf", "\\u2028\\u2029\\u200b\\ufeff",
	 "\\u2028\\u2029\\u200b\\ufeff"},
	{"\xf3\xa0\x81\x81\xf4\x8f\xbf\xbf", "\\U000e0041\\U0010ffff", "\\U000e0041\\U0010ffff"},
};

static void text_is_escaped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_free_ char *utf8 = vmop_escape(texts[i].raw, VMOP_CHARSET_UTF8);
		_cleanup_free_ char *ascii = vmop_escape(texts[i].raw, VMOP_CHARSET_ASCII);
		assert_string_equal(utf8, texts[i].utf8);
		assert_string_equal(ascii, texts[i].ascii);
		assert_int_equal(vmop_escape_is_plain(texts[i].raw, VMOP_CHARSET_UTF8),
				 !strcmp(texts[i].raw, texts[i].utf8));
		assert_int_equal(vmop_escape_is_plain(texts[i].raw, VMOP_CHARSET_ASCII),
				 !strcmp(texts[i].raw, texts[i].ascii));
	}
}

/* Check every character against the ranges that a terminal acts upon. */
static void nothing_steers(void **state)
{
	(void)state;
	size_t n_escaped = 0;
	for (uint32_t c = 1; c < 0x110000; c++) {
		bool must = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
			    c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
			    (c >= 0x2066 && c <= 0x2069) || (c >= 0xe0000 && c < 0xe0080);
		assert_false(must && !vmop_escape_is_steering(c));
		n_escaped += vmop_escape_is_steering(c);
	}
	/*
	 * letters stay: of a million code points some 4,400 are escaped, 4,096 of them in one block
	 */
	assert_in_range(n_escaped, 4200, 4600);
	for (const char *at = "aA9 ~"; *at; at++)
		assert_false(vmop_escape_is_steering((unsigned char)*at));
}

/* bash converts the escaped text back into the name. */
static void escapes_can_be_undone(void **state)
{
	(void)state;
	if (access("/bin/bash", X_OK) != 0)
		skip();
	for (size_t i = 1; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_free_ char *shown = vmop_escape(texts[i].raw, VMOP_CHARSET_UTF8);
		char name[256] = "";
		setenv("SHOWN", shown, 1);
		FILE *out = popen("LC_ALL=C.UTF-8 bash -c 'printf %b \"$SHOWN\"'", "r");
		assert_non_null(out);
		size_t len = fread(name, 1, sizeof(name) - 1, out);
		pclose(out);
		name[len] = '\0';
		assert_string_equal(name, texts[i].raw);
	}
}

static void what_does_not_fit_is_left_out(void **state)
{
	char buf[8];
	(void)state;
	assert_true(vmop_escape_into(buf, sizeof(buf), "abcdefg", VMOP_CHARSET_UTF8));
	assert_string_equal(buf, "abcdefg");
	assert_false(vmop_escape_into(buf, sizeof(buf), "abcdefgh", VMOP_CHARSET_UTF8));
	assert_string_equal(buf, "abcdefg");
	assert_false(vmop_escape_into(buf, sizeof(buf), "abcd\x1b", VMOP_CHARSET_UTF8));
	assert_string_equal(buf, "abcd");
	assert_false(vmop_escape_into(buf, sizeof(buf), "abcdef\xc3\xb6", VMOP_CHARSET_UTF8));
	assert_string_equal(buf, "abcdef");
}

static void a_part_is_printed(void **state)
{
	char *text;
	size_t len;
	(void)state;
	FILE *out = open_memstream(&text, &len);
	vmop_escape_print("ab\xc3\xb6", 3, VMOP_CHARSET_UTF8, out);
	vmop_escape_print(NULL, 3, VMOP_CHARSET_UTF8, out);
	fclose(out);
	assert_string_equal(text, "ab\\xc3");
	free(text);
}

static void the_locale_decides(void **state)
{
	(void)state;
	setlocale(LC_CTYPE, "C");
	assert_int_equal(vmop_escape_locale(), VMOP_CHARSET_ASCII);
	if (setlocale(LC_CTYPE, "C.UTF-8"))
		assert_int_equal(vmop_escape_locale(), VMOP_CHARSET_UTF8);
}

static void utf8(void **state)
{
	(void)state;
	assert_true(vmop_is_utf8(""));
	assert_true(vmop_is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
	assert_false(vmop_is_utf8("a\xc3"));
	assert_false(vmop_is_utf8("\xff"));
	assert_false(vmop_is_utf8("\xed\xa0\x80")); /* a surrogate */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8),
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(nothing_steers),
		cmocka_unit_test(escapes_can_be_undone),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(a_part_is_printed),
		cmocka_unit_test(the_locale_decides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
