// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libdb/common.h"

#include "libdb/pack.h"

/* Unpacking one cell or several at a time returns the same cells. */
static void walks_agree(const uint8_t *blob, size_t len, const struct vmop_db_cell *cells, size_t n)
{
	static const size_t steps[] = {1, 3, 512};
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		struct vmop_unpack one, some;
		struct vmop_db_cell cell, several[512];
		enum vmop_unpack_result result = VMOP_UNPACK_CELL;
		size_t done = 0, got;
		assert_true(vmop_unpack_begin(&one, blob, len));
		assert_true(vmop_unpack_begin(&some, blob, len));
		while (result == VMOP_UNPACK_CELL) {
			result = vmop_unpack_some(&some, several, steps[s], &got);
			assert_in_range(got, 0, n - done);
			for (size_t i = 0; i < got; i++) {
				assert_int_equal(vmop_unpack_next(&one, &cell), VMOP_UNPACK_CELL);
				assert_memory_equal(&cell, &several[i], sizeof(cell));
				assert_memory_equal(&cell, &cells[done++], sizeof(cell));
			}
		}
		assert_int_equal(result, VMOP_UNPACK_END);
		assert_int_equal(vmop_unpack_next(&one, &cell), VMOP_UNPACK_END);
		assert_int_equal(done, n);
	}
}

/* Return the number of cells in the blob. -1: refused. */
static int unpack_all(void *arg, const void *blob, size_t len)
{
	struct vmop_cells *cells = arg;
	return vmop_unpack_all(blob, len, cells) == VMOP_UNPACK_OK ? (int)cells->n : -1;
}

static void round_trip(const struct vmop_db_cell *cells, size_t n, size_t max_bytes)
{
	_cleanup_free_ uint8_t *buf = malloc(vmop_pack_bound_bytes(n));
	struct vmop_cells opened = {0};
	size_t len = vmop_pack(cells, n, buf);
	assert_in_range(len, 1, max_bytes);
	assert_int_equal(vmop_unpack_all(buf, len, &opened), VMOP_UNPACK_OK);
	assert_int_equal(opened.n, n);
	assert_memory_equal(opened.all, cells, n * sizeof(*cells));
	walks_agree(buf, len, cells, n);
	test_cuts(buf, len, n, unpack_all, &opened);
	free(opened.all);
}

static void small(void **state)
{
	(void)state;
	static const struct vmop_db_cell one[] = {{0, 1, 0}};
	round_trip(one, 1, 3);
	/* Head, a period of 3 bytes, 3 bytes for the first offset, then one byte for each cell. */
	static const struct vmop_db_cell near[] = {
		{0x1000, 1, 1000000}, {0x1004, 1, 1000000}, {0x1044, 1, 1000000}};
	round_trip(near, 3, 8);
	static const struct vmop_db_cell counted[] = {{16, 5, 5}, {17, 2, 2}, {18, 1, 1}};
	round_trip(counted, 3, 2 + 2 + 2 + 1);
	static const struct vmop_db_cell uneven[] = {{16, 5, 501}, {17, 1, 99}};
	round_trip(uneven, 2, 1 + 4 + 2);
	static const struct vmop_db_cell weightless[] = {{16, 2, 0}, {18, 1, 7}};
	round_trip(weightless, 2, 7);
}

static void extremes(void **state)
{
	(void)state;
	static const struct vmop_db_cell ends[] = {{0, 1, 1}, {UINT64_MAX, 1, 1}};
	round_trip(ends, 2, 14);
	static const struct vmop_db_cell last[] = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
	round_trip(last, 1, VMOP_PACK_HEAD_MAX_BYTES + VMOP_PACK_CELL_MAX_BYTES);
	static const struct vmop_db_cell heavy[] = {{UINT64_MAX - 2, UINT64_MAX, UINT64_MAX},
						    {UINT64_MAX - 1, UINT64_MAX - 1, 1},
						    {UINT64_MAX, 1, UINT64_MAX - 1}};
	round_trip(heavy, 3, VMOP_PACK_HEAD_MAX_BYTES + 3 * VMOP_PACK_CELL_MAX_BYTES);
}

static void spread(void **state)
{
	(void)state;
	enum { N = 4096 };
	struct vmop_db_cell *cells = calloc(N, sizeof(*cells));
	for (uint64_t i = 0; i < N; i++) {
		cells[i].offset = i * (UINT64_MAX / N) + i * i;
		cells[i].samples = 1 + i % 3;
		cells[i].weight_events = cells[i].samples * (i % 2 ? 1000003 : 999983);
	}
	round_trip(cells, N, N * 13);
	free(cells);
}

/* Steps and samples around each limit of the format, up to the last address. */
static void mixed(void **state)
{
	(void)state;
	static const uint64_t steps[] = {1, 64, 65, 8191, 8192, 8193, 1 << 20, 2};
	static const uint64_t samples[] = {1, 2, 128, 129, 130, 131, 1, 20000};
	static const uint64_t periods[] = {0, 1, 1000000, UINT64_MAX / 20000};
	enum { N = 4096 };
	struct vmop_db_cell *cells = calloc(N, sizeof(*cells));
	for (size_t p = 0; p < sizeof(periods) / sizeof(periods[0]); p++) {
		uint64_t offset = UINT64_MAX, random = p;
		for (size_t i = N; i-- > 0;) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			cells[i].offset = offset;
			cells[i].samples = samples[random >> 40 & 7];
			cells[i].weight_events = cells[i].samples * periods[p];
			offset -= steps[random >> 50 & 7];
		}
		round_trip(cells, N, N * 6 + 20);
	}
	free(cells);
}

static void refuses_what_is_not_cells(void **state)
{
	(void)state;
	uint8_t buf[4 * VMOP_PACK_CELL_MAX_BYTES];
	static const struct vmop_db_cell twice[] = {{5, 1, 1}, {5, 1, 1}};
	static const struct vmop_db_cell falling[] = {{5, 1, 1}, {4, 1, 1}};
	static const struct vmop_db_cell empty[] = {{5, 0, 1}};
	assert_int_equal(vmop_pack(twice, 2, buf), 0);
	assert_int_equal(vmop_pack(falling, 2, buf), 0);
	assert_int_equal(vmop_pack(empty, 1, buf), 0);
	assert_int_equal(vmop_pack(empty, 0, buf), 0);
}

static void refuses_hostile_blobs(void **state)
{
	(void)state;
	static const struct test_blob bad[] = {
		{{0}, 0},
		{{0x11}, 1},
		{{0x11, 1}, 2},		 /* a period and no cell */
		{{0x21, 1, 1}, 3},	 /* another version */
		{{0x12, 1, 1}, 3},	 /* an unknown flag */
		{{0x11, 0x80, 0x80}, 3}, /* a period without end */
		{{0x11, 1, 0x40}, 3},	 /* samples missing */
		{{0x10, 1}, 2},		 /* weight missing */
		/* a varint of 65 bits, one of 11 bytes */
		{{0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1}, 12},
		{{0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1}, 13},
		/* offset 2^64 - 1, then one more; a step beyond the end */
		{{0x11, 1, 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03, 0}, 13},
		{{0x11, 1, 1, 0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03}, 13},
		/* samples beyond 64 bits; samples * period beyond them */
		{{0x11, 1, 0x41, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 13},
		{{0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x41, 0}, 13},
	};
	struct vmop_cells cells = {0};
	test_refuses(bad, sizeof(bad) / sizeof(bad[0]), unpack_all, &cells);
	free(cells.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(extremes),
		cmocka_unit_test(spread),
		cmocka_unit_test(mixed),
		cmocka_unit_test(refuses_what_is_not_cells),
		cmocka_unit_test(refuses_hostile_blobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
