// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/rows.h"

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const struct vmop_stat_row *row(const struct vmop_stat_io_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++) {
		if (strcmp(rows->rows[i].name, name) == 0)
			return &rows->rows[i];
	}
	return NULL;
}

static double value(const struct vmop_stat_io_rows *rows, const char *name)
{
	assert_non_null(row(rows, name));
	assert_null(row(rows, name)->reason);
	return row(rows, name)->values.mean;
}

static void runs_have_a_mean(void **state)
{
	(void)state;
	const struct vmop_stat_io_settings settings = {.is_wanted = true};
	struct vmop_stat_io io = {.settings = &settings};
	struct vmop_stat_io_rows rows = {0};
	struct vmop_appio_counts *reads = &io.totals.sums[VMOP_STAT_IO_READS];
	*reads = (struct vmop_appio_counts){.calls = 10, .bytes = 4000, .errors = 2};
	vmop_stat_io_rows_add(&rows, &io, 2);
	reads->bytes = 8000;
	vmop_stat_io_rows_add(&rows, &io, 2);
	assert_true(value(&rows, "io-read-calls") == 10);
	assert_true(value(&rows, "io-read-bytes") == 6000);
	assert_int_equal(row(&rows, "io-read-bytes")->values.n, 2);
	/* A rate, and a mean of the eight calls that transferred. */
	assert_true(fabs(row(&rows, "io-read-bytes")->ratios.mean - 3000) < 1e-9);
	assert_true(fabs(value(&rows, "io-read-block-size") - 750) < 1e-9);
	/* Nothing was written: no block size, and no times were wanted. */
	assert_non_null(row(&rows, "io-write-block-size")->reason);
	assert_null(row(&rows, "io-read-time"));
}

static void intervals_are_differences(void **state)
{
	(void)state;
	const struct vmop_stat_io_settings settings = {.is_wanted = true, .has_times = true};
	struct vmop_stat_io io = {.settings = &settings};
	struct vmop_stat_io_rows rows = {0};
	struct vmop_appio_counts *writes = &io.totals.sums[VMOP_STAT_IO_WRITES];
	*writes = (struct vmop_appio_counts){.calls = 5, .bytes = 100, .time_ns = 1000};
	vmop_stat_io_rows_add(&rows, &io, 1);
	rows.before = io.totals;
	vmop_stat_io_rows_clear(&rows);
	*writes = (struct vmop_appio_counts){.calls = 7, .bytes = 400, .time_ns = 1500};
	vmop_stat_io_rows_add(&rows, &io, 1);
	assert_true(value(&rows, "io-write-calls") == 2);
	assert_true(value(&rows, "io-write-block-size") == 150);
	assert_true(value(&rows, "io-write-time") == 500);
	assert_true(row(&rows, "io-write-time")->is_time);
}

static void what_is_not_counted_has_a_reason(void **state)
{
	(void)state;
	const struct vmop_stat_io_settings settings = {.is_wanted = true};
	struct vmop_stat_io io = {.settings = &settings,
				  .facts = {.no_faults = "why", .no_open_peak = "because"}};
	struct vmop_stat_io_rows rows = {0};
	vmop_stat_io_rows_add(&rows, &io, 1);
	assert_string_equal(row(&rows, "io-file-faults")->reason, "why");
	assert_string_equal(row(&rows, "io-file-faults-major")->reason, "why");
	assert_string_equal(row(&rows, "io-open-descriptors")->reason, "because");
	io.facts.no_counts = "nothing";
	vmop_stat_io_rows_clear(&rows);
	vmop_stat_io_rows_add(&rows, &io, 1);
	for (size_t i = 0; i < rows.n; i++)
		assert_string_equal(rows.rows[i].reason, "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_have_a_mean),
		cmocka_unit_test(intervals_are_differences),
		cmocka_unit_test(what_is_not_counted_has_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
