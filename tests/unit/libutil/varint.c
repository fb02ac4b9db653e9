// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/varint.h"

#include <cmocka.h>
#include <string.h>

static const uint64_t numbers[] = {
	0, 1, 127, 128, 16383, 16384, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX,
};
#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void a_number_is_read_as_written(void **state)
{
	uint8_t buf[VMOP_VARINT_BYTES_MAX];
	uint64_t value;
	(void)state;
	for (size_t i = 0; i < N_NUMBERS; i++) {
		const uint8_t *end = vmop_varint_put(buf, numbers[i]);
		assert_true(end - buf <= VMOP_VARINT_BYTES_MAX);
		assert_ptr_equal(vmop_varint_get(buf, end, &value), end);
		assert_int_equal(value, numbers[i]);
		/* Any cut of it is refused. */
		for (const uint8_t *cut = buf; cut < end; cut++)
			assert_null(vmop_varint_get(buf, cut, &value));
	}
}

/* The way to read a number depends on the bytes that follow. */
static void what_follows_a_number_does_not_matter(void **state)
{
	static const uint8_t following[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	uint8_t buf[3 * VMOP_VARINT_BYTES_MAX];
	uint64_t value;
	(void)state;
	for (size_t i = 0; i < sizeof(following); i++) {
		for (unsigned shift = 0; shift < 64; shift++) {
			uint64_t number = (UINT64_MAX >> shift) - (shift < 32 ? shift : 0);
			memset(buf, following[i], sizeof(buf));
			const uint8_t *behind = vmop_varint_put(buf, number);
			for (const uint8_t *end = behind; end <= buf + sizeof(buf); end++) {
				assert_ptr_equal(vmop_varint_get(buf, end, &value), behind);
				assert_int_equal(value, number);
			}
		}
	}
}

static void what_no_number_has_is_refused(void **state)
{
	static const uint8_t too_high[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	static const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					   0x80, 0x80, 0x80, 0x80, 1};
	uint64_t value;
	(void)state;
	assert_null(vmop_varint_get(too_high, too_high + sizeof(too_high), &value));
	assert_null(vmop_varint_get(too_long, too_long + sizeof(too_long), &value));
	assert_null(vmop_varint_get(NULL, too_long, &value));
}

static void differences_of_either_sign_are_small(void **state)
{
	(void)state;
	assert_int_equal(vmop_varint_zigzag(3), 6);
	assert_int_equal(vmop_varint_zigzag((uint64_t)-3), 5);
	for (size_t i = 0; i < N_NUMBERS; i++)
		assert_int_equal(vmop_varint_unzigzag(vmop_varint_zigzag(numbers[i])), numbers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_read_as_written),
		cmocka_unit_test(what_follows_a_number_does_not_matter),
		cmocka_unit_test(what_no_number_has_is_refused),
		cmocka_unit_test(differences_of_either_sign_are_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
