// SPDX-License-Identifier: GPL-2.0-or-later
/* The sheet of guests' tasks: names, times, intervals, and rows that are not tasks. */
#include "opreport/waits/task-times-sheet.h"

#include "tests/unit/opreport/waits/guest-tasks.h"

static struct vmop_task_times times;
static struct vmop_task_times_sheet *sheet;
static struct vmop_spec spec;

static void open_sheet(const char *name, const struct second *seconds, unsigned n,
		       const char *no_exits)
{
	write_guest_tasks(name, seconds, n, no_exits);
	parse_spec(&spec, name, NULL);
	assert_ok(vmop_task_times_load(&spec, &times));
	assert_ok(vmop_task_times_sheet_create(&times, &sheet));
}

static void close_sheet(void)
{
	vmop_task_times_sheet_destroy(sheet);
	vmop_task_times_deinit(&times);
	vmop_spec_deinit(&spec);
}

/* Return the value of a column in a row. */
static struct vmop_value value(size_t row, const char *column)
{
	const struct vmop_sheet *of = vmop_task_times_sheet_of(sheet);
	static struct vmop_value values[16];
	vmop_sheet_values(of, row, VMOP_NO_DETAIL, values);
	for (size_t i = 0; i < of->n_columns; i++)
		if (!strcmp(of->columns[i].name, column))
			return values[i];
	print_error("no column %s\n", column);
	fail();
	return values[0];
}

static void rows(void **state)
{
	const struct second seconds[] = {
		{{600000000, 400000000}, {100000000, 0}, 3, 1},
		{{50000000, 50000000}, {0, 0}, 0, 0},
	};
	(void)state;
	open_sheet("rows.vmop", seconds, 2, NULL);
	assert_int_equal(vmop_task_times_sheet_of(sheet)->n_rows, 4);
	assert_string_equal(value(0, "domain").text, "g1");
	assert_string_equal(value(0, "task").text, "alpha");
	assert_string_equal(value(0, "kind").text, "task");
	assert_int_equal(value(0, "pid").number, TASK_A * 100);
	assert_int_equal(value(0, "time_ns").number, 675000000);
	assert_int_equal(value(0, "samples").number, 3);
	assert_true(value(0, "error_ns").number > 100000000);
	assert_true(value(0, "percent").percent > 61.3 && value(0, "percent").percent < 61.4);
	assert_string_equal(value(1, "task").text, "beta");
	for (size_t row = 2; row < 4; row++) {
		bool is_exits = !strcmp(value(row, "kind").text, "exits");
		assert_string_equal(value(row, "task").text, is_exits ? "[exits]" : "[no samples]");
		assert_int_equal(value(row, "time_ns").number, 100000000);
		assert_true(value(row, "error_ns").is_empty);
		assert_true(value(row, "pid").is_empty);
	}
	assert_non_null(strstr(vmop_task_times_sheet_of(sheet)->lines[1], "(1 s at most)"));
	assert_non_null(strstr(vmop_task_times_sheet_of(sheet)->lines[1], "cpu-clock"));
	close_sheet();
}

static void line_about_exits(void **state)
{
	const struct second second = {{500, 500}, {0, 0}, 1, 1};
	(void)state;
	open_sheet("no-exits.vmop", &second, 1, "no tracefs");
	assert_int_equal(vmop_task_times_sheet_of(sheet)->n_lines, 3);
	assert_non_null(strstr(vmop_task_times_sheet_of(sheet)->lines[2], "were not counted"));
	close_sheet();
}

/* Numbers beyond those of a column stay in their range. */
static void greatest_numbers(void **state)
{
	const uint64_t most = INT64_MAX;
	const struct second seconds[] = {{{most, most}, {0, 0}, 1, 0},
					 {{most, most}, {0, 0}, 1, 0}};
	(void)state;
	open_sheet("great.vmop", seconds, 2, NULL);
	assert_int_equal(value(0, "time_ns").number, UINT64_C(1) << 63);
	close_sheet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(line_about_exits),
		cmocka_unit_test(greatest_numbers),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
