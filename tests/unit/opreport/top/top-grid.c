// SPDX-License-Identifier: GPL-2.0-or-later
/* Test that lines fit the terminal, are aligned, and are filtered. */
#include "opreport/top/top-grid.h"

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opreport/output/line-width.h"

static const struct vmop_column columns[] = {
	{.name = "samples", .heading = "samples", .type = VMOP_VALUE_COUNT},
	{.name = "percent", .heading = "%", .type = VMOP_VALUE_PERCENT},
	{.name = "hidden", .type = VMOP_VALUE_COUNT},
	{.name = "image", .heading = "image", .type = VMOP_VALUE_TEXT, .is_elastic = true},
	{.name = "symbol", .heading = "symbol", .type = VMOP_VALUE_TEXT, .is_elastic = true},
};

struct row {
	uint64_t samples;
	double percent;
	const char *image, *symbol;
};

static void values(const struct vmop_sheet *sheet, size_t row, size_t detail,
		   struct vmop_value *ret)
{
	const struct row *rows = sheet->data;
	assert_true(detail == VMOP_NO_DETAIL);
	ret[0].number = rows[row].samples;
	ret[1].percent = rows[row].percent;
	ret[3].text = rows[row].image;
	ret[4].text = rows[row].symbol;
	ret[4].is_empty = !rows[row].symbol;
}

static struct vmop_sheet sheet_of(struct row *rows, size_t n)
{
	return (struct vmop_sheet){
		.columns = columns, .n_columns = 5, .n_rows = n, .values = values, .data = rows};
}

static struct row few[] = {{1234, 61.7, "[kernel]", "memcpy"},
			   {7, 0.35, "libc.so.6", NULL},
			   {0, 0, "x", "\x1b[31mred"}};

static void lines_are_aligned(void **state)
{
	(void)state;
	struct vmop_sheet sheet = sheet_of(few, 3);
	struct vmop_top_grid grid;
	assert_null(vmop_top_grid_init(&grid, &sheet, "", 80));
	assert_int_equal(grid.n_rows, 3);
	assert_string_equal(grid.heading, "samples     %  image      symbol     ");
	assert_string_equal(grid.rows[0].line, "   1234  61.7  [kernel]   memcpy     ");
	assert_string_equal(grid.rows[1].line, "      7   0.3  libc.so.6             ");
	assert_string_equal(grid.rows[2].line, "      0   0.0  x          \\x1b[31mred");
	assert_true(grid.rows[0].percent == 61.7);
	vmop_top_grid_deinit(&grid);
}

static void the_filter_lets_texts_pass(void **state)
{
	(void)state;
	struct vmop_sheet sheet = sheet_of(few, 3);
	struct vmop_top_grid grid;
	assert_null(vmop_top_grid_init(&grid, &sheet, "LIBC", 80));
	assert_int_equal(grid.n_rows, 1);
	assert_int_equal(grid.rows[0].row, 1);
	vmop_top_grid_deinit(&grid);
	assert_null(vmop_top_grid_init(&grid, &sheet, "1234", 80)); /* numbers are no texts */
	assert_int_equal(grid.n_rows, 0);
	assert_non_null(grid.heading);
	vmop_top_grid_deinit(&grid);
}

static void any_width_is_kept(void **state)
{
	(void)state;
	char *long_name = malloc(65537);
	memset(long_name, 'n', 65536);
	long_name[65536] = '\0';
	struct row rows[] = {
		{UINT64_MAX, 100, long_name, "b\xc3\xa4r"},
		{1, 50, "\xff\xfe", "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87"},
		{1, 50, "new\nline", long_name},
	};
	struct vmop_sheet sheet = sheet_of(rows, 3);
	for (size_t width = 1; width < 200; width++) {
		struct vmop_top_grid grid;
		assert_null(vmop_top_grid_init(&grid, &sheet, "", width));
		assert_true(vmop_fit_width(grid.heading) <= width);
		for (size_t i = 0; i < grid.n_rows; i++) {
			assert_true(vmop_fit_width(grid.rows[i].line) <= width);
			assert_null(strchr(grid.rows[i].line, '\n'));
		}
		vmop_top_grid_deinit(&grid);
	}
	free(long_name);
}

static void an_empty_sheet_has_a_heading(void **state)
{
	(void)state;
	struct vmop_sheet sheet = sheet_of(few, 0);
	struct vmop_top_grid grid;
	assert_null(vmop_top_grid_init(&grid, &sheet, "", 80));
	assert_string_equal(grid.heading, "samples  %  image  symbol");
	vmop_top_grid_deinit(&grid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_aligned),
		cmocka_unit_test(the_filter_lets_texts_pass),
		cmocka_unit_test(any_width_is_kept),
		cmocka_unit_test(an_empty_sheet_has_a_heading),
	};
	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
