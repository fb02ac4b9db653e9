// SPDX-License-Identifier: GPL-2.0-or-later
/* Test each format with one sheet whose names need escaping. */
#include "opreport/output/output.h"

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static const char *const names[] = {
	"plain",
	"a,b",
	"say \"hi\"",
	"esc\033[31m\nline",
	"bad\xff utf",
	"j\xc3\xb6rg",
	"\xe2\x80\xae"
	"bidi",
};
enum { N_NAMES = sizeof(names) / sizeof(*names) };

static const struct vmop_column columns[] = {
	{"address", "address", VMOP_VALUE_ADDRESS, false, 0, 0},
	{"samples", "samples", VMOP_VALUE_COUNT, false, 1, 0},
	{"percent", "%", VMOP_VALUE_PERCENT, false, 2, 0},
	{"weight", NULL, VMOP_VALUE_COUNT, false, 3, 0},
	{"ratio:i\033pc", "i\033pc", VMOP_VALUE_RATIO, false, 5, 0},
	{"symbol", "symbol", VMOP_VALUE_TEXT, true, 4, 0},
};

/* The ratio of each row. */
static const struct {
	char mark;
	double ratio;
} ratios[] = {{0, 1.234567}, {'~', 0.0123456}, {'<', 12.3456}, {'-', 0},
	      {0, 0},	     {0, 123456.789},  {0, 1.5e-7}};

static void set_value(size_t row, size_t detail, int id, struct vmop_value *ret)
{
	switch (id) {
	case 0:
		ret->number = 0xffffffff81000000 + row + (detail == VMOP_NO_DETAIL ? 0 : detail);
		break;
	case 1:
		ret->number = 1234567 * (row + 1);
		break;
	case 2:
		ret->percent = 100.0 / 3;
		break;
	case 3:
		ret->is_empty = row == 1;
		ret->number = row;
		break;
	case 5:
		ret->mark = ratios[row].mark;
		ret->ratio = ratios[row].ratio;
		break;
	default:
		ret->is_empty = detail != VMOP_NO_DETAIL;
		ret->text = names[row];
	}
}

static void set_values(const struct vmop_sheet *sheet, size_t row, size_t detail,
		       struct vmop_value *ret)
{
	for (size_t c = 0; c < sheet->n_columns; c++)
		set_value(row, detail, sheet->columns[c].id, &ret[c]);
}

static size_t two_for_the_first(const struct vmop_sheet *sheet, size_t row)
{
	(void)sheet;
	return row == 0 ? 2 : 0;
}

static const char *const lines[] = {"session a\tb"};
static const struct vmop_fact facts[] = {
	{NULL, 0, "name", VMOP_VALUE_TEXT, {.text = "current"}},
	{"events", 1, "samples", VMOP_VALUE_COUNT, {.number = 7}},
	{"losses", 0, NULL, VMOP_VALUE_TEXT, {0}},
};

static char *print(const struct vmop_output *output, const struct vmop_output_options *options)
{
	const struct vmop_sheet sheet = {
		.columns = columns,
		.n_columns = 6,
		.n_rows = N_NAMES,
		.lines = lines,
		.n_lines = 1,
		.facts = facts,
		.n_facts = 3,
		.n_details = two_for_the_first,
		.values = set_values,
	};
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_null(output->print(&sheet, options, out));
	fclose(out);
	return text;
}

static void csv(void **state)
{
	(void)state;
	const struct vmop_output_options options = {0};
	_cleanup_free_ char *text = print(&vmop_output_csv, &options);
	assert_string_equal(text, "address,samples,percent,weight,ratio:i\\x1bpc,symbol\n"
				  "0xffffffff81000000,1234567,33.333333,0,1.23457,plain\n"
				  "0xffffffff81000001,1234567,33.333333,0,1.23457,plain\n"
				  "0xffffffff81000001,2469134,33.333333,,0.0123456,\"a,b\"\n"
				  "0xffffffff81000002,3703701,33.333333,2,,\"say \"\"hi\"\"\"\n"
				  "0xffffffff81000003,4938268,33.333333,3,,esc\\x1b[31m\\x0aline\n"
				  "0xffffffff81000004,6172835,33.333333,4,0,bad\\xff utf\n"
				  "0xffffffff81000005,7407402,33.333333,5,123457,j\xc3\xb6rg\n"
				  "0xffffffff81000006,8641969,33.333333,6,1.5e-07,\\u202ebidi\n");
}

static void json(void **state)
{
	(void)state;
	const struct vmop_output_options options = {0};
	_cleanup_free_ char *text = print(&vmop_output_json, &options);
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);
	assert_non_null(root);
	const char *name;
	json_int_t samples;
	json_t *events = json_object_get(root, "events"), *rows = json_object_get(root, "rows");
	assert_int_equal(json_unpack(root, "{s:{s:s}}", "session", "name", &name), 0);
	assert_string_equal(name, "current");
	assert_int_equal(json_array_size(events), 2);
	assert_int_equal(json_unpack(json_array_get(events, 1), "{s:I}", "samples", &samples), 0);
	assert_int_equal(samples, 7);
	assert_int_equal(json_array_size(json_object_get(root, "losses")), 0);
	assert_true(json_is_array(json_object_get(root, "losses")));
	assert_int_equal(json_array_size(rows), N_NAMES);
	const char *address;
	double percent;
	json_t *row = json_array_get(rows, 3);
	assert_int_equal(json_unpack(row, "{s:s, s:s, s:I, s:F}", "symbol", &name, "address",
				     &address, "samples", &samples, "percent", &percent),
			 0);
	assert_string_equal(name, names[3]); /* JSON needs no escaping for it */
	assert_null(json_object_get(row, "symbol_escaped"));
	row = json_array_get(rows, 4); /* not UTF-8 */
	assert_int_equal(json_unpack(row, "{s:s}", "symbol", &name), 0);
	assert_string_equal(name, "bad\\xff utf");
	assert_true(json_is_true(json_object_get(row, "symbol_escaped")));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_int_equal(json_unpack(json_array_get(rows, 6), "{s:s}", "symbol", &name), 0);
	assert_string_equal(name, "\xe2\x80\xae"
				  "bidi");
	row = json_array_get(rows, 3);
	assert_string_equal(address, "0xffffffff81000003");
	assert_int_equal(samples, 4938268);
	assert_true(percent > 33.333333 && percent < 33.333334);
	assert_null(json_object_get(json_array_get(rows, 1), "weight"));
	const char *ratio = "ratio:i\x1bpc";
	row = json_array_get(rows, 1);
	assert_true(json_number_value(json_object_get(row, ratio)) == 0.0123456);
	assert_null(json_object_get(json_array_get(rows, 2), ratio)); /* a bound */
	assert_null(json_object_get(json_array_get(rows, 3), ratio));
	assert_int_equal(json_array_size(json_object_get(json_array_get(rows, 0), "details")), 2);
	json_decref(root);
}

static void table(void **state)
{
	(void)state;
	struct vmop_output_options options = {0};
	_cleanup_free_ char *text = print(&vmop_output_table, &options);
	assert_non_null(strstr(text, "session a\\x09b\n\n"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "  3703701  33.33     <12.3  say \"hi\"\n"));
	static const char *const shown[] = {" 1.23  plain\n", " ~0.0123  a,b\n", " -  esc",
					    " 0.00  bad",     " 123457  j",	 " 1.50e-07  "};
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		assert_non_null(strstr(text, shown[i]));
	assert_non_null(strstr(text, "esc\\x1b[31m\\x0aline\n"));
	assert_non_null(strstr(text, "j\\u00f6rg\n")); /* the C locale */
	assert_null(strstr(text, "weight"));
	options = (struct vmop_output_options){.no_header = true, .width_columns = 54};
	_cleanup_free_ char *narrow = print(&vmop_output_table, &options);
	assert_null(strstr(narrow, "session a"));
	for (const char *line = narrow, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_true(end - line <= 54);
	}
}

static void unknown_format(void **state)
{
	(void)state;
	const struct vmop_output *output = NULL;
	struct vmop_error *err = vmop_output_find("xls", true, ", folded", &output);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, "'xls'"));
	assert_non_null(strstr(err->message, "table, csv, json"));
	vmop_error_destroy(err);
	assert_null(vmop_output_find("csv", false, "", &output));
	assert_ptr_equal(output, &vmop_output_csv);
	assert_null(vmop_output_find("xml", true, "", &output));
	assert_ptr_equal(output, &vmop_output_xml);
	err = vmop_output_find("xml", false, "", &output); /* it needs rows by symbol */
	assert_non_null(err);
	assert_null(strstr(err->message, "json, xml"));
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv),
		cmocka_unit_test(json),
		cmocka_unit_test(table),
		cmocka_unit_test(unknown_format),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
