// SPDX-License-Identifier: GPL-2.0-or-later
/* Test which files a bound removes. */
#include "libsym/cache/cache-trim.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/vmop-test.XXXXXX";
static int dir_fd;

/* Make a file of that length that was used so many seconds ago. */
static void make(const char *name, off_t len_bytes, time_t age_s)
{
	const struct timespec at = {.tv_sec = time(NULL) - age_s};
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, len_bytes), 0);
	assert_int_equal(futimens(fd, (const struct timespec[]){at, at}), 0);
	close(fd);
}

static bool exists(const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void the_oldest_go_first(void **state)
{
	(void)state;
	make("new", 1000, 10);
	make("old", 1000, 3000);
	make("older", 1000, 5000);
	vmop_cache_trim(dir_fd, 3000);
	assert_true(exists("new") && exists("old") && exists("older"));
	vmop_cache_trim(dir_fd, 2999);
	assert_true(exists("new") && exists("old") && !exists("older"));
	vmop_cache_trim(dir_fd, 0);
	assert_false(exists("new") || exists("old"));
}

static void a_file_in_use_stays(void **state)
{
	(void)state;
	struct stat st;
	make("touched", 1000, 90000);
	make("other", 1000, 80000);
	int fd = openat(dir_fd, "touched", O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	vmop_cache_touch(fd, &st);
	close(fd);
	vmop_cache_trim(dir_fd, 1000);
	assert_true(exists("touched"));
	assert_false(exists("other"));
	vmop_cache_trim(dir_fd, 0);
}

static void unfinished_files_stay_an_hour(void **state)
{
	(void)state;
	make("a.7" VMOP_CACHE_PART_SUFFIX, 1000, 60);
	make("b.7" VMOP_CACHE_PART_SUFFIX, 1000, 4000);
	vmop_cache_trim(dir_fd, 0);
	assert_true(exists("a.7" VMOP_CACHE_PART_SUFFIX));
	assert_false(exists("b.7" VMOP_CACHE_PART_SUFFIX));
	unlinkat(dir_fd, "a.7" VMOP_CACHE_PART_SUFFIX, 0);
}

static void links_and_folders_are_left_alone(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("/etc/passwd", dir_fd, "link"), 0);
	assert_int_equal(mkdirat(dir_fd, "folder", 0700), 0);
	vmop_cache_trim(dir_fd, 0);
	assert_true(exists("link") && exists("folder"));
	unlinkat(dir_fd, "link", 0);
	unlinkat(dir_fd, "folder", AT_REMOVEDIR);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_go_first),
		cmocka_unit_test(a_file_in_use_stays),
		cmocka_unit_test(unfinished_files_stay_an_hour),
		cmocka_unit_test(links_and_folders_are_left_alone),
	};
	if (!mkdtemp(dir))
		return 1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	close(dir_fd);
	rmdir(dir);
	return failed;
}
