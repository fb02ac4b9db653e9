// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/stack-end.h"

static void each_end_has_words(void **state)
{
	(void)state;
	for (unsigned end = 0; end < VMOP_N_STACK_ENDS; end++) {
		assert_true(strlen(vmop_stack_end_text(end)) > 0);
		assert_int_equal(strspn(vmop_stack_end_word(end), "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(vmop_stack_end_word(end)));
		for (unsigned other = 0; other < end; other++) {
			assert_string_not_equal(vmop_stack_end_text(end),
						vmop_stack_end_text(other));
			assert_string_not_equal(vmop_stack_end_word(end),
						vmop_stack_end_word(other));
		}
	}
	/* Numbers come from files, too. */
	assert_string_equal(vmop_stack_end_text(UINT32_MAX), vmop_stack_end_text(0));
	assert_string_equal(vmop_stack_end_word(VMOP_N_STACK_ENDS), vmop_stack_end_word(0));
}

static void assert_printed(const uint64_t n_by_end[VMOP_N_STACK_ENDS], uint64_t n_others,
			   const char *want)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	vmop_stack_ends_print(out, n_by_end, n_others);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, want);
	free(text);
}

static void shares_are_printed(void **state)
{
	(void)state;
	uint64_t n[VMOP_N_STACK_ENDS] = {0};
	assert_printed(n, 0, "0.0 % complete");
	n[VMOP_STACK_COMPLETE] = 7;
	assert_printed(n, 0, "100.0 % complete");
	n[VMOP_STACK_COMPLETE] = 984;
	n[VMOP_STACK_COPY_SHORT] = 12;
	n[VMOP_STACK_TORN] = 4;
	assert_printed(n, 0, "98.4 % complete, 1.2 % copy too small, 0.4 % torn");
	assert_printed(n, 1000, "49.2 % complete, 0.6 % copy too small, 0.2 % torn");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_has_words),
		cmocka_unit_test(shares_are_printed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
