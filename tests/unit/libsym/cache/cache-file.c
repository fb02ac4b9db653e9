// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/cache-file.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/vmop-test.XXXXXX";
static int dir_fd;

static int tear_down(void **state)
{
	(void)state;
	unlinkat(dir_fd, "a", 0);
	unlinkat(dir_fd, "b", 0);
	return 0;
}

/* Assert that file "a" has that text. */
static void assert_text(const char *text)
{
	char bytes[64];
	struct stat st;
	int fd = vmop_cache_file_open(dir_fd, "a", sizeof(bytes), &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, strlen(text));
	assert_int_equal(read(fd, bytes, sizeof(bytes)), strlen(text));
	assert_memory_equal(bytes, text, strlen(text));
	close(fd);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	(void)state;
	struct stat st;
	assert_int_equal(vmop_cache_file_open(dir_fd, "a", 100, &st), -1);
	vmop_cache_file_replace(dir_fd, "a", "one", 3);
	assert_text("one");
	int before = vmop_cache_file_open(dir_fd, "a", 100, &st);
	vmop_cache_file_replace(dir_fd, "a", "another", 7);
	assert_text("another");
	char byte;
	assert_int_equal(read(before, &byte, 1), 1); /* a reader keeps what it opened */
	assert_int_equal(byte, 'o');
	close(before);
	assert_int_equal(fstatat(dir_fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void other_files_are_not_opened(void **state)
{
	(void)state;
	struct stat st;
	vmop_cache_file_replace(dir_fd, "a", "text", 4);
	assert_int_equal(vmop_cache_file_open(dir_fd, "a", 3, &st), -1);
	assert_int_equal(fchmodat(dir_fd, "a", 0602, 0), 0);
	assert_int_equal(vmop_cache_file_open(dir_fd, "a", 4, &st), -1);
	assert_int_equal(fchmodat(dir_fd, "a", 0640, 0), 0);
	assert_text("text");
	assert_int_equal(symlinkat("a", dir_fd, "b"), 0);
	assert_int_equal(vmop_cache_file_open(dir_fd, "b", 4, &st), -1);
	assert_int_equal(unlinkat(dir_fd, "b", 0), 0);
	assert_int_equal(mkfifoat(dir_fd, "b", 0600), 0);
	assert_int_equal(vmop_cache_file_open(dir_fd, "b", 4, &st), -1);
}

/* A link at the place of the new file is not followed. */
static void a_link_is_not_written_through(void **state)
{
	(void)state;
	char part[64];
	vmop_cache_file_replace(dir_fd, "a", "text", 4);
	snprintf(part, sizeof(part), "b.%ld.part", (long)getpid());
	assert_int_equal(symlinkat("a", dir_fd, part), 0);
	vmop_cache_file_replace(dir_fd, "b", "other", 5);
	assert_text("text");
	assert_int_equal(faccessat(dir_fd, "b", F_OK, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(unlinkat(dir_fd, part, 0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_file_is_replaced_as_a_whole, tear_down),
		cmocka_unit_test_teardown(other_files_are_not_opened, tear_down),
		cmocka_unit_test_teardown(a_link_is_not_written_through, tear_down),
	};
	if (!mkdtemp(dir))
		return 99;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	close(dir_fd);
	rmdir(dir);
	return failed;
}
