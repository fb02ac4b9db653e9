// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/histogram.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static void add(struct vmop_histogram *histogram, size_t item, size_t span, uint64_t samples)
{
	const struct vmop_count count = {.samples = samples, .weight_events = 30 * samples};
	vmop_histogram_add(histogram, item, span, count);
}

static void check(const struct vmop_histogram *histogram, size_t item, uint64_t unit,
		  const char *expected)
{
	_cleanup_free_ char *written = NULL;
	struct vmop_json_writer writer;
	size_t len;
	FILE *out = open_memstream(&written, &len);
	vmop_json_writer_init(&writer, out);
	vmop_histogram_write(histogram, item, unit, &writer);
	assert_ok(vmop_json_writer_finish(&writer));
	fclose(out);
	assert_string_equal(written, expected);
}

static void spans_are_merged(void **state)
{
	(void)state;
	_cleanup_(vmop_histogram_deinit) struct vmop_histogram histogram;
	assert_ok(vmop_histogram_init(&histogram, 2, 5));
	add(&histogram, 0, 0, 1);
	add(&histogram, 0, 1, 2);
	add(&histogram, 0, 4, 3);
	add(&histogram, 1, 0, 4);
	add(&histogram, 1, 3, 5);
	add(&histogram, 1, 3, 1);
	check(&histogram, 0, 0, "[0,1,1,2,4,3]");
	check(&histogram, 0, 10, "[0,1,3,1,2,6,4,3,9]");
	check(&histogram, 1, 0, "[0,4,3,6]");
	assert_int_equal(vmop_histogram_bytes(&histogram, 0), 20);
	vmop_histogram_halve(&histogram);
	assert_int_equal(histogram.n_spans, 3);
	check(&histogram, 0, 0, "[0,3,2,3]");
	check(&histogram, 1, 0, "[0,4,1,6]");
	vmop_histogram_halve(&histogram);
	vmop_histogram_halve(&histogram);
	assert_int_equal(histogram.n_spans, 1);
	check(&histogram, 0, 0, "[0,6]");
	check(&histogram, 1, 30, "[0,10,10]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(spans_are_merged)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
