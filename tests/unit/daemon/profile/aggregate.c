// SPDX-License-Identifier: GPL-2.0-or-later
/* The aggregate, small and large: no sample is lost or counted twice. */
#include "daemon/profile/aggregate.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 7, SPREAD = 5000, LARGE_CELLS = 128 * 1024, SMALL_CELLS = 1024 };

static struct vmop_sample_key key_of(uint32_t task)
{
	return (struct vmop_sample_key){.task = {task}, .image = {3}, .vcpu = -1, .cpu = -1};
}

static void rename_nothing(void *arg, struct vmop_sample_key *key)
{
	(void)arg;
	(void)key;
}

/* By task and offset. */
struct seen {
	uint64_t samples[KEYS][SPREAD];
	uint64_t weights;
};

static struct vmop_error *see(void *arg, const struct vmop_sample_key *key,
			      const struct vmop_db_cell *cells, size_t n)
{
	struct seen *seen = arg;
	assert_in_range(key->task.number, 0, KEYS - 1);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || cells[i - 1].offset < cells[i].offset);
		assert_in_range(cells[i].offset, 0, SPREAD - 1);
		assert_int_equal(seen->samples[key->task.number][cells[i].offset], 0);
		seen->samples[key->task.number][cells[i].offset] = cells[i].samples;
		seen->weights += cells[i].weight_events;
	}
	return NULL;
}

/* Check that the aggregate has exactly the added samples. */
static void check(struct vmop_aggregate *aggregate, const struct seen *added)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	assert_null(vmop_aggregate_each(aggregate, rename_nothing, see, seen));
	assert_memory_equal(seen->samples, added->samples, sizeof(seen->samples));
	assert_int_equal(seen->weights, added->weights);
	free(seen);
}

/* Add samples of KEYS keys at `spread` offsets to an aggregate of n_cells cells. */
static void add_and_look(uint32_t n_cells, uint32_t spread)
{
	struct vmop_aggregate aggregate;
	struct seen *added = calloc(1, sizeof(*added));
	unsigned seed = n_cells;
	assert_true(vmop_aggregate_init(&aggregate, n_cells, VMOP_AGGREGATE_KEYS_MAX, 0));
	uint32_t refused = 0;
	for (uint32_t i = 0; i < 100003; i++) {
		uint32_t task = (uint32_t)rand_r(&seed) % KEYS;
		uint64_t offset = (uint64_t)rand_r(&seed) % spread;
		struct vmop_sample_key key = key_of(task);
		if (!vmop_aggregate_add(&aggregate, &key, offset, 1 + i % 2, i)) {
			/* Only a sample without a cell may be refused, and only if all cells are
			 * used.
			 */
			assert_int_equal(added->samples[task][offset], 0);
			refused++;
			continue;
		}
		added->samples[task][offset] += 1 + i % 2;
		added->weights += i;
		if (i == 13 || i == 50000)
			check(&aggregate, added);
	}
	vmop_aggregate_apply_pending(&aggregate);
	assert_int_equal(refused > 0, aggregate.n_cells == n_cells);
	check(&aggregate, added);
	vmop_aggregate_reset(&aggregate);
	memset(added, 0, sizeof(*added));
	check(&aggregate, added);
	vmop_aggregate_deinit(&aggregate);
	free(added);
}

static void a_table_of_a_cache_size(void **state)
{
	(void)state;
	add_and_look(16 * 1024, 2000);
}

static void a_table_that_is_larger(void **state)
{
	(void)state;
	add_and_look(LARGE_CELLS, SPREAD);
}

static void a_table_that_is_full(void **state)
{
	(void)state;
	add_and_look(SMALL_CELLS, SPREAD);
	add_and_look(20 * 1024, SPREAD);
}

/* A reset removes pending samples, too, and moved samples are in their new cells. */
static void moves_and_resets(void **state)
{
	(void)state;
	struct vmop_aggregate aggregate;
	struct vmop_sample_key from = key_of(0), to = key_of(1);
	struct seen *expected = calloc(1, sizeof(*expected));
	assert_true(vmop_aggregate_init(&aggregate, LARGE_CELLS, VMOP_AGGREGATE_KEYS_MAX, 0));
	assert_true(vmop_aggregate_add(&aggregate, &from, 1, 1, 10));
	vmop_aggregate_reset(&aggregate);
	check(&aggregate, expected);
	assert_true(vmop_aggregate_add(&aggregate, &from, 7, 2, 20));
	assert_true(vmop_aggregate_add(&aggregate, &to, 8, 1, 5));
	vmop_aggregate_apply_pending(&aggregate);
	assert_int_equal(aggregate.n_cells, 2);
	assert_true(vmop_aggregate_add(&aggregate, &from, 7, 1, 10));
	assert_true(vmop_aggregate_move(&aggregate, 0, &to, 8));
	expected->samples[1][8] = 4;
	expected->weights = 35;
	check(&aggregate, expected);
	vmop_aggregate_deinit(&aggregate);
	free(expected);
}

/* The tables stay within their bytes, and give their memory back only while they are empty. */
static void bounded_and_shrunk(void **state)
{
	(void)state;
	struct vmop_aggregate aggregate;
	struct vmop_sample_key key = key_of(0);
	const uint64_t bytes = 8 << 20;
	assert_true(
		vmop_aggregate_init(&aggregate, SMALL_CELLS, VMOP_AGGREGATE_STACK_KEYS_MAX, bytes));
	for (uint64_t round = 0; round < 12; round++) {
		for (uint64_t i = 0; i < 600000; i++) {
			key = key_of((uint32_t)(i / 4));
			vmop_aggregate_add(&aggregate, &key, i, 1, 1);
		}
		vmop_aggregate_shrink(&aggregate, SMALL_CELLS);
		assert_int_not_equal(aggregate.n_cells, 0);
		vmop_aggregate_reset(&aggregate);
	}
	print_message("%u cells, %u keys\n", aggregate.max_cells, aggregate.max_keys);
	assert_true(aggregate.max_cells > SMALL_CELLS);
	assert_true(aggregate.max_cells * (sizeof(*aggregate.cells) + 8) +
			    aggregate.max_keys * (sizeof(*aggregate.keys) + 8) <
		    bytes);
	vmop_aggregate_shrink(&aggregate, SMALL_CELLS);
	assert_int_equal(aggregate.max_cells, SMALL_CELLS);
	key = key_of(1);
	assert_true(vmop_aggregate_add(&aggregate, &key, 1, 1, 1));
	vmop_aggregate_deinit(&aggregate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_a_cache_size), cmocka_unit_test(a_table_that_is_larger),
		cmocka_unit_test(a_table_that_is_full),	   cmocka_unit_test(moves_and_resets),
		cmocka_unit_test(bounded_and_shrunk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
