// SPDX-License-Identifier: GPL-2.0-or-later
/* Summing and sorting cells, compared with simple implementations. */
#include "tests/unit/libdb/common.h"

#include "libdb/db.h"
#include "libdb/sum.h"

enum { SUMS = 7, OFFSETS = 4096, BLOBS = 20000, CELLS = 300 };

static uint64_t random_state;

/* Knuth's MMIX generator; the high bits are the random ones. */
static uint32_t random_u32(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 32);
}

static int by_offset(const void *a, const void *b)
{
	const struct vmop_db_cell *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Few and many cells; offsets that differ in one byte, in all bytes, in the first and last. */
static void sorted_as_by_qsort(void **state)
{
	static const uint64_t masks[] = {0xff, 0xfffff, UINT64_MAX, UINT64_C(0xff000000000000ff)};
	static const size_t lengths[] = {0, 1, 2, 32, 33, 5000};
	(void)state;
	for (size_t m = 0; m < 4; m++) {
		for (size_t l = 0; l < 6; l++) {
			size_t n = lengths[l];
			struct vmop_db_cell *cells = calloc(3 * n + 1, sizeof(*cells));
			for (size_t i = 0; i < n; i++) {
				uint64_t random = (uint64_t)random_u32() << 32 | random_u32();
				cells[i].offset = random & masks[m];
				cells[i].samples = cells[i].offset + 1;
				cells[2 * n + i] = cells[i];
			}
			vmop_db_sort_cells(cells, cells + n, n);
			qsort(cells + 2 * n, n, sizeof(*cells), by_offset);
			assert_memory_equal(cells, cells + 2 * n, n * sizeof(*cells));
			free(cells);
		}
	}
}

/* Pack n cells that ascend by random steps, and add them to wanted. */
static size_t make_blob(uint8_t *buf, size_t n, struct vmop_db_cell *wanted)
{
	struct vmop_db_cell cells[CELLS];
	uint64_t offset = random_u32() % 8;
	for (size_t i = 0; i < n; i++, offset += 1 + random_u32() % (OFFSETS / CELLS - 1)) {
		cells[i] = (struct vmop_db_cell){offset, 1 + random_u32() % 3, random_u32()};
		wanted[offset].offset = offset;
		wanted[offset].samples += cells[i].samples;
		wanted[offset].weight_events += cells[i].weight_events;
	}
	return vmop_pack(cells, n, buf);
}

/* Add more blobs than can wait, alternating between sums. */
static void blobs_that_wait_are_all_added(void **state)
{
	_cleanup_free_ uint8_t *buf = malloc(vmop_pack_bound_bytes(CELLS));
	struct vmop_db_cell(*wanted)[OFFSETS] = calloc(SUMS, sizeof(*wanted));
	struct vmop_sums sums = {0};
	size_t bytes = 0;
	(void)state;
	for (uint32_t i = 0; i < BLOBS; i++) {
		const struct vmop_sum_key key = {.place = i % SUMS};
		size_t len = make_blob(buf, 1 + random_u32() % CELLS, wanted[i % SUMS]);
		assert_int_equal(vmop_sums_add_packed(&sums, vmop_sums_at(&sums, &key), buf, len),
				 VMOP_UNPACK_OK);
		bytes += len;
	}
	assert_true(bytes > 3 * VMOP_SUMS_WAITING_BYTES);
	assert_int_equal(vmop_sums_add_waiting(&sums), VMOP_UNPACK_OK);
	for (uint32_t i = 0; i < SUMS; i++) {
		struct vmop_sum *sum = vmop_sums_at(&sums, &(struct vmop_sum_key){.place = i});
		const struct vmop_db_cell *cells = vmop_sum_sort(sum);
		size_t n = 0;
		for (size_t offset = 0; offset < OFFSETS; offset++) {
			if (!wanted[i][offset].samples)
				continue;
			assert_in_range(n, 0, sum->n_cells - 1);
			assert_memory_equal(&cells[n++], &wanted[i][offset], sizeof(*cells));
		}
		assert_int_equal(n, sum->n_cells);
	}
	vmop_sums_deinit(&sums);
	free(wanted);
}

/* Longer than VMOP_SUMS_WAITING_BYTES: 6 bytes of step and 5 of weight for each cell. */
static void one_that_is_too_long_to_wait(void **state)
{
	enum { N = 1 << 19 };
	struct vmop_db_cell *cells = malloc(N * sizeof(*cells));
	_cleanup_free_ uint8_t *buf = malloc(vmop_pack_bound_bytes(N));
	struct vmop_sums sums = {0};
	(void)state;
	for (uint64_t i = 0; i < N; i++)
		cells[i] = (struct vmop_db_cell){i << 40, 1, UINT64_C(1) << 32 | i};
	size_t len = vmop_pack(cells, N, buf);
	assert_true(len > VMOP_SUMS_WAITING_BYTES);
	struct vmop_sum *sum = vmop_sums_at(&sums, &(struct vmop_sum_key){0});
	assert_int_equal(vmop_sums_add_packed(&sums, sum, buf, len), VMOP_UNPACK_OK);
	assert_int_equal(vmop_sums_add_waiting(&sums), VMOP_UNPACK_OK);
	assert_int_equal(sum->n_cells, N);
	assert_memory_equal(vmop_sum_sort(sum), cells, N * sizeof(*cells));
	vmop_sums_deinit(&sums);
	free(cells);
}

static void a_damaged_one_is_told(void **state)
{
	static const uint8_t good[] = {0x11, 1, 5, 6}, cut[] = {0x11, 1, 5, 0x86};
	struct vmop_sums sums = {0};
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct vmop_sum *sum = vmop_sums_at(&sums, &(struct vmop_sum_key){.place = i});
		assert_int_equal(vmop_sums_add_packed(&sums, sum, i == 1 ? cut : good, 4),
				 VMOP_UNPACK_OK);
	}
	assert_int_equal(vmop_sums_add_waiting(&sums), VMOP_UNPACK_CORRUPT);
	vmop_sums_deinit(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorted_as_by_qsort),
		cmocka_unit_test(blobs_that_wait_are_all_added),
		cmocka_unit_test(one_that_is_too_long_to_wait),
		cmocka_unit_test(a_damaged_one_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
