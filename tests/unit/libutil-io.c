// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/error.h"
#include "libutil/io.h"

static char dir[] = "/tmp/vmop-io-XXXXXX";
static char path[sizeof(dir) + 16];

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	strcpy(path, dir);
	strcat(path, "/file");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void what_was_written_is_read(void **state)
{
	(void)state;
	assert_null(vmop_io_write_file_atomic(path, "old", 3, 0600));
	assert_null(vmop_io_write_file_atomic(path, "newer", 5, 0644));
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	char *text;
	size_t len;
	assert_null(vmop_io_read_file(path, 5, &text, &len));
	assert_int_equal(len, 5);
	assert_string_equal(text, "newer");
	free(text);
}

static void too_large_is_refused(void **state)
{
	(void)state;
	assert_null(vmop_io_write_file_atomic(path, "0123456789", 10, 0600));
	char *text;
	struct vmop_error *err = vmop_io_read_file(path, 9, &text, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
}

static void proc_files_have_no_size_but_are_read(void **state)
{
	(void)state;
	char *text;
	size_t len;
	assert_null(vmop_io_read_file("/proc/self/maps", 1 << 24, &text, &len));
	assert_true(len > 0 && strlen(text) == len);
	free(text);
}

static void directories_with_their_parents(void **state)
{
	(void)state;
	char deep[sizeof(dir) + 16], one[sizeof(dir) + 16];
	strcpy(one, dir);
	strcat(one, "/a");
	strcpy(deep, one);
	strcat(deep, "/b");
	assert_null(vmop_io_make_dir(deep, 0755));
	assert_null(vmop_io_make_dir(deep, 0755));
	struct stat st;
	assert_int_equal(stat(deep, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(rmdir(deep) | rmdir(one), 0);
	struct vmop_error *err = vmop_io_make_dir("/proc/none/of/these", 0755);
	assert_non_null(err);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(too_large_is_refused),
		cmocka_unit_test(directories_with_their_parents),
		cmocka_unit_test(proc_files_have_no_size_but_are_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
