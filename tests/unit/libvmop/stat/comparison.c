// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/comparison.h"

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double value, double wanted, double within)
{
	if (!(fabs(value - wanted) <= within))
		fail_msg("%f, not %f", value, wanted);
}

static struct vmop_spread spread_of(const double *values, size_t n)
{
	struct vmop_spread spread = {0};
	for (size_t i = 0; i < n; i++)
		vmop_spread_add(&spread, values[i]);
	return spread;
}

static void a_deviation_has_welchs_interval(void **state)
{
	(void)state;
	const double a[] = {100, 102, 98, 101, 99}, b[] = {110, 114, 106, 112, 108};
	struct vmop_spread host = spread_of(a, 5), guest = spread_of(b, 5);
	struct vmop_deviation deviation = vmop_deviation_of(&host, &guest);
	assert_null(deviation.reason);
	near(deviation.percent, 10, 1e-9);
	/*
	 * Relative errors: sqrt(2.5 / 5) / 100 and sqrt(10 / 5) / 110; their sum of squares is
	 * 0.00021529; 6.1 degrees of freedom, t = 3.707 for 6: 110 * 3.707 * 0.014673.
	 */
	near(deviation.width_percent, 5.983, 0.01);
}

static void single_runs_have_no_interval(void **state)
{
	(void)state;
	const double a = 200, b = 190, zero = 0;
	struct vmop_spread host = spread_of(&a, 1), guest = spread_of(&b, 1),
			   none = spread_of(&zero, 1);
	struct vmop_deviation deviation = vmop_deviation_of(&host, &guest);
	near(deviation.percent, -5, 1e-9);
	assert_true(deviation.width_percent < 0);
	assert_non_null(vmop_deviation_of(&none, &guest).reason);
	assert_non_null(vmop_deviation_of(&host, &none).reason);
}

static void equal_runs_have_an_interval_of_zero(void **state)
{
	(void)state;
	const double same[] = {7, 7, 7};
	struct vmop_spread spread = spread_of(same, 3);
	struct vmop_deviation deviation = vmop_deviation_of(&spread, &spread);
	near(deviation.percent, 0, 0);
	near(deviation.width_percent, 0, 0);
}

static struct vmop_stat_row row(const char *name, double value)
{
	return (struct vmop_stat_row){.name = name, .values = {.n = 1, .mean = value}};
}

static void rows_are_joined_by_name_and_rank(void **state)
{
	(void)state;
	const struct vmop_stat_row host[] = {row("cycles", 1), row("faults", 2), row("cycles", 3)};
	const struct vmop_stat_row guest[] = {row("cycles", 10), row("cycles", 30),
					      row("faults:u", 20)};
	struct vmop_stat_pair pairs[6];
	assert_int_equal(vmop_stat_pairs_join(host, 3, guest, 3, pairs), 4);
	assert_ptr_equal(pairs[0].guest, &guest[0]);
	assert_null(pairs[1].guest);
	assert_non_null(pairs[1].deviation.reason);
	assert_ptr_equal(pairs[2].host, &host[2]);
	assert_ptr_equal(pairs[2].guest, &guest[1]);
	near(pairs[2].deviation.percent, 900, 1e-9);
	assert_null(pairs[3].host);
	assert_ptr_equal(pairs[3].guest, &guest[2]);
}

static char *written(enum vmop_stat_format format, const struct vmop_stat_pair *pairs, size_t n)
{
	size_t len;
	char *text = NULL;
	const struct vmop_stat_writer writer = {
		.format = format, .separator = ",", .out = open_memstream(&text, &len)};
	assert_non_null(writer.out);
	assert_null(vmop_stat_pairs_write(&writer, "'x\n' in a guest", pairs, n));
	assert_int_equal(fclose(writer.out), 0);
	return text;
}

static void three_formats(void **state)
{
	(void)state;
	struct vmop_stat_row host[] = {row("cycles", 100), row("bad", 0)};
	struct vmop_stat_row guest[] = {row("cycles", 101), row("bad", 0)};
	struct vmop_stat_pair pairs[4];
	guest[1].reason = "it \033[31mlies";
	size_t n = vmop_stat_pairs_join(host, 2, guest, 2, pairs);
	char *table = written(VMOP_STAT_TABLE, pairs, n);
	assert_non_null(strstr(table, "+1.00%"));
	assert_non_null(strstr(table, "# guest: it "));
	assert_null(strchr(table, '\033'));
	assert_null(strstr(table, "x\n'"));
	char *fields = written(VMOP_STAT_FIELDS, pairs, n);
	assert_string_equal(fields, "100,,101,,1.0000%,,,cycles\n0,,<not counted>,,,,,bad\n");
	char *json = written(VMOP_STAT_JSON, pairs, n);
	assert_non_null(strstr(json, "\"deviation-percent\":1.0"));
	assert_non_null(strstr(json, "\"deviation-percent\":null"));
	free(table);
	free(fields);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deviation_has_welchs_interval),
		cmocka_unit_test(single_runs_have_no_interval),
		cmocka_unit_test(equal_runs_have_an_interval_of_zero),
		cmocka_unit_test(rows_are_joined_by_name_and_rank),
		cmocka_unit_test(three_formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
