// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/tally.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "opreport/query/group.h"

/* Add enough keys to grow several times; each key keeps its own sums. */
static void sums_by_key(void **state)
{
	(void)state;
	_cleanup_(vmop_tally_deinit) struct vmop_tally tally;
	vmop_tally_init(&tally, 2);
	enum { N = 20000 };
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < N; i++) {
			struct vmop_count *counts;
			size_t index;
			assert_null(vmop_tally_at(&tally, (uint32_t)(i % 7), i / 7 << 32, &counts,
						  &index));
			assert_int_equal(index, i);
			vmop_count_add(&counts[0], 1, i);
			vmop_count_add(&counts[1], 2, 0);
		}
	}
	assert_int_equal(tally.n, N);
	for (size_t i = 0; i < N; i++) {
		const struct vmop_count *counts = vmop_tally_counts(&tally, i);
		assert_int_equal(counts[0].samples, 3);
		assert_int_equal(counts[0].weight_events, 3 * i);
		assert_int_equal(counts[1].samples, 6);
		assert_int_equal(tally.keys[i].group, i % 7);
		assert_int_equal(tally.keys[i].value, (uint64_t)(i / 7) << 32);
	}
}

/* Keys stay where they are when room is made for more, of which there may be too many. */
static void room_is_made(void **state)
{
	(void)state;
	_cleanup_(vmop_tally_deinit) struct vmop_tally tally;
	struct vmop_count *counts;
	size_t index;
	vmop_tally_init(&tally, 1);
	assert_null(vmop_tally_reserve(&tally, 0));
	assert_null(vmop_tally_at(&tally, 3, 30, &counts, NULL));
	vmop_count_add(counts, 1, 10);
	assert_null(vmop_tally_reserve(&tally, 5000));
	assert_in_range(tally.capacity, 5001, 10002);
	size_t capacity = tally.capacity;
	for (uint64_t i = 0; i < 5000; i++)
		assert_null(vmop_tally_at(&tally, 4, i, &counts, NULL));
	assert_int_equal(tally.capacity, capacity);
	assert_null(vmop_tally_at(&tally, 3, 30, &counts, &index));
	assert_int_equal(index, 0);
	assert_int_equal(counts->samples, 1);
	assert_null(vmop_tally_reserve(&tally, SIZE_MAX / 2));
	assert_in_range(tally.capacity, 5001, VMOP_TALLY_MAX_BYTES / sizeof(*counts));
}

/* Samples without room are summed in left_out; the others keep their keys. */
static void samples_without_room_are_counted(void **state)
{
	(void)state;
	enum { N_SLOTS = 4096, N = 4000 };
	_cleanup_(vmop_tally_deinit) struct vmop_tally tally;
	vmop_tally_init(&tally, N_SLOTS);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < N; i++) {
			struct vmop_count *counts;
			size_t index;
			assert_null(vmop_tally_at(&tally, 1, i, &counts, &index));
			assert_true(index == (i < tally.n ? i : VMOP_TALLY_LEFT_OUT));
			vmop_count_add(&counts[7], 1, 10);
		}
	}
	assert_in_range(tally.n, 1024, VMOP_TALLY_MAX_BYTES / N_SLOTS / sizeof(struct vmop_count));
	assert_int_equal(vmop_tally_counts(&tally, 0)[7].samples, 2);
	assert_int_equal(tally.left_out[7].samples, 2 * (N - tally.n));
	struct vmop_count *counts;
	assert_null(vmop_tally_at(&tally, VMOP_NO_GROUP, 0, &counts, NULL));
	assert_ptr_equal(counts, tally.left_out);
}

static void groups_are_interned(void **state)
{
	(void)state;
	_cleanup_(vmop_groups_deinit) struct vmop_groups groups = {0};
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 3000; i++) {
			struct vmop_group group = {.domain = i % 3, .image = i};
			uint32_t number;
			assert_null(vmop_groups_intern(&groups, &group, &number));
			assert_int_equal(number, i);
			assert_int_equal(groups.items[number].image, i);
		}
	}
	assert_int_equal(groups.n, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_by_key),
		cmocka_unit_test(room_is_made),
		cmocka_unit_test(samples_without_room_are_counted),
		cmocka_unit_test(groups_are_interned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
