// SPDX-License-Identifier: GPL-2.0-or-later
/* The bound of a line table's memory, by its header only. */
#include "libsym/dwarf/line-cost.h"

#include <cmocka.h>
#include <string.h>

/* A table of version 5: its header's lists follow. */
#define BEGIN_5 "\5\0\10\0\0\0\0\0\1\1\1\xfb\xe\xd"
#define OPCODES "\0\1\1\1\1\0\0\0\1\0\0\1"

static bool cost(const char *bytes, size_t len, uint64_t *ret)
{
	char section[512];
	section[0] = (char)len;
	memset(section + 1, 0, 3);
	memcpy(section + 4, bytes, len);
	return vmop_line_cost(section, len + 4, 0, 100, ret);
}

static void files_are_counted(void **state)
{
	(void)state;
	/* One folder, three files; each entry is an offset in .debug_line_str (form 0x1f). */
	static const char table[] = BEGIN_5 OPCODES "\1\1\x1f\1\0\0\0\0"
						    "\1\1\x1f\3\0\0\0\0\0\0\0\0\0\0\0\0";
	uint64_t three, none;
	assert_true(cost(table, sizeof(table) - 1, &three));
	static const char empty[] = BEGIN_5 OPCODES "\1\1\x1f\1\0\0\0\0"
						    "\1\1\x1f\0\0\0\0\0\0\0\0\0\0\0\0\0";
	assert_true(cost(empty, sizeof(empty) - 1, &none));
	assert_true(three >= none + 3 * 2 * 100);
}

static void old_lists_are_read(void **state)
{
	(void)state;
	static const char table[] = "\4\0\10\0\0\0\1\1\1\xfb\xe\xd" OPCODES "dir\0\0"
				    "a.c\0\1\0\0b.c\0\1\0\0\0";
	uint64_t bytes;
	assert_true(cost(table, sizeof(table) - 1, &bytes));
	assert_true(bytes >= 2 * 2 * 100);
}

static void damage_is_refused(void **state)
{
	(void)state;
	static const char table[] = BEGIN_5 OPCODES "\1\1\x1f\1\0\0\0\0"
						    "\1\1\x1f\3\0\0\0\0\0\0\0\0\0\0\0\0";
	uint64_t bytes;
	/* Shorter than its lists. */
	for (size_t len = 0; len < sizeof(table) - 1; len++)
		assert_false(cost(table, len, &bytes));
	/* Many entries without bytes: no list ends them. */
	static const char endless[] = BEGIN_5 OPCODES "\0\xff\xff\xff\xff\x7f";
	assert_false(cost(endless, sizeof(endless) - 1, &bytes));
	static const char unknown_form[] = BEGIN_5 OPCODES "\1\1\x7f\1\0\0\0\0";
	assert_false(cost(unknown_form, sizeof(unknown_form) - 1, &bytes));
	static const char version[] = "\6\0\10\0\0\0\1\1\1\xfb\xe\xd" OPCODES "\0\0";
	assert_false(cost(version, sizeof(version) - 1, &bytes));
	assert_false(vmop_line_cost("\xff\xff\xff\x7f\5\0", 6, 0, 100, &bytes));
	assert_false(vmop_line_cost("", 0, 0, 100, &bytes));
	assert_false(vmop_line_cost("\0\0\0\0", 4, 5, 100, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_counted),
		cmocka_unit_test(old_lists_are_read),
		cmocka_unit_test(damage_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
