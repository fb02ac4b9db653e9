// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-settings.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/cleanup.h"

/* Parse the words as a program does; return the error of the options or of the decision. */
static struct vmop_error *parse(struct vmop_chart_settings *ret, const char *output_file,
				const char *first, const char *second)
{
	char program[] = "program", one[128], two[128];
	char *argv[] = {program, one, two, NULL};
	snprintf(one, sizeof(one), "%s", first);
	snprintf(two, sizeof(two), "%s", second ? second : "");
	*ret = (struct vmop_chart_settings){0};
	error_t failed = argp_parse(&vmop_chart_argp, second ? 3 : 2, argv, ARGP_SILENT, NULL, ret);
	if (ret->err)
		return vmop_steal(&ret->err);
	assert_int_equal(failed, 0);
	return vmop_chart_settings_decide(ret, output_file);
}

static void assert_refused(const char *output_file, const char *first, const char *second,
			   const char *message)
{
	struct vmop_chart_settings settings;
	_cleanup_(vmop_error_cleanup) struct vmop_error *err =
		parse(&settings, output_file, first, second);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	if (!strstr(err->message, message))
		fail_msg("'%s' lacks '%s'", err->message, message);
}

static void formats_follow_the_suffix(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum vmop_chart_format format;
	} cases[] = {{"a.svg", VMOP_CHART_SVG},
		     {"d.pdf/a.PNG", VMOP_CHART_PNG},
		     {"a.b.pdf", VMOP_CHART_PDF},
		     {".eps", VMOP_CHART_EPS}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_chart_settings settings;
		assert_null(parse(&settings, cases[i].path, "--chart=heat", NULL));
		assert_int_equal(settings.options.format, cases[i].format);
		assert_int_equal(settings.kind, VMOP_CHART_HEAT);
	}
	struct vmop_chart_settings settings;
	assert_null(parse(&settings, "a.svg", "--chart=bars", "--chart-format=pdf"));
	assert_int_equal(settings.options.format, VMOP_CHART_PDF);
	assert_refused("svg", "--chart=bars", NULL, "--chart-format");
	assert_refused("d.svg/a", "--chart=bars", NULL, "--chart-format");
	assert_refused(NULL, "--chart=bars", NULL, "--chart-format");
}

static void sizes_are_bounded(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"--chart-size=",	"--chart-size=800",	  "--chart-size=x",
		"--chart-size=800x",	"--chart-size=0x0",	  "--chart-size=-800x600",
		"--chart-size=199x600", "--chart-size=800x10001", "--chart-size=1000000000000x600",
		"--chart-size=800x600x"};
	struct vmop_chart_settings settings;
	assert_null(parse(&settings, "a.svg", "--chart=bars", "--chart-size=800x10000"));
	assert_int_equal(settings.options.width, 800);
	assert_int_equal(settings.options.height, 10000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_refused("a.svg", "--chart=bars", bad[i], "WIDTHxHEIGHT");
}

static void words_are_checked(void **state)
{
	(void)state;
	assert_refused("a.svg", "--chart=pie", NULL, "bubbles");
	assert_refused("a.svg", "--chart=bars", "--chart-format=gif", "eps");
	assert_refused("a.svg", "--chart-size=800x600", NULL, "needs --chart");
	struct vmop_chart_settings settings = {0};
	assert_null(vmop_chart_settings_decide(&settings, "a.txt"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_follow_the_suffix),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(words_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
