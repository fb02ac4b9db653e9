// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/guest-rows.h"

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libvmop/stat/ratio.h"

/* Write rows as vmopstat does, and return the text, which the caller frees. */
static void near(double value, double wanted, double within)
{
	if (!(fabs(value - wanted) <= within))
		fail_msg("%f, not %f", value, wanted);
}

static char *written(const struct vmop_stat_row *rows, size_t n)
{
	size_t len;
	char *text = NULL;
	struct vmop_stat_writer writer = {.format = VMOP_STAT_JSON,
					  .out = open_memstream(&text, &len)};
	assert_non_null(writer.out);
	for (size_t i = 0; i < n; i++)
		vmop_stat_write_row(&writer, &rows[i], 0);
	assert_int_equal(fclose(writer.out), 0);
	return text;
}

static void values_survive_the_way(void **state)
{
	(void)state;
	struct vmop_stat_row sent[3] = {
		{.name = "task-clock", .is_time = true, .running_ns = 5e6, .enabled_ns = 5e6},
		{.name = "cycles:u", .is_estimate = true, .running_ns = 3e6, .enabled_ns = 4e6},
		{.name = "instructions", .reason = "nothing on this machine counts it"},
	};
	const double runs[] = {1000003, 1000001, 999999};
	sent[1].ratio_unit = vmop_ratio_unit("/sec");
	for (size_t i = 0; i < 3; i++) {
		vmop_spread_add(&sent[0].values, runs[i] * 5);
		vmop_spread_add(&sent[1].values, runs[i]);
		vmop_spread_add(&sent[1].ratios, runs[i] / 1000);
	}
	char *text = written(sent, 3);
	struct vmop_guest_rows got;
	assert_null(vmop_guest_rows_parse(text, strlen(text), &got));
	assert_int_equal(got.n, 3);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(got.rows[i].name, sent[i].name);
		assert_int_equal(got.rows[i].is_time, sent[i].is_time);
		assert_int_equal(got.rows[i].is_estimate, sent[i].is_estimate);
		assert_int_equal(got.rows[i].values.n, 3);
		near(got.rows[i].values.mean, sent[i].values.mean, 1e-3);
		near(vmop_spread_half_width(&got.rows[i].values),
		     vmop_spread_half_width(&sent[i].values), 1e-3);
		near(got.rows[i].enabled_ns, sent[i].enabled_ns, 1);
	}
	assert_ptr_equal(got.rows[1].ratio_unit, sent[1].ratio_unit);
	near(got.rows[1].ratios.mean, 1000.001, 1e-6);
	assert_string_equal(got.rows[2].reason, sent[2].reason);
	vmop_guest_rows_deinit(&got);
	free(text);
}

static void a_single_run_has_no_spread(void **state)
{
	(void)state;
	const char text[] = "{\"event\":\"cycles\",\"unit\":\"\",\"counter-value\":12}";
	struct vmop_guest_rows got;
	assert_null(vmop_guest_rows_parse(text, strlen(text), &got));
	assert_int_equal(got.rows[0].values.n, 1);
	near(got.rows[0].values.mean, 12, 0);
	vmop_guest_rows_deinit(&got);
}

#define ROW "{\"event\":\"x\",\"unit\":\"\",\"counter-value\":1"

static void what_vmopstat_does_not_print_is_refused(void **state)
{
	(void)state;
	const char *const texts[] = {
		"",
		"\n",
		"sh: vmopstat: not found\n",
		"[1]\n",
		"{\"event\":\"x\"}\n",
		"{\"event\":\"\",\"unit\":\"\",\"counter-value\":1}\n",
		"{\"event\":1,\"unit\":\"\",\"counter-value\":1}\n",
		"{\"event\":\"x\",\"unit\":\"\",\"counter-value\":-1}\n",
		"{\"event\":\"x\",\"unit\":\"\",\"counter-value\":1e300}\n",
		"{\"event\":\"x\",\"unit\":\"\",\"counter-value\":\"1\"}\n",
		"{\"event\":\"x\",\"unit\":\"\",\"counter-value\":null}\n",
		ROW ",\"runs\":0}\n",
		ROW ",\"runs\":1e9}\n",
		ROW ",\"pcnt-running\":101}\n",
		ROW ",\"interval-99-percent\":-1}\n",
		ROW ",\"event\":\"y\"}\n",
		ROW "}\nmore\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct vmop_guest_rows got;
		struct vmop_error *err = vmop_guest_rows_parse(texts[i], strlen(texts[i]), &got);
		if (!err)
			fail_msg("accepted: %s", texts[i]);
		assert_int_equal(err->code, VMOP_ERROR_CANT);
		vmop_error_destroy(err);
	}
}

static void there_are_bounds(void **state)
{
	(void)state;
	const size_t n = VMOP_GUEST_ROWS_MAX + 1, len = strlen(ROW "}\n");
	char *text = malloc(n * len + 1);
	struct vmop_guest_rows got;
	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, ROW "}\n", len);
	assert_null(vmop_guest_rows_parse(text, (n - 1) * len, &got));
	assert_int_equal(got.n, VMOP_GUEST_ROWS_MAX);
	vmop_guest_rows_deinit(&got);
	struct vmop_error *err = vmop_guest_rows_parse(text, n * len, &got);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "more than 256 counts"));
	vmop_error_destroy(err);
	err = vmop_guest_rows_parse(text, VMOP_GUEST_ROWS_BYTES + 1, &got);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "bytes"));
	vmop_error_destroy(err);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_survive_the_way),
		cmocka_unit_test(a_single_run_has_no_spread),
		cmocka_unit_test(what_vmopstat_does_not_print_is_refused),
		cmocka_unit_test(there_are_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
