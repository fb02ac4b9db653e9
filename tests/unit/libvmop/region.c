// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "libvmop/vmop.h"

/* Page tables may be filled on the way; AddressSanitizer has a shadow of touched memory. */
#ifdef __SANITIZE_ADDRESS__
#define N_MORE 100
#else
#define N_MORE 3
#endif

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Events that reading does not cause: an empty region has none, whatever else the machine does. */
static void empty_regions_are_empty(void **state)
{
	(void)state;
	struct vmop_counters *counters;
	struct vmop_region_count counts[3];
	assert_null(vmop_counters_open("page-faults,task-clock,cpu-migrations", NULL, &counters));
	uint64_t faults[400], times_ns[400];
	unsigned n_within = 0;
	for (unsigned i = 0; i < 400; i++) {
		assert_null(vmop_region_begin(counters));
		assert_null(vmop_region_end(counters, counts, 3));
		faults[i] = counts[0].value;
		times_ns[i] = counts[1].value;
		assert_int_equal(counts[0].cost, 0);
		assert_true(counts[1].raw >= counts[1].value);
		assert_true(counts[1].spread <= counts[1].largest);
		n_within += counts[1].value <= counts[1].spread;
	}
	qsort(faults, 400, sizeof(*faults), by_size);
	qsort(times_ns, 400, sizeof(*times_ns), by_size);
	assert_int_equal(faults[390], 0);
	/* Reading the clock takes time, which is known and subtracted. */
	assert_true(counts[1].cost > 0);
	assert_true(times_ns[100] <= counts[1].spread);
	assert_true(n_within > 200);
	vmop_counters_close(counters);
}

static void regions_count_what_is_inside(void **state)
{
	(void)state;
	enum { N = 250, PAGE = 4096 };
	struct vmop_counters *counters;
	struct vmop_region_count counts[2];
	assert_null(vmop_counters_open("{page-faults,minor-faults}", NULL, &counters));
	for (unsigned i = 0; i < 3; i++) {
		char *pages = mmap(NULL, N * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(pages, MAP_FAILED);
		madvise(pages, N * PAGE, MADV_NOHUGEPAGE);
		assert_null(vmop_region_begin(counters));
		for (size_t j = 0; j < N; j++)
			((volatile char *)pages)[j * PAGE] = 1;
		assert_null(vmop_region_end(counters, counts, 2));
		munmap(pages, N * PAGE);
		assert_in_range(counts[0].value, N, N + N_MORE);
		assert_int_equal(counts[0].value, counts[1].value);
		assert_int_equal(counts[0].estimate, counts[0].value);
		assert_int_equal(counts[0].way, VMOP_BY_READ);
	}
	vmop_counters_close(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_regions_are_empty),
		cmocka_unit_test(regions_count_what_is_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
