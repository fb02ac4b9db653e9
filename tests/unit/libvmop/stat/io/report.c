// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/report.h"

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/appio-calls.h"

static void numbers_fit(void **state)
{
	(void)state;
	static const struct {
		uint64_t value;
		int width;
		const char *text;
	} table[] = {
		{0, 4, "0"},
		{9999, 4, "9999"},
		{10000, 4, "10k"},
		{99999, 5, "99999"},
		{123456, 5, "123k"},
		{1234567, 6, "1.235M"},
		{999999999, 9, "999999999"},
		{1234567890, 9, "1.235G"},
		{UINT64_MAX, 5, "18.4E"},
		{999600, 4, "1.0M"},
		{99950, 4, "100k"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char text[24];
		vmop_stat_io_fit(table[i].value, table[i].width, text);
		assert_string_equal(text, table[i].text);
	}
	/* Whatever the value is, it fits. */
	for (uint64_t value = 1; value < UINT64_MAX / 7; value = value * 3 + 1) {
		for (int width = 4; width <= 12; width++) {
			char text[24];
			vmop_stat_io_fit(value, width, text);
			assert_in_range(strlen(text), 1, width);
		}
	}
}

/* Print an account with long names and large numbers. */
static void print(enum vmop_stat_format format, bool has_times, char **ret)
{
	const struct vmop_stat_io_settings settings = {.is_wanted = true, .has_times = has_times};
	struct vmop_stat_io io = {.settings = &settings,
				  .way = VMOP_STAT_IO_BPF,
				  .facts = {.n_left_out = 3, .no_uring = "of a reason"}};
	const struct vmop_appio_task task = {.pid = 4000000, .tid = 4000001, .name = "a\033[1mb,c"};
	size_t size;
	FILE *out = open_memstream(ret, &size);
	assert_null(vmop_stat_io_account_put_task(&io.account, 1, &task));
	for (int i = 0; i < 30; i++) {
		const struct vmop_appio_key key = {
			.task = 1,
			.fd = 1000000 + i / 2,
			.call = (uint8_t)vmop_appio_call_id(i ? "copy_file_range"
							      : "io_uring_enter"),
			.direction = (uint8_t)(i % 2),
			.kind = VMOP_APPIO_KIND_DEVICE};
		struct vmop_appio_entry entry = {.counts = {UINT64_MAX / 64, UINT64_MAX / 64, 1, 2,
							    3, 4, 5, UINT64_MAX / 64},
						 .name = "a name that has 31 characters\n\t"};
		assert_null(vmop_stat_io_account_put_entry(&io.account, &key, &entry));
	}
	vmop_stat_io_account_totals(&io.account, &io.totals);
	const struct vmop_stat_writer writer = {.format = format, .separator = ",", .out = out};
	if (format == VMOP_STAT_TABLE)
		vmop_stat_io_report_sums(&writer, &io, 1e9);
	assert_null(vmop_stat_io_report_parts(&writer, &io));
	vmop_stat_io_report_facts(&writer, &io);
	fclose(out);
	vmop_stat_io_account_deinit(&io.account);
}

static void tables_fit_into_80_columns(void **state)
{
	(void)state;
	for (int has_times = 0; has_times <= 1; has_times++) {
		char *text, *line, *rest;
		print(VMOP_STAT_TABLE, has_times, &text);
		assert_null(strchr(text, '\033'));
		assert_non_null(strstr(text, "3 calls are in the sums"));
		assert_non_null(strstr(text, "more (--json has all)"));
		assert_non_null(strstr(text, "of a reason"));
		for (rest = text; (line = strsep(&rest, "\n"));) {
			if (strlen(line) > 80)
				fail_msg("%zu columns: %s", strlen(line), line);
		}
		free(text);
	}
}

static void json_has_all(void **state)
{
	(void)state;
	char *text, *line, *rest;
	size_t n_descriptors = 0, n_facts = 0;
	print(VMOP_STAT_JSON, true, &text);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		json_t *object = json_loads(line, 0, NULL);
		assert_non_null(object);
		const char *io = json_string_value(json_object_get(object, "io"));
		n_descriptors += strcmp(io, "descriptor") == 0;
		n_facts += strcmp(io, "facts") == 0;
		json_decref(object);
	}
	assert_int_equal(n_descriptors, 29);
	assert_int_equal(n_facts, 1);
	free(text);
}

/* The name, which can have a separator, is the last field. */
static void fields_are_as_many(void **state)
{
	(void)state;
	char *text, *line, *rest;
	print(VMOP_STAT_FIELDS, false, &text);
	assert_null(strchr(text, '\033'));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		size_t n = 0;
		for (const char *at = line; *at; at++)
			n += *at == ',';
		if (strncmp(line, "io-descriptor,", strlen("io-descriptor,")) == 0)
			assert_int_equal(n, 15);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_fit),
		cmocka_unit_test(tables_fit_into_80_columns),
		cmocka_unit_test(json_has_all),
		cmocka_unit_test(fields_are_as_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
