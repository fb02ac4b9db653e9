// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

static enum vmop_error_code code_of(struct vmop_error *err)
{
	assert_non_null(err);
	enum vmop_error_code code = err->code;
	vmop_error_destroy(err);
	return code;
}

static void a_regular_file_is_opened_without_waiting(void **state)
{
	(void)state;
	char text[8];
	int fd;
	assert_null(vmop_io_write_file_atomic(path, "text", 4, 0600));
	assert_null(vmop_io_open_regular(AT_FDCWD, path, 0, 4, &fd));
	assert_int_equal(vmop_io_read_full(fd, text, sizeof(text)), 4);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(code_of(vmop_io_open_regular(AT_FDCWD, path, 0, 3, &fd)),
			 VMOP_ERROR_LIMIT);
	assert_int_equal(unlink(path), 0);
	struct vmop_error *err = vmop_io_open_regular(AT_FDCWD, path, 0, 4, &fd);
	assert_non_null(err);
	assert_int_equal(err->os_errno, ENOENT);
	vmop_error_destroy(err);
}

static void other_kinds_of_files_are_refused(void **state)
{
	(void)state;
	int fd;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20); /* ends the test if a call waits for the FIFO's writer */
	assert_int_equal(code_of(vmop_io_open_regular(AT_FDCWD, path, 0, 4, &fd)), VMOP_ERROR_CANT);
	alarm(0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(code_of(vmop_io_open_regular(AT_FDCWD, dir, 0, UINT64_MAX, &fd)),
			 VMOP_ERROR_CANT);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(code_of(vmop_io_open_regular(AT_FDCWD, path, 0, 4, &fd)), VMOP_ERROR_CANT);
	assert_int_equal(unlink(path), 0);
}

static void links_are_followed_or_not_as_asked(void **state)
{
	(void)state;
	char target[sizeof(path) + 8];
	int fd;
	snprintf(target, sizeof(target), "%s.target", path);
	unlink(path);
	assert_null(vmop_io_write_file_atomic(target, "text", 4, 0600));
	assert_int_equal(symlink(target, path), 0);
	assert_null(vmop_io_open_regular(AT_FDCWD, path, 0, 4, &fd));
	close(fd);
	struct vmop_error *err = vmop_io_open_regular(AT_FDCWD, path, VMOP_IO_NO_FOLLOW, 4, &fd);
	assert_non_null(err);
	assert_int_equal(err->os_errno, ELOOP);
	vmop_error_destroy(err);
	/* With the directory as the root, the absolute target of the link does not exist. */
	int root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(code_of(vmop_io_open_regular(root_fd, "/file", VMOP_IO_IN_ROOT, 4, &fd)),
			 VMOP_ERROR_OS);
	assert_null(vmop_io_open_regular(root_fd, "/../file.target", VMOP_IO_IN_ROOT, 4, &fd));
	close(fd);
	close(root_fd);
	assert_int_equal(unlink(target) | unlink(path), 0);
}

static void directories_are_listed(void **state)
{
	(void)state;
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(dir_fd, "listed", 0700), 0);
	for (int i = 0; i < 2; i++) { /* each from its beginning */
		DIR *stream = vmop_io_open_dir(dir_fd, ".", 0);
		const struct dirent *entry;
		unsigned n = 0;
		assert_non_null(stream);
		while ((entry = readdir(stream)))
			n += !strcmp(entry->d_name, "listed");
		closedir(stream);
		assert_int_equal(n, 1);
	}
	assert_int_equal(symlinkat("listed", dir_fd, "link"), 0);
	DIR *behind = vmop_io_open_dir(dir_fd, "link", 0);
	assert_non_null(behind);
	closedir(behind);
	assert_null(vmop_io_open_dir(dir_fd, "link", O_NOFOLLOW));
	assert_int_equal(errno, ENOTDIR);
	assert_null(vmop_io_open_dir(dir_fd, "missing", 0));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(unlinkat(dir_fd, "link", 0) | unlinkat(dir_fd, "listed", AT_REMOVEDIR), 0);
	close(dir_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_are_listed),
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(too_large_is_refused),
		cmocka_unit_test(directories_with_their_parents),
		cmocka_unit_test(a_regular_file_is_opened_without_waiting),
		cmocka_unit_test(other_kinds_of_files_are_refused),
		cmocka_unit_test(links_are_followed_or_not_as_asked),
		cmocka_unit_test(proc_files_have_no_size_but_are_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
