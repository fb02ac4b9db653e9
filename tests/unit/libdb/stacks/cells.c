// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libdb/common.h"

#include "libdb/stacks/cells.h"
#include "libdb/stacks/heap.h"

/* Return the cells of the blob in heap. -1: refused. */
static int unpack_all(void *arg, const void *blob, size_t len)
{
	struct vmop_stack_heap *heap = arg;
	heap->n = 0;
	return vmop_stack_heap_add(heap, blob, len) == VMOP_UNPACK_OK ? (int)heap->n : -1;
}

static void round_trip(const struct vmop_db_stack_cell *cells, size_t n, size_t max_bytes)
{
	_cleanup_free_ uint8_t *buf = malloc(vmop_pack_stacks_bound_bytes(n));
	_cleanup_(vmop_stack_heap_deinit) struct vmop_stack_heap heap = {0};
	size_t len = vmop_pack_stacks(cells, n, buf);
	assert_in_range(len, 1, max_bytes);
	assert_true(vmop_pack_has_stacks(buf, len));
	assert_int_equal(unpack_all(&heap, buf, len), n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(heap.cells[i].stack.number, cells[i].stack.number);
		assert_memory_equal(&heap.cells[i].cell, &cells[i].cell, sizeof(cells[i].cell));
	}
	test_cuts(buf, len, n, unpack_all, &heap);
}

static void small(void **state)
{
	(void)state;
	static const struct vmop_db_stack_cell none[] = {{{0}, {0, 1, 0}}};
	round_trip(none, 1, 4);
	/* Head, a period of 3 bytes; each cell: one byte of stack, two or one of offset. */
	static const struct vmop_db_stack_cell near[] = {{{3}, {0x1000, 1, 1000000}},
							 {{3}, {0x1004, 2, 2000000}},
							 {{5}, {0xff0, 1, 1000000}},
							 {{66}, {0x1000, 1, 1000000}}};
	round_trip(near, 4, 4 + 3 + 3 + 2 + 2);
	static const struct vmop_db_stack_cell uneven[] = {{{1}, {16, 5, 501}}, {{2}, {16, 1, 99}}};
	round_trip(uneven, 2, 1 + 5 + 3);
}

static void extremes(void **state)
{
	(void)state;
	static const struct vmop_db_stack_cell ends[] = {{{0}, {0, 1, 1}},
							 {{0}, {UINT64_MAX, 1, 1}},
							 {{1}, {0, 1, 1}},
							 {{UINT32_MAX}, {UINT64_MAX, 1, 1}}};
	round_trip(ends, 4, 26);
	static const struct vmop_db_stack_cell heavy[] = {
		{{UINT32_MAX}, {UINT64_MAX / 2, UINT64_MAX, 1}},
		{{UINT32_MAX}, {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX}}};
	round_trip(heavy, 2, VMOP_PACK_HEAD_MAX_BYTES + 2 * VMOP_PACK_STACK_CELL_MAX_BYTES);
	static const struct vmop_db_stack_cell far[] = {{{1}, {UINT64_C(1) << 63, 1, 1}},
							{{2}, {1, 1, 1}},
							{{3}, {UINT64_MAX, 1, 1}},
							{{4}, {UINT64_MAX / 2, 1, 1}}};
	round_trip(far, 4, 60);
}

/* Fill cells in random order, some of them twice. */
static void shuffle(struct vmop_db_stack_cell *cells, size_t n)
{
	uint64_t random = n;
	for (size_t i = 0; i < n; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		cells[i].stack.number = (uint32_t)(random >> 40) % (n / 4 + 1);
		cells[i].cell.offset = random >> 20 & 0xfffff;
		cells[i].cell.offset *= i % 3 ? 1 : UINT64_C(0x100000001);
		cells[i].cell.samples = 1 + (random >> 60);
		cells[i].cell.weight_events = cells[i].cell.samples * 10;
		if (i % 5 == 4)
			cells[i] = cells[i - 3];
	}
}

static int compare(const void *a, const void *b)
{
	const struct vmop_db_stack_cell *x = a, *y = b;
	if (x->stack.number != y->stack.number)
		return x->stack.number < y->stack.number ? -1 : 1;
	return (x->cell.offset > y->cell.offset) - (x->cell.offset < y->cell.offset);
}

/* The sort agrees with qsort. Summed cells are packed in few bytes and survive. */
static void sorts(void **state)
{
	(void)state;
	static const size_t sizes[] = {1, 2, 32, 33, 700, 5000};
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t n = sizes[s];
		_cleanup_(vmop_stack_heap_deinit) struct vmop_stack_heap heap = {0};
		_cleanup_free_ struct vmop_db_stack_cell *cells = calloc(n, sizeof(*cells));
		_cleanup_free_ struct vmop_db_stack_cell *same = calloc(n, sizeof(*cells));
		heap.cells = calloc(2 * n, sizeof(*cells));
		heap.n = heap.capacity = n;
		shuffle(cells, n);
		memcpy(heap.cells, cells, n * sizeof(*cells));
		memcpy(same, cells, n * sizeof(*cells));
		qsort(same, n, sizeof(*same), compare);
		vmop_db_sort_stack_cells(cells, heap.cells + n, n);
		uint64_t samples = 0, sum = 0;
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(compare(&cells[i], &same[i]), 0);
			samples += cells[i].cell.samples;
		}
		vmop_stack_heap_merge(&heap);
		for (size_t i = 0; i < heap.n; i++) {
			sum += heap.cells[i].cell.samples;
			if (i)
				assert_true(compare(&heap.cells[i - 1], &heap.cells[i]) < 0);
		}
		assert_int_equal(sum, samples);
		assert_in_range(heap.n, (n + 1) / 2, n - n / 5);
		round_trip(heap.cells, heap.n, 4 + n * 12);
	}
}

/* A heap sums blobs that come again, and stays within its bound. */
static void heap_sums(void **state)
{
	(void)state;
	enum { N = 3000 };
	_cleanup_(vmop_stack_heap_deinit) struct vmop_stack_heap heap = {0}, bounded = {0};
	struct vmop_db_stack_cell *cells = calloc(N, sizeof(*cells));
	_cleanup_free_ uint8_t *buf = malloc(vmop_pack_stacks_bound_bytes(N));
	for (uint32_t i = 0; i < N; i++)
		cells[i] = (struct vmop_db_stack_cell){{i / 2}, {i, 1, UINT64_MAX / 3}};
	size_t len = vmop_pack_stacks(cells, N, buf);
	for (int i = 0; i < 4; i++)
		assert_int_equal(vmop_stack_heap_add(&heap, buf, len), VMOP_UNPACK_OK);
	vmop_stack_heap_merge(&heap);
	assert_int_equal(heap.n, N);
	assert_in_range(heap.capacity, N, 4 * N);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(heap.cells[i].cell.samples, 4);
		assert_true(heap.cells[i].cell.weight_events == UINT64_MAX);
	}
	bounded.max_bytes = N * sizeof(*cells);
	assert_int_equal(vmop_stack_heap_add(&bounded, buf, len), VMOP_UNPACK_LIMIT);
	free(cells);
}

static void refuses_what_is_not_cells(void **state)
{
	(void)state;
	uint8_t buf[VMOP_PACK_HEAD_MAX_BYTES + 2 * VMOP_PACK_STACK_CELL_MAX_BYTES];
	static const struct vmop_db_stack_cell twice[] = {{{2}, {5, 1, 1}}, {{2}, {5, 1, 1}}};
	static const struct vmop_db_stack_cell falling[] = {{{2}, {5, 1, 1}}, {{1}, {6, 1, 1}}};
	static const struct vmop_db_stack_cell empty[] = {{{2}, {5, 0, 1}}};
	assert_int_equal(vmop_pack_stacks(twice, 2, buf), 0);
	assert_int_equal(vmop_pack_stacks(falling, 2, buf), 0);
	assert_int_equal(vmop_pack_stacks(empty, 1, buf), 0);
	assert_int_equal(vmop_pack_stacks(empty, 0, buf), 0);
}

static void refuses_hostile_blobs(void **state)
{
	(void)state;
	static const struct test_blob bad[] = {
		{{0}, 0},
		{{0x21}, 1},
		{{0x21, 1}, 2},		 /* a period and no cell */
		{{0x11, 1, 1}, 3},	 /* cells without stacks */
		{{0x22, 1, 1, 1}, 4},	 /* an unknown flag */
		{{0x21, 0x80, 0x80}, 3}, /* a period without end */
		{{0x21, 1, 2}, 3},	 /* offset missing */
		{{0x21, 1, 3, 0}, 4},	 /* samples missing */
		{{0x20, 2, 0}, 3},	 /* weight missing */
		/* a stack of 33 bits; two steps to one beyond 32 bits */
		{{0x21, 1, 0x80, 0x80, 0x80, 0x80, 0x20, 0}, 8},
		{{0x21, 1, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0, 2, 0}, 10},
		/* the same stack, and an offset beyond the last one (zigzag: -1) */
		{{0x21, 1, 2, 1, 0, 0}, 6},
		/* samples beyond 64 bits; samples * period beyond them */
		{{0x21, 1, 3, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 14},
		{{0x21, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 3, 0, 0}, 14},
	};
	_cleanup_(vmop_stack_heap_deinit) struct vmop_stack_heap heap = {0};
	test_refuses(bad, sizeof(bad) / sizeof(bad[0]), unpack_all, &heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(extremes),
		cmocka_unit_test(sorts),
		cmocka_unit_test(heap_sums),
		cmocka_unit_test(refuses_what_is_not_cells),
		cmocka_unit_test(refuses_hostile_blobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
