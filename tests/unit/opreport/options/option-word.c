// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the parsing of options' values, and the refusals. */
#include "opreport/options/option-word.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/cleanup.h"

static const struct vmop_option_word words[] = {{"one", 1}, {"two", 2}, {"four", 4}, {0}};

/* Expect an error of usage whose message contains each text. */
static void refused(struct vmop_error *err, const char *option, const char *text)
{
	assert_non_null(err);
	assert_int_equal(vmop_error_exit_status(err), VMOP_EXIT_USAGE);
	assert_non_null(strstr(err->message, option));
	assert_non_null(strstr(err->message, text));
	vmop_error_destroy(err);
}

static void one_word(void **state)
{
	(void)state;
	unsigned value = 7;
	assert_null(vmop_option_word_parse(words, "--x", "two", &value));
	assert_int_equal(value, 2);
	refused(vmop_option_word_parse(words, "--x", "three", &value), "--x", "one, two, four");
	refused(vmop_option_word_parse(words, "--x", "", &value), "--x", "''");
	assert_int_equal(value, 2);
}

static void several_words(void **state)
{
	(void)state;
	unsigned bits = 8;
	assert_null(vmop_option_bits_parse(words, "--x", "one,four", &bits));
	assert_int_equal(bits, 8 | 1 | 4);
	refused(vmop_option_bits_parse(words, "--x", "one,,four", &bits), "--x", "");
	refused(vmop_option_bits_parse(words, "--x", "one,five", &bits), "--x", "five");
}

static void percentages(void **state)
{
	(void)state;
	double percent = -1;
	assert_null(vmop_option_percent_parse("--p", "0", &percent));
	assert_true(percent == 0);
	assert_null(vmop_option_percent_parse("--p", "12.5", &percent));
	assert_true(percent == 12.5);
	static const char *const bad[] = {"", "x", "-1", "100.1", "1%", "nan", "inf", "1e9"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refused(vmop_option_percent_parse("--p", bad[i], &percent), "--p", bad[i]);
	assert_true(percent == 12.5);
}

static void numbers(void **state)
{
	(void)state;
	uint64_t number = 99;
	assert_null(vmop_option_number_parse("--n", "10", 10, &number));
	assert_int_equal(number, 10);
	static const char *const bad[] = {"", "11", "-1", "1.5", "0x", "99999999999999999999999"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refused(vmop_option_number_parse("--n", bad[i], 10, &number), "--n", bad[i]);
	assert_int_equal(number, 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_word),
		cmocka_unit_test(several_words),
		cmocka_unit_test(percentages),
		cmocka_unit_test(numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
