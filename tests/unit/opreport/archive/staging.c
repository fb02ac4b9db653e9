// SPDX-License-Identifier: GPL-2.0-or-later
/* A staging directory becomes the result at once, or leaves nothing. */
#include "opreport/archive/staging.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static char dir[] = "/tmp/vmop-staging-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? chdir(dir) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	char line[64];
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return chdir("/") || system(line);
}

static void put(const struct vmop_staging *staging, const char *name)
{
	_cleanup_close_ int fd = -1;
	assert_ok(vmop_staging_create(staging, name, &fd));
	assert_int_equal(write(fd, "x", 1), 1);
	assert_ok(vmop_staging_set_time(fd, name, UINT64_C(1700000000000000005)));
}

static void it_becomes_the_result(void **state)
{
	(void)state;
	_cleanup_(vmop_staging_deinit) struct vmop_staging staging;
	struct stat st;
	assert_ok(vmop_staging_init(&staging, "result///", true));
	put(&staging, "a");
	put(&staging, "folder/b");
	assert_int_equal(access("result", F_OK), -1);
	assert_ok(vmop_staging_commit(&staging));
	assert_int_equal(stat("result", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat("result/folder/b", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_mtim.tv_sec, 1700000000);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
}

static void an_empty_directory_is_replaced(void **state)
{
	(void)state;
	_cleanup_(vmop_staging_deinit) struct vmop_staging staging, late;
	struct stat st;
	assert_int_equal(mkdir("empty", 0750) | chmod("empty", 0750), 0);
	assert_ok(vmop_staging_init(&staging, "empty", true));
	assert_ok(vmop_staging_init(&late, "empty", true));
	put(&staging, "a");
	assert_ok(vmop_staging_commit(&staging));
	assert_int_equal(stat("empty", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	/* It is filled by now. */
	put(&late, "b");
	struct vmop_error *err = vmop_staging_commit(&late);
	assert_non_null(err);
	vmop_error_destroy(err);
	assert_int_equal(access("empty/a", F_OK), 0);
	assert_int_equal(access("empty/b", F_OK), -1);
}

static void a_file_replaces_a_file(void **state)
{
	(void)state;
	_cleanup_(vmop_staging_deinit) struct vmop_staging staging;
	assert_int_equal(system("echo old >file"), 0);
	assert_ok(vmop_staging_init(&staging, "file", false));
	put(&staging, "new");
	assert_ok(vmop_staging_commit_file(&staging, "new"));
	assert_int_equal(system("test \"$(cat file)\" = x"), 0);
}

static void nothing_is_left(void **state)
{
	(void)state;
	struct vmop_staging staging;
	int fd;
	assert_int_equal(mkdir("alone", 0700) | chdir("alone"), 0);
	assert_ok(vmop_staging_init(&staging, "result", true));
	put(&staging, "folder/b");
	struct vmop_error *err = vmop_staging_create(&staging, "folder/b", &fd);
	assert_non_null(err); /* once only */
	vmop_error_destroy(err);
	assert_int_equal(symlink("/tmp", "link"), 0);
	vmop_staging_deinit(&staging);
	static const char *const wrong[] = {"..", ".", "/", "a/..", "absent/x", "link", ""};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		err = vmop_staging_init(&staging, wrong[i], true);
		assert_non_null(err);
		vmop_error_destroy(err);
		vmop_staging_deinit(&staging);
	}
	assert_int_equal(system("test \"$(ls -A)\" = link"), 0);
	assert_int_equal(chdir(".."), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_becomes_the_result),
		cmocka_unit_test(an_empty_directory_is_replaced),
		cmocka_unit_test(a_file_replaces_a_file),
		cmocka_unit_test(nothing_is_left),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
