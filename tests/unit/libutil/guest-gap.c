// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdint.h>
#include <string.h>

#include "libutil/guest-gap.h"
#include "vmop/guest-context.h"

static void each_gap_has_words(void **state)
{
	(void)state;
	for (unsigned gap = 0; gap < VMOP_GUEST_N_GAPS; gap++) {
		assert_true(strlen(vmop_guest_gap_text(gap)) > 0);
		assert_int_equal(strspn(vmop_guest_gap_word(gap), "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(vmop_guest_gap_word(gap)));
		for (unsigned other = 0; other < gap; other++) {
			assert_string_not_equal(vmop_guest_gap_text(gap),
						vmop_guest_gap_text(other));
			assert_string_not_equal(vmop_guest_gap_word(gap),
						vmop_guest_gap_word(other));
		}
	}
	/* Numbers come from guests, too. */
	assert_string_equal(vmop_guest_gap_text(VMOP_GUEST_N_GAPS),
			    vmop_guest_gap_text(UINT32_MAX));
	assert_string_equal(vmop_guest_gap_word(UINT32_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gap_has_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
