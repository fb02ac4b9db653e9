// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/call-path.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static bool enter(struct vmop_call_path *path, size_t depth, uint32_t item)
{
	bool is_first;
	assert_ok(vmop_call_path_enter(path, depth, item, &is_first));
	return is_first;
}

/* An item is the first one until it is left again, at any depth. */
static void items_are_entered_and_left(void **state)
{
	(void)state;
	static struct vmop_call_path path;
	assert_true(enter(&path, 0, 5));
	assert_true(enter(&path, 1, 9000));
	assert_false(enter(&path, 2, 5));
	assert_false(enter(&path, 3, VMOP_NO_ITEM));
	assert_false(enter(&path, 3, 9000));
	assert_true(enter(&path, 1, 9000)); /* a sibling of the first 9000 */
	assert_true(enter(&path, 2, 7));
	assert_true(enter(&path, 0, 5));
	bool is_first;
	struct vmop_error *err = vmop_call_path_enter(&path, VMOP_CALL_PATH_MAX, 1, &is_first);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	vmop_call_path_deinit(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(items_are_entered_and_left)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
