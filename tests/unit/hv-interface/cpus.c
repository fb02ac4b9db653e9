// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/cpus.h"

static void lists(void **state)
{
	(void)state;
	struct vmop_cpus cpus;
	assert_null(vmop_cpus_parse("0-2,5,8-9\n", &cpus));
	static const unsigned want[] = {0, 1, 2, 5, 8, 9};
	assert_int_equal(cpus.n, 6);
	assert_memory_equal(cpus.cpus, want, sizeof(want));
	assert_true(vmop_cpus_has(&cpus, 5));
	assert_false(vmop_cpus_has(&cpus, 4));
	vmop_cpus_deinit(&cpus);
	assert_null(vmop_cpus_parse("\n", &cpus));
	assert_int_equal(cpus.n, 0);
	vmop_cpus_deinit(&cpus);
}

static void bad_lists_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"a",   "0-", "0,", "3-1",   "0,0",	     "2,1",    "-1",  "0-1-2",
		"0;1", " 0", "+1", "65536", "0-99999999999", "1,2,\n", "0x3", "4294967296"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_cpus cpus;
		struct vmop_error *err = vmop_cpus_parse(bad[i], &cpus);
		if (!err)
			fail_msg("'%s' was accepted", bad[i]);
		assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		vmop_error_destroy(err);
	}
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void changes_are_seen(void **state)
{
	(void)state;
	char dir[] = "/tmp/vmop-cpus-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	strcat(strcpy(path, dir), "/online");
	put(path, "0-1\n");
	struct vmop_cpus_watch *watch;
	struct vmop_cpus cpus;
	bool changed;
	assert_null(vmop_cpus_watch_create(path, &watch));
	assert_null(vmop_cpus_watch_check(watch, &changed, &cpus));
	assert_true(changed);
	assert_int_equal(cpus.n, 2);
	vmop_cpus_deinit(&cpus);
	assert_null(vmop_cpus_watch_check(watch, &changed, &cpus));
	assert_false(changed);
	put(path, "0\n");
	assert_null(vmop_cpus_watch_check(watch, &changed, &cpus));
	assert_true(changed);
	assert_int_equal(cpus.n, 1);
	vmop_cpus_deinit(&cpus);
	put(path, "rubbish\n");
	struct vmop_error *err = vmop_cpus_watch_check(watch, &changed, &cpus);
	assert_non_null(err);
	assert_non_null(strstr(err->message, path));
	vmop_error_destroy(err);
	vmop_cpus_watch_destroy(watch);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(changes_are_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
