// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of --io. What the ways count is the matter of tests/integration/stat-io-exact.sh. */
#include "libvmop/stat/io/io.h"

#include <cmocka.h>

static void words(void **state)
{
	(void)state;
	struct vmop_stat_io_settings settings;
	assert_null(vmop_stat_io_settings_parse(NULL, &settings));
	assert_true(settings.is_wanted);
	assert_false(settings.has_times);
	assert_int_equal(settings.way, VMOP_STAT_IO_BEST);
	assert_null(vmop_stat_io_settings_parse("time", &settings));
	assert_true(settings.has_times);
	assert_null(vmop_stat_io_settings_parse("preload,time", &settings));
	assert_true(settings.has_times);
	assert_int_equal(settings.way, VMOP_STAT_IO_PRELOAD);
	assert_null(vmop_stat_io_settings_parse("bpf", &settings));
	assert_int_equal(settings.way, VMOP_STAT_IO_BPF);
}

static void wrong_words(void **state)
{
	(void)state;
	static const char *const texts[] = {"times", "tim", ",", "bpf,,time", "time,x", "BPF"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct vmop_stat_io_settings settings;
		struct vmop_error *err = vmop_stat_io_settings_parse(texts[i], &settings);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		vmop_error_destroy(err);
	}
}

static void a_library_cannot_count_what_runs(void **state)
{
	(void)state;
	struct vmop_stat_io io = {0};
	const struct vmop_stat_io_settings settings = {.way = VMOP_STAT_IO_PRELOAD};
	struct vmop_error *err = vmop_stat_io_prepare(&settings, false, &io);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
	vmop_stat_io_deinit(&io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(wrong_words),
		cmocka_unit_test(a_library_cannot_count_what_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
