// SPDX-License-Identifier: GPL-2.0-or-later
/* Test how an argument of vmopcompare becomes specs. */
#include "opreport/compare/side-words.h"

#include <cmocka.h>
#include <string.h>

#include "tests/unit/ok.h"

/* Check that text becomes the words, which end with NULL. */
static void check(const char *text, const char *const *expected)
{
	struct vmop_words words = {0};
	assert_ok(vmop_side_words_split(text, true, &words));
	for (size_t i = 0; i < words.n; i++) {
		assert_non_null(expected[i]);
		assert_string_equal(words.items[i], expected[i]);
	}
	assert_null(expected[words.n]);
	vmop_words_deinit(&words);
}
#define SPLIT(text, ...) check(text, (const char *const[]){__VA_ARGS__, NULL})

static void words(void **state)
{
	(void)state;
	SPLIT("before", "session:before");
	SPLIT("./a.vmop", "session:./a.vmop");
	SPLIT("before domain:g1", "session:before", "domain:g1");
	SPLIT("  domain:g1 \t event:cycles ", "domain:g1", "event:cycles");
	SPLIT("session:a libc.so.6", "session:a", "libc.so.6");
	SPLIT("./my\\ file.vmop task:a\\ b", "session:./my file.vmop", "task:a b");
	SPLIT("./a,b.vmop", "session:./a\\,b.vmop"); /* one file */
	SPLIT("session:a,b", "session:a,b");	     /* two sessions */
	SPLIT("image:a\\,b", "image:a\\,b");
}

static void no_words(void **state)
{
	(void)state;
	static const char *const blanks[] = {"", " ", "\t\n"};
	for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); i++)
		check(blanks[i], (const char *const[]){NULL});
}

static void common_words_are_no_session(void **state)
{
	(void)state;
	struct vmop_words words = {0};
	assert_ok(vmop_side_words_split("libc.so.6 event:cycles", false, &words));
	assert_int_equal(words.n, 2);
	assert_string_equal(words.items[0], "libc.so.6");
	vmop_words_deinit(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(no_words),
		cmocka_unit_test(common_words_are_no_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
